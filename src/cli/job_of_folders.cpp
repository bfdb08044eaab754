// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_of_folders.hpp"

#include "base/folder_files.hpp"
#include "base/format.hpp"
#include "base/rank_list.hpp"
#include "cli/last_ranks.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"
#include "ranks/gathered_rank.hpp"
#include "ranks/rank_group.hpp"
#include "ranks/rank_record.hpp"
#include "report/job_figures.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// What says which ranks count, without their figures.
std::vector<Rank> bare_ranks(const std::vector<RankFolder>& folders, const std::string& id) {
  std::vector<Rank> ranks;
  for (const RankFolder& folder : folders) {
    Rank rank = read_rank(folder);
    if (!rank.readable() || rank.snapshot.run.id != id) { continue; }
    drop_figures(rank);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

/// Others than rank 0 that have not ended.
std::vector<std::uint32_t> late_ranks(const PickedRanks& last) {
  std::vector<std::uint32_t> late;
  for (const Rank& each : last.ranks) {
    const bool goes_on =
        each.ending == Ending::running || (each.ending == Ending::silent && !is_given_up(*each.folder.open()));
    const int number = each.snapshot.run.rank;
    if (goes_on && number != 0) { late.push_back(static_cast<std::uint32_t>(number)); }
  }
  return late;
}

std::shared_ptr<const Job> job_of_ranks(const PickedRanks& last, const std::vector<std::uint32_t>& missing) {
  const std::size_t most_values = detail::values_of_a_rank(last.ranks.size());
  detail::RankRecord record;
  std::vector<detail::GatheredRank> ranks;
  Snapshot first;
  for (const Rank& each : last.ranks) {
    detail::RankSteps steps(most_values);
    Snapshot snapshot = read_rank(each.folder, [&](const Snapshot& part) { steps.add(part); }).snapshot;
    detail::merge_into(record, detail::record_of(snapshot));
    ranks.push_back({detail::job_rank_of(snapshot), detail::series_of(snapshot), std::move(steps)});
    if (first.paths.empty()) { first = std::move(snapshot); }
  }
  return detail::job_of(std::move(record), ranks, first, static_cast<std::uint32_t>(last.world), missing);
}

}  // namespace

JobOfFolders job_of_folders(const std::string& folder, const RunInfo& run, std::uint64_t told) {
  const std::vector<RankFolder> folders = ranks_in(detail::folder_part(folder));
  if (folders.size() <= told || (folders.size() < 2 && run.world_size < 2)) { return {}; }
  std::vector<Rank> of_run = bare_ranks(folders, run.id);
  if (of_run.empty()) { return {}; }
  const PickedRanks last = pick_last(std::move(of_run));
  const bool counts = std::any_of(last.ranks.begin(), last.ranks.end(),
                                  [&](const Rank& each) { return each.folder.name() == detail::name_part(folder); });
  if (!counts || last.ranks.size() <= told || last.world < 2) { return {}; }
  JobOfFolders figures;
  const std::vector<std::uint32_t> late = late_ranks(last);
  const std::vector<std::uint32_t> missing = missing_ranks(last.ranks, last.world);
  figures.waits = !late.empty();
  if (figures.waits) {
    figures.remark = "figures over ranks wait for what has not ended: ranks " + detail::rank_list(late);
  } else if (!missing.empty()) {
    figures.remark = detail::format("figures over ranks: {} of {} ranks left no journal beside this one: {}",
                                    missing.size(), last.world, detail::rank_list(missing));
  }
  if (!figures.waits && last.ranks.size() > 1) { figures.job = job_of_ranks(last, missing); }
  return figures;
}

}  // namespace cli
TAKT_END_NAMESPACE
