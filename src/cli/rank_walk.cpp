// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank_walk.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/last_ranks.hpp"
#include "cli/ranks_ahead.hpp"

#include <algorithm>
#include <cstdio>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Whether it is the process that was planned with.
bool is_as_planned(const RunInfo& planned, const RunInfo& run) {
  return planned.id == run.id && planned.rank == run.rank && planned.attempt == run.attempt &&
         planned.start_unix_ns == run.start_unix_ns;
}

std::string why_not(const Rank& rank, const RunInfo& planned) {
  if (!rank.readable()) { return why_unreadable(rank); }
  if (is_as_planned(planned, rank.snapshot.run)) { return ""; }
  return "the journal in " + detail::printable(rank.folder.path()) +
         " has just begun, or is of two processes; call takt again";
}

}  // namespace

void tell_not_read(NotRead not_read) {
  std::sort(not_read.begin(), not_read.end());
  for (const auto& each : not_read) { detail::print(stderr, "takt: {}\n", each.second); }
}

WalkedRun walk_ranks(const RunPlan& plan, const RanksAhead::Read& read, const LastRanks::Use& use) {
  WalkedRun run;
  if (plan.empty()) { return run; }
  const PlannedRank& newest = newest_of(plan);
  LastRanks last(newest.run, newest.folder, use);
  Attempts attempts;
  RanksAhead ahead(plan, read);
  bool any = false;
  for (const PlannedRank& each : plan) {
    Rank rank = ahead.next();
    if (std::string why = why_not(rank, each.run); !why.empty()) {
      run.not_read.emplace_back(each.place, std::move(why));
      continue;
    }
    run.first = any ? std::min(run.first, each.place) : each.place;
    any = true;
    attempts.add(rank.snapshot, last.attempt_of(rank.snapshot));
    last.add(std::move(rank));
  }
  last.finish();
  run.attempts = attempts.all();
  if (!any) { return run; }
  run.world = last.world();
  run.remarks = last.remarks();
  return run;
}

}  // namespace cli
TAKT_END_NAMESPACE
