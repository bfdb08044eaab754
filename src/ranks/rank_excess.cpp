// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_excess.hpp"

#include "base/median.hpp"
#include "ranks/step_window.hpp"

#include <cmath>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kLeastExcess = 0.03;
constexpr double kStandardErrors = 6;
constexpr double kDeviations = 4;
constexpr std::size_t kRanksForDeviation = 8;  // fewer say too little of how ranks differ from each other
constexpr std::size_t kLeastPositive = 8;      // of ten; with fewer no mean reaches six standard errors

/// By window, then by place in the group.
std::vector<std::vector<double>> window_excesses(const StepTimes& times, const std::vector<std::size_t>& group) {
  std::vector<std::vector<double>> excesses(kStepWindows, std::vector<double>(group.size()));
  const double step_ns = times.job_ns() / static_cast<double>(times.steps());
  for (std::size_t at = 0; at < group.size(); ++at) {
    const std::vector<double> medians = window_medians(times.busy_by_step(group[at]));
    for (std::size_t window = 0; window < kStepWindows; ++window) { excesses[window][at] = medians[window]; }
  }
  for (std::vector<double>& window : excesses) {
    const std::vector<double> others = medians_of_others(window);
    for (std::size_t at = 0; at < group.size(); ++at) {
      // Beside ranks that do nothing but wait it is the share of the step.
      window[at] = others[at] > 0 ? window[at] / others[at] - 1 : step_ns > 0 ? window[at] / step_ns : 0;
    }
  }
  return excesses;
}

RankExcess excess_over(const std::vector<std::vector<double>>& windows, std::size_t at) {
  constexpr auto n = static_cast<double>(kStepWindows);
  RankExcess excess;
  for (const std::vector<double>& each : windows) {
    excess.mean += each[at] / n;
    excess.positive += each[at] > 0 ? 1 : 0;
  }
  double squares = 0;
  for (const std::vector<double>& each : windows) { squares += (each[at] - excess.mean) * (each[at] - excess.mean); }
  excess.standard_error = std::sqrt(squares / (n - 1) / n);
  return excess;
}

double deviation_of_others(const std::vector<RankExcess>& excesses, std::size_t left_out) {
  std::vector<double> others;
  for (std::size_t at = 0; at < excesses.size(); ++at) {
    if (at != left_out) { others.push_back(excesses[at].mean); }
  }
  return kMadToDeviation * median_deviation(std::move(others));
}

}  // namespace

std::vector<std::vector<std::size_t>> groups_of(const StepTimes& times) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) {
    const auto [place, is_new] = places.emplace(times.ranks()[rank].group, groups.size());
    if (is_new) { groups.emplace_back(); }
    groups[place->second].push_back(rank);
  }
  return groups;
}

std::vector<RankExcess> excesses_of(const StepTimes& times, const std::vector<std::size_t>& group) {
  const std::vector<std::vector<double>> windows = window_excesses(times, group);
  std::vector<RankExcess> excesses;
  for (std::size_t at = 0; at < group.size(); ++at) { excesses.push_back(excess_over(windows, at)); }
  for (std::size_t at = 0; at < group.size(); ++at) {
    RankExcess& each = excesses[at];
    // The others' is looked for only where it can decide: of 100 000 ranks nearly all are done here.
    each.slow = each.mean > kLeastExcess && each.mean > kStandardErrors * each.standard_error &&
                each.positive >= kLeastPositive;
    if (!each.slow || group.size() < kRanksForDeviation) { continue; }
    each.others_deviation = deviation_of_others(excesses, at);
    each.slow = each.mean > kDeviations * each.others_deviation;
  }
  return excesses;
}

}  // namespace detail
TAKT_END_NAMESPACE
