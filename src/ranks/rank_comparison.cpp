// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_comparison.hpp"

#include "base/statistics.hpp"
#include "ranks/job_efficiency.hpp"
#include "ranks/rank_steps.hpp"
#include "ranks/verdict.hpp"

#include <takt/detail/memory.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

RankComparison compare_ranks(const std::vector<RankOfJob>& ranks) {
  RankComparison comparison;
  const ComparedSteps compared = step_times_of(ranks);
  const StepTimes& times = compared.times;
  if (times.ranks().empty()) { return comparison; }  // no rank has steps, or none were requested
  for (RankVerdict& each : verdicts_of(times)) { comparison.findings.push_back(std::move(each.finding)); }
  std::vector<JobRank> who;
  who.reserve(ranks.size());
  for (const RankOfJob& each : ranks) { who.push_back(each.who); }
  comparison.efficiency = efficiency_of(times);
  if (reports_waits(times)) { comparison.pipeline = pipeline_of(times, who); }
  comparison.steps = times.steps();
  comparison.one_step_in = compared.every;
  comparison.left_out = compared.left_out;
  comparison.unexposed = compared.unexposed;
  return comparison;
}

namespace {

using RegionPlaces = std::map<JobRegion, std::size_t>;

/// Returns the path at which the most ranks have their main series. Ties go to the path with more steps, then to the
/// first by name, so the order of ranks does not matter.
std::string main_place(const std::vector<RankOfJob>& ranks) {
  struct Votes {
    std::size_t ranks = 0;
    std::uint64_t rows = 0;
  };
  std::map<std::string, Votes> votes;
  for (const RankOfJob& each : ranks) {
    const RankSteps::Batches* const main = each.steps->main_batches();
    if (main == nullptr) { continue; }
    Votes& here = votes[main->path];
    ++here.ranks;
    here.rows = bounded_sum(here.rows, main->rows);
  }
  const auto max = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.ranks, a.second.rows) < std::tie(b.second.ranks, b.second.rows);
  });
  return max == votes.end() ? "" : max->first;
}

/// Maps a rank's regions to indices into `all`, adding new ones.
std::vector<std::size_t> match_regions(const std::vector<JobRegion>& of_rank, RegionPlaces& places,
                                       std::vector<JobRegion>& all) {
  std::vector<std::size_t> matched;
  for (const JobRegion& each : of_rank) {
    const auto [place, is_new] = places.emplace(each, all.size());
    if (is_new) { all.push_back(each); }
    matched.push_back(place->second);
  }
  return matched;
}

/// Returns the numbers of the steps that all ranks have.
std::vector<std::int64_t> common_steps(const std::vector<const RankSteps::Batches*>& all) {
  std::vector<std::int64_t> common;
  if (all.empty()) { return common; }
  const auto min = std::min_element(all.begin(), all.end(),
                                    [](const auto* a, const auto* b) { return a->steps.size() < b->steps.size(); });
  for (const auto& [number, step] : (*min)->steps) {
    const bool everywhere =
        std::all_of(all.begin(), all.end(), [n = number](const auto* each) { return each->steps.count(n) != 0; });
    if (everywhere) { common.push_back(number); }
  }
  return common;
}

/// Thins `steps` to at most `max` by doubling the stride. Returns the final stride.
std::uint64_t thin_steps(std::vector<std::int64_t>& steps, std::size_t max, std::uint64_t stride) {
  while (steps.size() > max && stride < RankSteps::kMaxStride) {
    stride *= 2;
    const auto is_left_out = [&](std::int64_t number) { return !is_kept_step(number, stride); };
    steps.erase(std::remove_if(steps.begin(), steps.end(), is_left_out), steps.end());
  }
  steps.resize(std::min(steps.size(), max));
  return stride;
}

/// Stream data counts only if every rank has it.
bool all_report_exposed(const std::vector<const RankSteps::Batches*>& batches, std::int64_t number) {
  return std::all_of(batches.begin(), batches.end(), [number](const auto* each) {
    return each->steps.at(number).exposed_ns != RankSteps::Step::kUnknown;
  });
}

}  // namespace

ComparedSteps step_times_of(const std::vector<RankOfJob>& ranks, std::size_t max_values) {
  const std::string path = main_place(ranks);
  std::vector<JobRank> who;
  std::vector<JobRegion> regions;
  RegionPlaces region_places;
  std::vector<const RankSteps::Batches*> batches;
  std::vector<std::vector<std::size_t>> places;
  std::uint64_t every = 1;
  for (const RankOfJob& each : ranks) {
    const RankSteps::Batches* const at_path = each.steps->batches_at(path);
    if (at_path == nullptr) { continue; }
    who.push_back(each.who);
    batches.push_back(at_path);
    places.push_back(match_regions(each.steps->regions(), region_places, regions));
    every = std::max(every, each.steps->stride());
  }
  std::vector<std::int64_t> steps = common_steps(batches);
  every =
      thin_steps(steps, max_values / (StepTimes::layers(regions.size()) * std::max<std::size_t>(who.size(), 1)), every);
  std::vector<bool> reports;
  reports.reserve(steps.size());
  for (const std::int64_t number : steps) { reports.push_back(all_report_exposed(batches, number)); }
  const auto unexposed = static_cast<std::size_t>(std::count(reports.begin(), reports.end(), false));
  StepTimes times(std::move(who), std::move(regions), steps.size());
  for (std::size_t rank = 0; rank < batches.size(); ++rank) {
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const RankSteps::Step& step = batches[rank]->steps.at(steps[at]);
      times.step_ns(rank, at) = step.ns;
      if (reports[at]) { times.exposed_ns(rank, at) = static_cast<std::uint64_t>(step.exposed_ns); }
      for (const auto& [region, ns] : step.regions) {
        std::uint64_t& sum = times.region_ns(places[rank][region], rank, at);
        sum = bounded_sum(sum, ns);
      }
    }
  }
  return {std::move(times), every, ranks.size() - batches.size(), unexposed, std::move(steps)};
}

