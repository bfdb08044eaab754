// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/rank.hpp>
#include <takt/session.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Process-wide switches, which need no Session: the first two are read at the first recording. Values that are not understood
/// are reported (fault cause "environment.<variable>") and left at their default.
struct ProcessEnvironment {
  enum class Clock { automatic, tsc, monotonic };
  bool disabled = false;           ///< TAKT_DISABLE=1
  Clock clock = Clock::automatic;  ///< TAKT_CLOCK=tsc|monotonic
  int profiler_rank = kAllRanks;   ///< TAKT_PROFILER_RANK=<rank>|all
};
ProcessEnvironment read_process_environment();

/// The value of a variable, empty where it is unset or empty; valid until the variable is changed. Any thread while no
/// other one changes the environment, as with getenv().
std::string_view environment_value(const char* name) noexcept;

/// All of `text` as a decimal number from `low` to `high`; false, and `number` unchanged, where it is not one.
bool parse_number(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& number) noexcept;

/// "TAKT_EXIT_MS=abc is not <expected>; using <used>", once a variable. Never throws.
void report_bad_value(std::string_view name, std::string_view value, std::string_view expected,
                      std::string_view used) noexcept;

/// `text` as one component of a path that nobody trips over: ASCII letters, digits, '_', '-' and '.', not two dots in
/// a row, not beginning with '-' or '.', never empty, at most `longest` bytes (32 or more). Of a text that had to be cut
/// the end is a hash of all of it. What is safe already stays as it is.
std::string path_component(std::string_view text, std::size_t longest);

/// Rank, world size and local rank with the variable they came from; conflicts between launchers are reported once.
/// Order: options (set in code or by TAKT_RANK, TAKT_WORLD_SIZE) > torchrun > Open MPI > PMIx > PMI > MVAPICH2 > PALS >
/// Flux > Slurm > 0 of 1. The run id begins with the name and is one path component of at most 120 bytes. The rules are
/// in docs/environment.md.
/// Fills every field of RunInfo but `directory` and `start_unix_ns`.
RunInfo identify_run(const std::string& name, const SessionOptions& options);

/// The rank alone, by the same rules; without the reports about a run id.
int identify_rank(const SessionOptions& options);

/// Makes <options.directory>/<run.id>/rank-<rank>-<attempt>-<pid>/ (0700, never an existing one: a suffix is added) and
/// returns its absolute path; empty, with `error` saying what failed and what to do, where that cannot be done.
std::string make_run_folder(const SessionOptions& options, const RunInfo& run, std::string& error);

}  // namespace detail
TAKT_END_NAMESPACE
