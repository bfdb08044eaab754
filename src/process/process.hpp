// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/registry.hpp"
#include "record/clock.hpp"

#include <takt/detail/library_version.hpp>
#include <takt/detail/process.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns the calling thread's recorder, created if necessary. Returns nullptr if the thread is not recorded: out of
/// memory, the thread is past its end, or a forked child has no Session.
Recorder* this_recorder() noexcept;
/// Creates the recorder for this_recorder() if the thread has none.
Recorder* attach_thread() noexcept;
/// Returns the calling thread's recorder, or nullptr. Creates none.
Recorder* existing_recorder() noexcept;

/// Returns the key's number if its regions are timed now, else kNoKey.
KeyIndex admitted(const Key& key) noexcept;

/// Reads the environment and measures the clock, once.
void start_process() noexcept;

/// Returns the number of forks between the first process and this one. Recorders of an older generation belong to the
/// parent.
std::uint32_t generation() noexcept;
/// Enables recording in a forked child that creates its own Session.
void adopt_process() noexcept;
/// Returns true for TAKT_DISABLE=1: a Session does nothing.
bool switched_off() noexcept;

/// Returns the CPU time that the process had used at start_process(), in ns; 0 in a forked child. Any thread.
std::uint64_t cpu_ns_at_start() noexcept;

/// Returns the list of add_library_version(), newest first. Any thread.
const LibraryVersion* library_versions() noexcept;

/// Process-wide settings, independent of a Session; the first two are read at the first recording. Invalid values are
/// reported (error cause "environment.<variable>") and replaced by the default.
struct ProcessEnvironment {
  bool disabled = false;                       ///< TAKT_DISABLE=1
  ClockChoice clock = ClockChoice::automatic;  ///< TAKT_CLOCK=counter|monotonic
  int profiler_rank = kAllRanks;               ///< TAKT_PROFILER_RANK=<rank>|all
};
ProcessEnvironment read_process_environment();

/// Returns the names of those variables.
std::vector<std::string_view> process_variable_names();

}  // namespace detail
TAKT_END_NAMESPACE
