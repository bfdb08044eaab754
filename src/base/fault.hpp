// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/error.hpp>

#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Tells the ErrorHandler of a fault: at most one line a `cause` (a short stable identifier) and five minutes, the
/// number of lines held back in between being added to the next. 64 causes are told apart, further ones share one.
/// Control characters in `line` become spaces and what is beyond 2 kB is cut off. Allocates nothing, takes no lock,
/// keeps errno. Never throws. Any thread but one inside a Scope. Exported for the exporters that are libraries of their
/// own.
TAKT_EXPORT void report_fault(std::string_view cause, std::string_view line) noexcept;

/// As report_fault, but a cause speaks once in the life of the process.
TAKT_EXPORT void report_fault_once(std::string_view cause, std::string_view line) noexcept;

/// As report_fault, `now_ns` being the time on a monotonic clock: tests need not wait for five minutes.
void report_fault_at(std::string_view cause, std::string_view line, std::int64_t now_ns) noexcept;

/// For the child after a fork: the lines held back so far are the parent's to tell. Nothing has to be unlocked.
void fault_after_fork() noexcept;

/// Lets every cause speak again, for tests. One thread at a time.
void forget_faults() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
