// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <functional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The folders of the ranks of these runs, each once, as of newest_run(). Of none: of the folder where runs go.
/// \throws takt::Error where there is none, saying what to do.
std::vector<std::string> rank_folders(const std::vector<std::string>& given, std::vector<std::string>& remarks);

/// The folders of ranks in this one, in the order of their names; links are not among them. None: it is no run's. Any
/// thread.
std::vector<std::string> ranks_in(const std::string& folder);

/// A run, and the folders of its ranks. There are none where nobody may look into it: then it may be no run.
struct RunFolder {
  std::string folder;
  std::vector<std::string> ranks;
};

/// The run that `given` means: one itself, or the newest in a folder of runs, which is told in `remarks`. A rank's
/// folder stands for its run with this rank alone.
/// \throws takt::Error where there is none, saying what to do.
RunFolder newest_run(const std::string& given, std::vector<std::string>& remarks);

/// The runs that `given` means, in order of their folders, closed ones last: one itself, or all in a folder of runs. A
/// rank's folder stands for its run with this rank alone. Links are told in `remarks`.
/// \throws takt::Error where there is none, saying what to do.
std::vector<RunFolder> all_runs(const std::string& given, std::vector<std::string>& remarks);

/// Calls `work` for each of these, once the remarks are told. Returns the worst of its exit statuses.
int for_rank_folders(const std::vector<std::string>& given, const std::function<int(const std::string&)>& work);

}  // namespace cli
TAKT_END_NAMESPACE
