// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/aligned_ranks.hpp"
#include "cli/commands.hpp"
#include "cli/job_trace.hpp"
#include "cli/last_ranks.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"
#include "cli/trace_file.hpp"
#include "report/notes.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

int trace_of(const std::vector<RankFolder>& folders, const std::string& file, bool is_one) {
  AlignedRanks run = read_aligned(folders);
  if (is_one) { run.missing = 0; }
  JobTrace line(file);
  line.write(run);
  tell_alignment(run);
  for (const std::string& each : line.remarks()) { detail::print(stderr, "takt: {}\n", each); }
  const std::string recorded = line.recorded_ranks() == 0 ? ""
                                                          : detail::format(" {} regions that {} of them recorded,",
                                                                           line.regions(), line.recorded_ranks());
  detail::print(stdout, "{}: {} slices of {} rank{}{}{} steps and what was open at the end\n", detail::printable(file),
                line.slices(), run.ranks.size(), detail::plural(run.ranks.size()), recorded.empty() ? "," : ":",
                recorded);
  return run.all && line.all() ? 0 : kBroken;
}

/// Of the newest attempt that has it, the folder of this rank.
RankFolder folder_of_rank(const std::vector<RankFolder>& folders, int number) {
  std::vector<Rank> found;
  for (const RankFolder& folder : folders) {
    Rank rank = read_rank(folder);
    if (rank.readable() && rank.snapshot.run.rank == number) { found.push_back(std::move(rank)); }
  }
  if (found.empty()) { throw Error(detail::format("there is no rank {} in this run", number)); }
  const PickedRanks last = pick_last(std::move(found));
  tell_left_out(last.remarks);
  return last.ranks.front().folder;
}

}  // namespace

int trace(const std::string& run, const std::string& file, int rank) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders =
      rank_folders(run.empty() ? std::vector<std::string>() : std::vector<std::string>{run}, remarks);
  for (const std::string& each : remarks) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
  const std::string target = trace_file(file, folders.front(), rank);
  return trace_of(rank >= 0 ? std::vector<RankFolder>{folder_of_rank(folders, rank)} : folders, target, rank >= 0);
}

}  // namespace cli
TAKT_END_NAMESPACE
