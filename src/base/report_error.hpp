// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/error.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Rows and metrics that were recorded and are in no file and on no server: lost to a bound of memory, of names or
/// of the journal's size. Any thread. Exported for the exporters that are libraries of their own.
struct LostRecords {
  std::uint64_t rows = 0;
  std::uint64_t metrics = 0;
  std::uint64_t either = 0;  ///< where the two were not counted apart

  bool any() const noexcept { return rows != 0 || metrics != 0 || either != 0; }
  /// "1 204 steps and 3 metrics and 17 steps or metrics"; for any() only.
  TAKT_EXPORT std::string words() const;
};
TAKT_EXPORT LostRecords lost_records(const std::vector<Loss>& losses);
/// Those, and what the journal did not take, because a disk stayed full for too long. Who reads the journal does not
/// get that; an exporter in the program may have got it. Any thread.
LostRecords lost_before_journal(const std::vector<Loss>& losses);

/// Takes from `losses` the lost steps and metrics that `before` had: an earlier run of the process has lost them. Any
/// thread.
void leave_out_lost(std::vector<Loss>& losses, const std::vector<Loss>& before);

/// Tells the ErrorHandler of a fault: at most one line a `cause` (a short stable identifier) and five minutes, the
/// number of lines held back in between being added to the next. 64 causes are told apart, further ones share one.
/// Control characters in `line` become spaces and what is beyond 2 kB is cut off. Allocates nothing, takes no lock,
/// keeps errno. Never throws. Any thread but one inside a Scope. Exported for the exporters that are libraries of their
/// own.
TAKT_EXPORT void report_error(std::string_view cause, std::string_view line) noexcept;

/// As report_error, but a cause speaks once in the life of the process.
TAKT_EXPORT void report_error_once(std::string_view cause, std::string_view line) noexcept;

/// As report_error, `now_ns` being the time on a monotonic clock: tests need not wait for five minutes.
void report_error_at(std::string_view cause, std::string_view line, std::int64_t now_ns) noexcept;

/// For the child after a fork: the lines held back so far are the parent's to tell. Nothing has to be unlocked.
void error_after_fork() noexcept;

/// Lets every cause speak again, for tests. One thread at a time.
void forget_errors() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
