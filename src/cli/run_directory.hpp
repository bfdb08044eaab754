// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "cli/merged_file.hpp"

#include <takt/config.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Location of one rank's files: a directory, or a part of a merged file. A value.
class RankDirectory {
 public:
  RankDirectory() = default;
  /// Names a directory, which need not exist.
  RankDirectory(std::string path);  // NOLINT(google-explicit-constructor): ranks are usually given by path
  RankDirectory(std::shared_ptr<const detail::MergedFile> file, std::string run, std::string rank);

  /// Returns "takt-runs/digits-1/rank-0-0-17"; in a merged file "all.tar/digits-1/rank-0-0-17".
  const std::string& path() const noexcept { return path_; }
  /// Returns "rank-0-0-17".
  std::string name() const;
  /// Returns the merged file that contains it; nullptr: none.
  const std::shared_ptr<const detail::MergedFile>& file() const noexcept { return file_; }

  /// Opens its files; they stay those of this directory even if it is moved.
  std::shared_ptr<const detail::ReadableDirectory> open() const;

 private:
  std::string path_;
  std::shared_ptr<const detail::MergedFile> file_;
  std::string run_;
  std::string rank_;
};

/// Opens the merged file of this name, following links; nullptr: not a merged file.
/// \throws takt::Error if it is of a newer version.
std::shared_ptr<const detail::MergedFile> open_merged(const std::string& path);

/// Returns why a rank's directory has no journal, according to its other files, and the cure. Printable.
std::string why_no_journal(const RankDirectory& directory);

/// Describes a directory without a run: "is empty", "contains no run of Takt, but a, b and 3 more". Printable.
std::string what_else_is_in(const std::string& directory);

/// Prints each warning on stderr.
void report_warnings(const std::vector<std::string>& warnings);

/// Returns the ranks of these runs, each once, see newest_run(). Without runs, uses the default directory of runs.
/// \throws takt::Error with the cure if there is none.
std::vector<RankDirectory> rank_directories(const std::vector<std::string>& given, std::vector<std::string>& warnings);
/// Same, with warnings on stderr.
std::vector<RankDirectory> rank_directories(const std::vector<std::string>& given);

/// Returns the ranks' directories in this one, sorted by name, without links. Empty: not a run's directory. Any thread.
std::vector<RankDirectory> ranks_in(const std::string& directory);

/// Returns true if none of the merged files that contain these is damaged.
bool are_whole(const std::vector<RankDirectory>& directories);

/// A run and its ranks. Without permission to read it there are no ranks: then it may not be a run.
struct RunDirectory {
  std::string directory;
  std::vector<RankDirectory> ranks;
};

/// Returns the run that `given` names: a run, or the latest one in a directory of runs or in a merged file. A rank's
/// directory means its run with only this rank. `warnings` gets the choice, and the warnings of a merged file.
/// \throws takt::Error with the cure if there is none.
RunDirectory newest_run(const std::string& given, std::vector<std::string>& warnings);

/// Returns the runs that `given` names, sorted by directory, unreadable ones last: one run, or all in a directory of
/// runs or a merged file. A rank's directory means its run with only this rank. `warnings` gets links, and the warnings
/// of a merged file.
/// \throws takt::Error with the cure if there is none.
std::vector<RunDirectory> all_runs(const std::string& given, std::vector<std::string>& warnings);

/// Adds ranks whose directories were created since the run was found. REQUIRES: not in a merged file.
void refresh(RunDirectory& run);

}  // namespace cli
TAKT_END_NAMESPACE
