// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/registry.hpp"
#include "record/clock.hpp"

#include <takt/detail/process.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The recorder of the calling thread, made at need; nullptr where the thread is not to be recorded: memory is spent,
/// the thread is past its end, or this is a forked child without a Session.
Recorder* this_recorder() noexcept;
/// The same for a thread that has none. For this_recorder().
Recorder* attach_thread() noexcept;
/// The same, but nothing is made.
Recorder* existing_recorder() noexcept;

/// The key's number if regions of it are to be timed now, else kNoKey.
KeyIndex admitted(const Key& key) noexcept;

/// Reads the environment and measures the clock, once.
void start_process() noexcept;

/// Counts how often the process has forked itself into this one. What an older generation recorded is not ours.
std::uint32_t generation() noexcept;
/// A child makes a Session of its own: it records from now on.
void adopt_process() noexcept;
/// TAKT_DISABLE=1: a Session is to do nothing at all.
bool switched_off() noexcept;

/// Processor time that the process had used when start_process() ran, in ns; 0 in a forked child. Any thread.
std::uint64_t cpu_ns_at_start() noexcept;

/// Process-wide switches, which need no Session: the first two are read at the first recording. Values that are not
/// understood are reported (fault cause "environment.<variable>") and left at their default.
struct ProcessEnvironment {
  bool disabled = false;                       ///< TAKT_DISABLE=1
  ClockChoice clock = ClockChoice::automatic;  ///< TAKT_CLOCK=counter|monotonic
  int profiler_rank = kAllRanks;               ///< TAKT_PROFILER_RANK=<rank>|all
};
ProcessEnvironment read_process_environment();

/// The names of those variables.
std::vector<std::string_view> process_variable_names();

}  // namespace detail
TAKT_END_NAMESPACE
