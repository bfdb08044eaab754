// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/session.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The longest name of a run's directory, in bytes.
constexpr std::size_t kLongestRunId = 120;

/// `text` as one component of a path that nobody trips over: ASCII letters, digits, '_', '-' and '.', not two dots in
/// a row, not beginning with '-' or '.', never empty, at most `longest` bytes (32 or more). Of a text that had to be
/// cut the end is a hash of all of it. What is safe already stays as it is.
std::string path_component(std::string_view text, std::size_t longest);

/// Makes <options.directory>/<run.id>/rank-<rank>-<attempt>-<pid>/ (0700, never an existing one: a suffix is added) and
/// returns its absolute path; empty, with `error` saying what failed and what to do, where that cannot be done.
std::string make_run_directory(const SessionOptions& options, const RunInfo& run, std::string& error);

/// The groups that this rank is in. One thread at a time.
class RunGroups {
 public:
  static constexpr std::size_t kMax = 8;
  static constexpr std::size_t kLongestName = 32;

  /// The last call of a name wins. \throws takt::Error as Session::group() does, and then changes nothing.
  void set(std::string_view name, int number);
  /// By name.
  std::vector<std::pair<std::string, int>> list() const { return {groups_.begin(), groups_.end()}; }

 private:
  std::map<std::string, int, std::less<>> groups_;
};

/// Rank, world size and local rank with the variable they came from; conflicts between launchers are reported once.
/// Order: options (set in code or by TAKT_RANK, TAKT_WORLD_SIZE) > torchrun > Open MPI > PMIx > PMI > MVAPICH2 > PALS >
/// Flux > Slurm > 0 of 1. The run id begins with the name and is one path component of at most 120 bytes. The rules are
/// in docs/environment.md.
/// Fills every field of RunInfo but `directory` and `start_unix_ns`.
RunInfo identify_run(const std::string& name, const SessionOptions& options);

/// A run's id as its launcher names it; without one, and where it names a job alone, with 64 random bits.
std::string new_run_id();

/// The rank alone, by the same rules; without the reports about a run id.
int identify_rank(const SessionOptions& options);

}  // namespace detail
TAKT_END_NAMESPACE
