// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_plan.hpp"

#include "cli/rank.hpp"
#include "journal/journal_peek.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// A damaged journal is read for what a look at it does not tell.
PlannedRank look_at_rank(const RankFolder& folder, std::size_t place) {
  detail::JournalPeek peek = detail::peek_journal(*folder.open());
  if (peek.has_run && can_be_rank(peek.run.rank)) { return {folder, place, true, std::move(peek.run)}; }
  Rank rank = read_rank(folder);
  if (!rank.readable()) { return {folder, place, false, {}}; }  // who reads it again tells why
  return {folder, place, true, std::move(rank.snapshot.run)};
}

bool is_before(const PlannedRank& a, const PlannedRank& b) {
  if (a.run.rank != b.run.rank) { return a.run.rank < b.run.rank; }
  return began_before(a.run, b.run);
}

}  // namespace

bool began_before(const RunInfo& a, const RunInfo& b) noexcept {
  return std::tie(a.attempt, a.start_unix_ns) < std::tie(b.attempt, b.start_unix_ns);
}

std::vector<RunPlan> plan_runs(const std::vector<RankFolder>& folders) {
  std::vector<RunPlan> runs;
  std::map<std::string, std::size_t> places;  // by run id
  for (const RankFolder& folder : folders) {
    PlannedRank rank = look_at_rank(folder, static_cast<std::size_t>(&folder - folders.data()));
    const auto [place, is_new] = places.emplace(rank.run.id, runs.size());
    if (is_new) { runs.emplace_back(); }
    runs[place->second].push_back(std::move(rank));
  }
  for (RunPlan& each : runs) { std::stable_sort(each.begin(), each.end(), is_before); }
  return runs;
}

const PlannedRank& newest_of(const RunPlan& plan) noexcept {
  return *std::max_element(plan.begin(), plan.end(), [](const PlannedRank& a, const PlannedRank& b) {
    return a.has_run == b.has_run ? began_before(a.run, b.run) : b.has_run;
  });
}

}  // namespace cli
TAKT_END_NAMESPACE
