// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/folder_files.hpp"
#include "cli/merged_file.hpp"

#include <takt/config.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Where the files of one rank lie: in a folder, or in a merged file. A value.
class RankFolder {
 public:
  RankFolder() = default;
  /// A folder. It need not be there.
  RankFolder(std::string path);  // NOLINT(google-explicit-constructor): as it is mostly known by its path
  RankFolder(std::shared_ptr<const detail::MergedFile> file, std::string run, std::string rank);

  /// "takt-runs/digits-1/rank-0-0-17"; in a merged file "all.tar/digits-1/rank-0-0-17".
  const std::string& path() const noexcept { return path_; }
  /// "rank-0-0-17".
  std::string name() const;
  /// The merged file in which it is; nullptr: in none.
  const std::shared_ptr<const detail::MergedFile>& file() const noexcept { return file_; }

  /// Its files, which stay those of this folder whatever becomes of its path.
  std::shared_ptr<const detail::ReadableFolder> open() const;

 private:
  std::string path_;
  std::shared_ptr<const detail::MergedFile> file_;
  std::string run_;
  std::string rank_;
};

/// The merged file of this name, where a link is followed; nullptr: there is none.
/// \throws takt::Error where it is of a newer version.
std::shared_ptr<const detail::MergedFile> open_merged(const std::string& path);

/// Why the folder of a rank has no journal, as far as can be seen from what lies in it, and what to do. Printable.
std::string why_no_journal(const RankFolder& folder);

/// What a folder without a run has in it instead: "is empty", "holds no run of Takt's, but a, b and 3 more". Printable.
std::string what_else_is_in(const std::string& folder);

/// Says each on stderr.
void tell_remarks(const std::vector<std::string>& remarks);

/// Where the ranks of these runs lie, each once, as of newest_run(). Of none: of the folder where runs go.
/// \throws takt::Error where there is none, saying what to do.
std::vector<RankFolder> rank_folders(const std::vector<std::string>& given, std::vector<std::string>& remarks);
/// The same, with remarks on stderr.
std::vector<RankFolder> rank_folders(const std::vector<std::string>& given);

/// The folders of ranks in this one, in the order of their names; links are not among them. None: it is no run's. Any
/// thread.
std::vector<RankFolder> ranks_in(const std::string& folder);

/// Whether no merged file in which these lie is damaged.
bool are_whole(const std::vector<RankFolder>& folders);

/// A run, and where its ranks lie. There are none where nobody may look into it: then it may be no run.
struct RunFolder {
  std::string folder;
  std::vector<RankFolder> ranks;
};

/// The run that `given` means: one itself, or the newest in a folder of runs or in a merged file, which is told in
/// `remarks`, and so is what is wrong with a merged file. A rank's folder stands for its run with this rank alone.
/// \throws takt::Error where there is none, saying what to do.
RunFolder newest_run(const std::string& given, std::vector<std::string>& remarks);

/// The runs that `given` means, in order of their folders, closed ones last: one itself, or all in a folder of runs, or
/// in a merged file. A rank's folder stands for its run with this rank alone. Links are told in `remarks`, and what is
/// wrong with a merged file.
/// \throws takt::Error where there is none, saying what to do.
std::vector<RunFolder> all_runs(const std::string& given, std::vector<std::string>& remarks);

/// Takes in the ranks whose folders were made since the run was found. REQUIRES: it lies in no merged file.
void look_again(RunFolder& run);

}  // namespace cli
TAKT_END_NAMESPACE
