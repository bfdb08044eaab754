// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/live_run.hpp"

#include "base/format.hpp"
#include "cli/results_file.hpp"
#include "cli/trials_file.hpp"
#include "findings/findings.hpp"
#include "trials/trial_finding.hpp"

#include <algorithm>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

bool is_over(const Rank& rank) {
  return has_ended(rank.ending) || rank.ending == Ending::died ||
         (rank.ending == Ending::silent && is_given_up(*rank.folder.open()));
}

}  // namespace

LiveRun::LiveRank::LiveRank(const RankFolder& folder, std::size_t most_values)
    : reader(folder), steps(std::make_shared<detail::RankSteps>(most_values)), history(std::in_place) {}

LiveRun::LiveRun(RunFolder run) : run_(std::move(run)) {}

void LiveRun::add_ranks() {
  const bool is_of_a_rank = run_.ranks.front().path() == run_.folder;
  const std::vector<RankFolder> folders = is_of_a_rank ? run_.ranks : ranks_in(run_.folder);
  const std::size_t most = detail::values_of_a_rank(folders.size());
  for (const RankFolder& each : folders) { ranks_.try_emplace(each.path(), each, most); }
  if (ranks_.size() <= kMostHistories) { return; }
  for (auto& [folder, each] : ranks_) { each.history.reset(); }
}

bool LiveRun::read_on(const Stop& stop) {
  add_ranks();
  return std::all_of(ranks_.begin(), ranks_.end(), [&](auto& each) { return read_rank_on(each.second, stop); });
}

bool LiveRun::read_rank_on(LiveRank& rank, const Stop& stop) {
  const auto take = [&](const Snapshot& snapshot) {
    rank.steps->add(snapshot);
    if (rank.history) { rank.history->add(snapshot); }
  };
  while (rank.reader.read_part(take)) {
    if (stop && stop()) { return false; }
  }
  rank.reader.look(take);
  return true;
}

bool LiveRun::readable() const noexcept {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& each) { return each.second.reader.rank().readable(); });
}

bool LiveRun::ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& each) { return is_over(each.second.reader.rank()); });
}

Rank LiveRun::rank_of(const LiveRank& live) {
  Rank rank = live.reader.rank();
  rank.kept_steps = live.steps;
  std::string why;  // takt check tells it
  rank.snapshot.trials = read_trials(rank.folder, why);
  rank.snapshot.measurements = read_results(rank.folder, why);
  const auto history = live.history ? std::make_shared<const detail::StepHistory>(live.history->finished()) : nullptr;
  detail::conclude(rank.snapshot, history);
  detail::add_finding_of_trials(rank.snapshot);
  return rank;
}

RunReport LiveRun::report() const {
  std::vector<Rank> ranks;
  for (const auto& [folder, each] : ranks_) {
    if (!each.reader.rank().readable()) { continue; }
    ranks.push_back(rank_of(each));
  }
  RunReport report = report_of(std::move(ranks));
  if (ranks_.size() > kMostHistories) {
    report.job.remarks.push_back(detail::format(
        "of more than {} ranks there are no findings here that rest on the steps of one rank; takt report "
        "has them when the run has ended",
        kMostHistories));
  }
  return report;
}

std::string LiveRun::why_unreadable() const { return cli::why_unreadable(ranks_.begin()->second.reader.rank()); }

std::uint64_t LiveRun::checked_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [folder, each] : ranks_) { sum += each.reader.checked_bytes(); }
  return sum;
}

}  // namespace cli
TAKT_END_NAMESPACE
