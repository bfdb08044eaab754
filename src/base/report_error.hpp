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

/// Rows and metrics that were recorded but dropped, because a limit of memory, names or journal size was reached. Any
/// thread. Exported for the separate exporter libraries.
struct LostRecords {
  std::uint64_t rows = 0;
  std::uint64_t metrics = 0;
  std::uint64_t either = 0;  ///< rows or metrics that were not counted separately

  bool any() const noexcept { return rows != 0 || metrics != 0 || either != 0; }
  /// Returns for example "1 204 steps and 3 metrics and 17 steps or metrics". Requires any().
  TAKT_EXPORT std::string words() const;
};
TAKT_EXPORT LostRecords lost_records(const std::vector<Loss>& losses);
/// Returns lost_records() plus data that the journal did not take because a disk stayed full too long. Readers of the
/// journal miss that data; an exporter in the program may have it. Any thread.
LostRecords lost_before_journal(const std::vector<Loss>& losses);

/// Subtracts the steps and metrics in `before` from `losses`: an earlier run of the process dropped them. Any thread.
void leave_out_lost(std::vector<Loss>& losses, const std::vector<Loss>& before);

/// Reports an error to the ErrorHandler: at most one line per `cause` (a short stable identifier) in five minutes. The
/// next line has the number of lines suppressed. 64 causes are distinguished; further ones share one. Control
/// characters in `line` become spaces; text beyond 2 kB is cut off. Does not allocate or lock, and keeps errno. Never
/// throws. Any thread, except inside a Scope. Exported for the separate exporter libraries.
TAKT_EXPORT void report_error(std::string_view cause, std::string_view line) noexcept;

/// Like report_error(), but reports a cause once per process.
TAKT_EXPORT void report_error_once(std::string_view cause, std::string_view line) noexcept;

/// Like report_error(), with `now_ns` as the monotonic time, so that tests need not wait five minutes.
void report_error_at(std::string_view cause, std::string_view line, std::int64_t now_ns) noexcept;

/// Resets a forked child: the parent reports its own suppressed lines. Nothing needs unlocking.
void error_after_fork() noexcept;

/// Forgets all causes, for tests. Not thread-safe.
void forget_errors() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
