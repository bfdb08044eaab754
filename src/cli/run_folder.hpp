// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/rank_folder.hpp"

#include <functional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Where the ranks of these runs lie, each once, as of newest_run(). Of none: of the folder where runs go.
/// \throws takt::Error where there is none, saying what to do.
std::vector<RankFolder> rank_folders(const std::vector<std::string>& given, std::vector<std::string>& remarks);

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

/// Calls `work` for each of these, once the remarks are told. Returns the worst of its exit statuses.
int for_rank_folders(const std::vector<std::string>& given, const std::function<int(const RankFolder&)>& work);

}  // namespace cli
TAKT_END_NAMESPACE
