// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/session.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Maximum length of the name of a run's directory, in bytes.
constexpr std::size_t kLongestRunId = 120;

/// Returns `text` as one safe component of a path: ASCII letters, digits, '_', '-' and '.', no two dots in a row, no
/// leading '-' or '.', never empty, at most `longest` bytes (>= 32). A truncated text ends with a hash of the whole.
/// Safe text is returned unchanged.
std::string path_component(std::string_view text, std::size_t longest);

/// Makes <options.directory>/<run.id>/rank-<rank>-<attempt>-<pid>/ (0700, never an existing one: a suffix is added) and
/// returns its absolute path. On failure returns an empty string and sets `error` to the cause and the cure.
std::string make_run_directory(const SessionOptions& options, const RunInfo& run, std::string& error);

/// Groups of this rank. One thread at a time.
class RunGroups {
 public:
  static constexpr std::size_t kMax = 8;
  static constexpr std::size_t kLongestName = 32;

  /// Sets a group's number; the last call for a name wins. \throws takt::Error as Session::group() does; nothing
  /// changes then.
  void set(std::string_view name, int number);
  /// Groups sorted by name.
  std::vector<std::pair<std::string, int>> list() const { return {groups_.begin(), groups_.end()}; }

 private:
  std::map<std::string, int, std::less<>> groups_;
};

/// Fills every field of RunInfo but `directory` and `start_unix_ns`. Rank, world size and local rank include the
/// variable that set them; conflicts between launchers are reported once. Precedence: options (set in code or by
/// TAKT_RANK, TAKT_WORLD_SIZE) > torchrun > Open MPI > PMIx > PMI > MVAPICH2 > PALS > Flux > Slurm > 0 of 1. The run id
/// begins with the name and is one path component of at most 120 bytes. The rules are in docs/environment.md.
RunInfo identify_run(const std::string& name, const SessionOptions& options);

/// Returns the launcher's id of the run. If there is none, or it only names a job, adds 64 random bits.
std::string new_run_id();

/// Job data of this rank that a Session needs besides its options.
struct RankInJob {
  int rank = 0;
  int world_size = 0;               ///< 0: takt::mpi::options() was not called
  std::size_t compared_values = 0;  ///< number of step values kept for reduce(); a step is one, and each region in it
  std::optional<ClockReading> clock_reading;
};

/// Returns the latest result of takt::mpi::options(), or an empty value if `options` are not those of that rank.
RankInJob rank_in_job(const SessionOptions& options) noexcept;
/// Latest result of takt::mpi::options(). Only on the thread that may call MPI.
extern RankInJob latest_rank_in_job;

/// Returns the rank alone, by the same rules, without reports about a run id.
int identify_rank(const SessionOptions& options);

}  // namespace detail
TAKT_END_NAMESPACE
