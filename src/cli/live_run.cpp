// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/live_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

bool is_over(const Rank& rank) {
  return has_ended(rank.ending) || rank.ending == Ending::died ||
         (rank.ending == Ending::silent && is_given_up(rank.directory));
}

}  // namespace

LiveRun::LiveRank::LiveRank(const std::string& folder, std::size_t most_values)
    : reader(folder), steps(std::make_shared<detail::RankSteps>(most_values)) {}

LiveRun::LiveRun(RunFolder run) : run_(std::move(run)), history_(std::in_place) {}

void LiveRun::add_ranks() {
  const bool is_of_a_rank = run_.ranks.front() == run_.folder;
  const std::vector<std::string> folders = is_of_a_rank ? run_.ranks : ranks_in(run_.folder);
  const std::size_t most = detail::values_of_a_rank(folders.size());
  for (const std::string& each : folders) { ranks_.try_emplace(each, each, most); }
  if (ranks_.size() > 1) { history_.reset(); }
}

bool LiveRun::read_on(const Stop& stop) {
  add_ranks();
  return std::all_of(ranks_.begin(), ranks_.end(), [&](auto& each) { return read_rank_on(each.second, stop); });
}

bool LiveRun::read_rank_on(LiveRank& rank, const Stop& stop) {
  const auto take = [&](const Snapshot& snapshot) {
    rank.steps->add(snapshot);
    if (history_) { history_->add(snapshot); }
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

RunReport LiveRun::report() const {
  std::vector<Rank> ranks;
  for (const auto& [folder, each] : ranks_) {
    if (!each.reader.rank().readable()) { continue; }
    ranks.push_back(each.reader.rank());
    ranks.back().kept_steps = each.steps;
    if (history_) { conclude(*history_, ranks.back().snapshot); }
  }
  return report_of(std::move(ranks));
}

std::string LiveRun::why_unreadable() const { return cli::why_unreadable(ranks_.begin()->second.reader.rank()); }

std::uint64_t LiveRun::checked_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [folder, each] : ranks_) { sum += each.reader.checked_bytes(); }
  return sum;
}

}  // namespace cli
TAKT_END_NAMESPACE