namespace {

constexpr double kMinExcess = 0.03;
constexpr double kStandardErrors = 6;
constexpr double kDeviations = 4;
constexpr double kShareOfSlowest = 0.5;
constexpr std::size_t kRanksForDeviation = 8;  // fewer ranks do not show how ranks vary
constexpr std::size_t kMinPositive = 8;        // of ten; with fewer, no mean reaches six standard errors

/// Indexed by window, then by position in the group.
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
      // If the others only wait, use the share of the step.
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
    // Computes the others' deviation only if it can decide: most of 100,000 ranks are done here.
    each.slow =
        each.mean > kMinExcess && each.mean > kStandardErrors * each.standard_error && each.positive >= kMinPositive;
    if (!each.slow || group.size() < kRanksForDeviation) { continue; }
    each.others_deviation = deviation_of_others(excesses, at);
    each.slow = each.mean > kDeviations * each.others_deviation;
  }
  double slowest = 0;
  for (const RankExcess& each : excesses) { slowest = std::max(slowest, each.slow ? each.mean : 0); }
  for (RankExcess& each : excesses) { each.slow = each.slow && each.mean >= kShareOfSlowest * slowest; }
  return excesses;
}

namespace {

constexpr double kWorthMore = 0.03;    // minimum share of the busy time, as for a rank's excess
constexpr double kWorthSaying = 0.01;  // minimum share of the job's time; ranks may be busy for only a small part of it
constexpr double kTimesNoise = 2;
constexpr double kHalfPi = 1.5707963267948966;

/// Returns the standard deviation of the logarithm of busy time within a window, pooled over ranks. Each rank is
/// compared with the median of the others, which cancels effects common to all. Effects that last for a window do not
/// contribute, and bursts hardly do.
double log_noise(const StepTimes& times, const std::vector<std::size_t>& group) {
  std::vector<std::vector<double>> differences(group.size());  // by rank, then by step
  for (std::size_t step = 0; step < times.steps(); ++step) {
    std::vector<double> busy;
    busy.reserve(group.size());
    for (const std::size_t rank : group) {
      busy.push_back(std::log(static_cast<double>(std::max<std::uint64_t>(times.busy_ns(rank, step), 1))));
    }
    const std::vector<double> others = medians_of_others(busy);
    for (std::size_t at = 0; at < group.size(); ++at) { differences[at].push_back(busy[at] - others[at]); }
  }
  std::vector<double> distances;
  for (const std::vector<double>& each : differences) {
    const std::vector<double> found = window_distances(each);
    distances.insert(distances.end(), found.begin(), found.end());
  }
  // The others' median has noise, too: pi / 2 / m for many values, all of it for one.
  const double others = kHalfPi / (static_cast<double>(group.size()) - 2 + kHalfPi);
  return kMadToDeviation * median(std::move(distances)) / std::sqrt(1 + others);
}

/// Returns the standard normal quantile for `share` from 0.5 to 1: Abramowitz and Stegun 26.2.23, within 4.5e-4.
double normal_quantile(double share) {
  const double t = std::sqrt(-2 * std::log(1 - share));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/// Returns the expected maximum of `count` standard normal values by Blom's approximation.
double largest_of(std::size_t count) {
  const auto n = static_cast<double>(count);
  return normal_quantile((n - 0.375) / (n + 0.25));
}

}  // namespace

bool Imbalance::exceeds_noise() const noexcept {
  const double more = ns - noise_ns;
  return ns > kTimesNoise * noise_ns && more > kWorthMore * busy_ns && more > kWorthSaying * job_ns;
}

Imbalance imbalance_of(const StepTimes& times, const std::vector<std::size_t>& group) {
  Imbalance imbalance;
  imbalance.job_ns = times.job_ns();
  std::vector<std::size_t> slowest(group.size());
  for (std::size_t step = 0; step < times.steps(); ++step) {
    std::vector<double> busy;
    busy.reserve(group.size());
    for (const std::size_t rank : group) { busy.push_back(static_cast<double>(times.busy_ns(rank, step))); }
    const auto max = std::max_element(busy.begin(), busy.end());
    ++slowest[static_cast<std::size_t>(max - busy.begin())];
    const double largest = *max;
    const double middle = median(std::move(busy));
    imbalance.ns += largest - middle;
    imbalance.busy_ns += middle;
  }
  const auto often = std::max_element(slowest.begin(), slowest.end());
  imbalance.slowest = group[static_cast<std::size_t>(often - slowest.begin())];
  imbalance.slowest_steps = *often;
  imbalance.noise_ns = imbalance.busy_ns * (std::exp(log_noise(times, group) * largest_of(group.size())) - 1);
  return imbalance;
}

}  // namespace detail
TAKT_END_NAMESPACE
