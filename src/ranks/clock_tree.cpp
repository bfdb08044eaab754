// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_tree.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Alignments = std::map<std::uint32_t, ClockAlignment>;

/// To rank 0, by the readings of ranks whose own way there is known.
ClockAlignment to_rank_0(const RankReadings& rank, const Alignments& known) {
  std::vector<ClockAlignment::Point> points;
  for (const ClockReading& each : rank.readings) {
    const auto above = known.find(each.rank);
    if (above == known.end() || each.error_ns < 0) { continue; }
    points.push_back(ClockAlignment::then({each.unix_ns, each.ahead_ns, each.error_ns}, above->second));
  }
  if (points.empty()) { return {}; }
  const auto [first, last] = std::minmax_element(points.begin(), points.end(),
                                                 [](const auto& a, const auto& b) { return a.own_ns < b.own_ns; });
  return first->own_ns == last->own_ns ? ClockAlignment(*last) : ClockAlignment(*first, *last);
}

}  // namespace

std::map<std::uint32_t, ClockAlignment> align_by_readings(const std::vector<RankReadings>& ranks) {
  Alignments known = {{0, ClockAlignment::same()}};
  for (const RankReadings& each : ranks) {
    const ClockAlignment alignment = each.rank == 0 ? ClockAlignment() : to_rank_0(each, known);
    if (alignment.is_known()) { known.emplace(each.rank, alignment); }
  }
  if (ranks.empty() || ranks.front().rank == 0) { return known; }
  const std::uint32_t first = ranks.front().rank;
  const auto found = known.find(first);
  if (found == known.end()) { return {}; }
  const ClockAlignment back = found->second.inverse();
  for (auto& [rank, alignment] : known) {
    if (rank != first) { alignment = rank == 0 ? back : alignment.then(back); }
  }
  known[first] = ClockAlignment::same();
  return known;
}

}  // namespace detail
TAKT_END_NAMESPACE
