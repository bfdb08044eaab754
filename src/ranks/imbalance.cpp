// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/imbalance.hpp"

#include "base/median.hpp"
#include "ranks/step_window.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kWorthMore = 0.03;    // of the busy time, as for a rank's excess
constexpr double kWorthSaying = 0.01;  // of the time of the job, of which ranks may be busy for a small part
constexpr double kTimesNoise = 2;
constexpr double kHalfPi = 1.5707963267948966;

/// Standard deviation of the logarithm of a rank's busy time within a window, of all ranks together. It comes from how
/// each differs from the median of the others, in which what all of them meet in a step falls away; what lasts for a
/// window adds nothing, and bursts hardly do.
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
  // The others' median has noise, too: pi / 2 / m of many values, and all of it of one.
  const double others = kHalfPi / (static_cast<double>(group.size()) - 2 + kHalfPi);
  return kMadToDeviation * median(std::move(distances)) / std::sqrt(1 + others);
}

/// The quantile of the standard normal distribution for `share` from 0.5 to 1: Abramowitz and Stegun 26.2.23, within
/// 4.5e-4.
double normal_quantile(double share) {
  const double t = std::sqrt(-2 * std::log(1 - share));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/// The largest of `count` standard normal values, on average, by Blom's approximation.
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
    const auto most = std::max_element(busy.begin(), busy.end());
    ++slowest[static_cast<std::size_t>(most - busy.begin())];
    const double largest = *most;
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
