// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/last_ranks.hpp"

#include "base/text.hpp"

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

}  // namespace

LastRanks last_ranks(std::vector<Rank> of_run) {
  std::sort(of_run.begin(), of_run.end(),
            [](const Rank& a, const Rank& b) { return rank_and_begin(a) < rank_and_begin(b); });
  const auto newest = std::max_element(of_run.begin(), of_run.end(),
                                       [](const Rank& a, const Rank& b) { return when_begun(a) < when_begun(b); });
  const RunInfo run = newest->snapshot.run;
  const bool possible = run.world_size <= kLargestWorld;
  const int world = std::max(run.world_size, run.rank + 1);
  LastRanks last;
  for (Rank& each : of_run) {
    const RunInfo& own = each.snapshot.run;
    if (own.attempt < run.attempt || (possible && own.rank >= world)) {
      last.left_out.push_back(std::move(each));
      continue;
    }
    if (!last.ranks.empty() && last.ranks.back().snapshot.run.rank == own.rank) {
      last.left_out.push_back(std::move(last.ranks.back()));
      last.ranks.pop_back();
    }
    last.ranks.push_back(std::move(each));
  }
  last.world = possible ? static_cast<std::uint64_t>(world) : last.ranks.size();
  return last;
}

void tell_left_out(const LastRanks& run) {
  for (const Rank& each : run.left_out) {
    fmt::print(stderr, "takt: rank {} is of an earlier attempt, and is left out: {}\n", each.snapshot.run.rank,
               detail::printable(each.directory));
  }
  const Rank& one = run.ranks.front();
  if (one.snapshot.run.world_size > kLargestWorld) {
    fmt::print(stderr, "takt: {} says that there are {} ranks, which cannot be; those that left a journal count\n",
               detail::printable(one.directory), one.snapshot.run.world_size);
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
