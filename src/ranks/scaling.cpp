// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/scaling.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kSameItems = 0.01;  // tolerance: the last step of an epoch may be short

double items_a_step(const ScalingRun& run) noexcept { return ratio(run.items, static_cast<double>(run.steps)); }
double items_a_rank(const ScalingRun& run) noexcept { return ratio(items_a_step(run), static_cast<double>(run.ranks)); }

bool are_same(double a, double b) noexcept { return a > 0 && std::fabs(a - b) <= kSameItems * std::max(a, b); }

}  // namespace

Scaling scaling_of(const std::vector<ScalingRun>& runs) {
  bool weak = !runs.empty();
  bool strong = weak;
  for (const ScalingRun& each : runs) {
    const ScalingRun& first = runs.front();
    weak = weak && are_same(items_a_rank(each), items_a_rank(first));
    strong = strong && are_same(items_a_step(each), items_a_step(first));
  }
  if (weak == strong) { return Scaling::unclear; }  // both: all runs have the same size
  return weak ? Scaling::weak : Scaling::strong;
}

std::vector<ScalingRow> scaling_rows(std::vector<ScalingRun> runs) {
  std::stable_sort(runs.begin(), runs.end(),
                   [](const ScalingRun& a, const ScalingRun& b) { return a.ranks < b.ranks; });
  std::vector<ScalingRow> rows;
  rows.reserve(runs.size());
  for (const ScalingRun& each : runs) {
    rows.push_back({each, items_per_s(each), speed_up(each, runs.front()), scaling_efficiency(each, runs.front())});
  }
  return rows;
}

}  // namespace detail
TAKT_END_NAMESPACE
