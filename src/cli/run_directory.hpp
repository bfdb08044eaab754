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

/// Where the files of one rank lie: in a directory, or in a merged file. A value.
class RankDirectory {
 public:
  RankDirectory() = default;
  /// A directory. It need not be there.
  RankDirectory(std::string path);  // NOLINT(google-explicit-constructor): as it is mostly known by its path
  RankDirectory(std::shared_ptr<const detail::MergedFile> file, std::string run, std::string rank);

  /// "takt-runs/digits-1/rank-0-0-17"; in a merged file "all.tar/digits-1/rank-0-0-17".
  const std::string& path() const noexcept { return path_; }
  /// "rank-0-0-17".
  std::string name() const;
  /// The merged file in which it is; nullptr: in none.
  const std::shared_ptr<const detail::MergedFile>& file() const noexcept { return file_; }

  /// Its files, which stay those of this directory whatever becomes of its path.
  std::shared_ptr<const detail::ReadableDirectory> open() const;

 private:
  std::string path_;
  std::shared_ptr<const detail::MergedFile> file_;
  std::string run_;
  std::string rank_;
};

/// The merged file of this name, where a link is followed; nullptr: there is none.
/// \throws takt::Error where it is of a newer version.
std::shared_ptr<const detail::MergedFile> open_merged(const std::string& path);

/// Why the directory of a rank has no journal, as far as can be seen from what lies in it, and what to do. Printable.
std::string why_no_journal(const RankDirectory& directory);

/// What a directory without a run has in it instead: "is empty", "holds no run of Takt's, but a, b and 3 more".
/// Printable.
std::string what_else_is_in(const std::string& directory);

/// Says each on stderr.
void report_warnings(const std::vector<std::string>& warnings);

/// Where the ranks of these runs lie, each once, as of newest_run(). Of none: of the directory where runs go.
/// \throws takt::Error where there is none, saying what to do.
std::vector<RankDirectory> rank_directories(const std::vector<std::string>& given, std::vector<std::string>& warnings);
/// The same, with remarks on stderr.
std::vector<RankDirectory> rank_directories(const std::vector<std::string>& given);

/// The directories of ranks in this one, in the order of their names; links are not among them. None: it is no run's.
/// Any
/// thread.
std::vector<RankDirectory> ranks_in(const std::string& directory);

/// Whether no merged file in which these lie is damaged.
bool are_whole(const std::vector<RankDirectory>& directories);

/// A run, and where its ranks lie. There are none where nobody may look into it: then it may be no run.
struct RunDirectory {
  std::string directory;
  std::vector<RankDirectory> ranks;
};

/// The run that `given` means: one itself, or the newest in a directory of runs or in a merged file, which is told in
/// `remarks`, and so is what is wrong with a merged file. A rank's directory stands for its run with this rank alone.
/// \throws takt::Error where there is none, saying what to do.
RunDirectory newest_run(const std::string& given, std::vector<std::string>& warnings);

/// The runs that `given` means, in order of their directories, closed ones last: one itself, or all in a directory of
/// runs, or
/// in a merged file. A rank's directory stands for its run with this rank alone. Links are told in `remarks`, and what
/// is
/// wrong with a merged file.
/// \throws takt::Error where there is none, saying what to do.
std::vector<RunDirectory> all_runs(const std::string& given, std::vector<std::string>& warnings);

/// Takes in the ranks whose directories were made since the run was found. REQUIRES: it lies in no merged file.
void refresh(RunDirectory& run);

}  // namespace cli
TAKT_END_NAMESPACE
