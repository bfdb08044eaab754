// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/last_ranks.hpp"

#include "base/text.hpp"
#include "cli/attempts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr int kLargestWorld = 1 << 20;  // more ranks than any machine runs

auto when_begun(const Rank& rank) {
  return std::make_tuple(rank.snapshot.run.attempt, rank.snapshot.run.start_unix_ns);
}

auto rank_and_begin(const Rank& rank) { return std::make_pair(rank.snapshot.run.rank, when_begun(rank)); }

/// Of two processes that say the same rank and attempt: why the one that began first does not count.
std::string why_superseded(const Rank& earlier, const Rank& later) {
  if (follows(later, earlier)) { return "has a later attempt"; }
  return fmt::format("stands twice in attempt {}, on host {} and on host {}, and the one that began last counts",
                     later.snapshot.run.attempt, detail::printable(earlier.snapshot.run.host),
                     detail::printable(later.snapshot.run.host));
}

std::string left_out(const Rank& rank, const std::string& why) {
  return fmt::format("rank {} {}; it is left out: {}", rank.snapshot.run.rank, why,
                     detail::printable(rank.folder.path()));
}

/// Some launchers tell a rank its number, and not how many there are: one that speaks of itself is there, whatever
/// others say. But of a restart with fewer ranks those before it are gone.
int world_of(const std::vector<Rank>& of_run, const Rank& newest) {
  const RunInfo& run = newest.snapshot.run;
  int world = std::max(run.world_size, run.rank + 1);
  for (const Rank& each : of_run) {
    const RunInfo& own = each.snapshot.run;
    if (own.attempt == run.attempt && end_of(each.snapshot) > run.start_unix_ns) {
      world = std::max(world, own.rank + 1);
    }
  }
  return world;
}

}  // namespace

LastRanks last_ranks(std::vector<Rank> of_run) {
  std::sort(of_run.begin(), of_run.end(),
            [](const Rank& a, const Rank& b) { return rank_and_begin(a) < rank_and_begin(b); });
  const auto newest = std::max_element(of_run.begin(), of_run.end(),
                                       [](const Rank& a, const Rank& b) { return when_begun(a) < when_begun(b); });
  const RunInfo run = newest->snapshot.run;
  const bool possible = run.world_size <= kLargestWorld;
  const int world = world_of(of_run, *newest);
  LastRanks last;
  if (!possible) {
    last.remarks.push_back(
        fmt::format("{} says that there are {} ranks, which cannot be; those that left a journal count",
                    detail::printable(newest->folder.path()), run.world_size));
  }
  for (Rank& each : of_run) {
    const RunInfo& own = each.snapshot.run;
    if (own.attempt < run.attempt || (possible && own.rank >= world)) {
      last.remarks.push_back(left_out(each, "is of an earlier attempt"));
      continue;
    }
    if (!last.ranks.empty() && last.ranks.back().snapshot.run.rank == own.rank) {
      last.remarks.push_back(left_out(last.ranks.back(), why_superseded(last.ranks.back(), each)));
      last.ranks.pop_back();
    }
    last.ranks.push_back(std::move(each));
  }
  last.world = possible ? static_cast<std::uint64_t>(world) : last.ranks.size();
  return last;
}

std::vector<std::uint32_t> missing_ranks(const LastRanks& run) {
  std::vector<std::uint32_t> missing;
  std::uint32_t next = 0;
  for (const Rank& each : run.ranks) {
    const auto own = static_cast<std::uint32_t>(each.snapshot.run.rank);
    for (; next < own && run.missing() != 0; ++next) { missing.push_back(next); }
    next = own + 1;
  }
  for (; run.missing() > missing.size(); ++next) { missing.push_back(next); }
  return missing;
}

void tell_left_out(const LastRanks& run) {
  for (const std::string& each : run.remarks) { fmt::print(stderr, "takt: {}\n", each); }
}

}  // namespace cli
TAKT_END_NAMESPACE
