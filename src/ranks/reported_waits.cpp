// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/reported_waits.hpp"

#include "base/statistics.hpp"
#include "ranks/rank_steps.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kMinShare = 0.03;
constexpr double kMinErrors = 6;
constexpr std::size_t kMinAgree = 8;  // of ten windows

/// Mean excess of each rank in a region over the others, per step; 0 if it does not last.
class LongerRanks {
 public:
  LongerRanks(std::size_t ranks, double min_ns) : min_ns_(min_ns), sums_(ranks), squares_(ranks), above_(ranks) {}

  void add_window(const std::vector<double>& medians) {
    const std::vector<double> others = medians_of_others(medians);
    for (std::size_t at = 0; at < medians.size(); ++at) {
      const double longer = medians[at] - others[at];
      sums_[at] += longer;
      squares_[at] += longer * longer;
      above_[at] += longer > 0 ? 1 : 0;
    }
  }
  double lasting_ns(std::size_t at) const noexcept {
    constexpr auto n = static_cast<double>(kStepWindows);
    const double mean = sums_[at] / n;
    const double error = std::sqrt(std::max(squares_[at] - n * mean * mean, 0.0) / (n - 1) / n);
    const std::size_t agree = mean > 0 ? above_[at] : kStepWindows - above_[at];
    const double max = std::fabs(mean);
    return max > min_ns_ && max > kMinErrors * error && agree >= kMinAgree ? mean : 0;
  }

 private:
  double min_ns_;
  std::vector<double> sums_;
  std::vector<double> squares_;
  std::vector<std::size_t> above_;
};

template <class Value>
LongerRanks longer_ranks(const StepTimes& times, const std::vector<std::size_t>& group, double min_ns, Value value) {
  std::vector<std::vector<double>> windows(kStepWindows, std::vector<double>(group.size()));
  for (std::size_t at = 0; at < group.size(); ++at) {
    std::vector<double> by_step;
    by_step.reserve(times.steps());
    for (std::size_t step = 0; step < times.steps(); ++step) {
      by_step.push_back(static_cast<double>(value(group[at], step)));
    }
    const std::vector<double> medians = window_medians(by_step);
    for (std::size_t window = 0; window < kStepWindows; ++window) { windows[window][at] = medians[window]; }
  }
  LongerRanks longer(group.size(), min_ns);
  for (const std::vector<double>& each : windows) { longer.add_window(each); }
  return longer;
}

bool has_waited(const StepTimes& times, std::size_t rank) noexcept {
  for (std::size_t step = 0; step < times.steps(); ++step) {
    if (times.busy_ns(rank, step) < times.step_ns(rank, step)) { return true; }
  }
  return false;
}

/// Returns the median busy time of a step.
double usual_busy_ns(const StepTimes& times, const std::vector<std::size_t>& group) {
  std::vector<double> medians;
  medians.reserve(group.size());
  for (const std::size_t rank : group) { medians.push_back(median(times.busy_by_step(rank))); }
  return median(std::move(medians));
}

}  // namespace

bool reports_waits(const StepTimes& times) noexcept {
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) {
    if (has_waited(times, rank)) { return true; }
  }
  return false;
}

bool reports_waits(const StepTimes& times, const std::vector<std::size_t>& group) noexcept {
  return std::any_of(group.begin(), group.end(), [&times](std::size_t rank) { return has_waited(times, rank); });
}

HiddenWait hidden_wait_of(const StepTimes& times, const std::vector<std::size_t>& group) {
  const double min_ns = kMinShare * usual_busy_ns(times, group);
  std::vector<std::string> names = {""};
  std::vector<LongerRanks> regions = {
      longer_ranks(times, group, min_ns, [&](auto rank, auto step) { return times.rest_ns(rank, step); })};
  for (std::size_t region = 0; region < times.regions().size(); ++region) {
    const JobRegion& each = times.regions()[region];
    if (each.waits() || each.on_stream) { continue; }
    names.push_back(each.name);
    regions.push_back(
        longer_ranks(times, group, min_ns, [&](auto rank, auto step) { return times.region_ns(region, rank, step); }));
  }
  HiddenWait hidden;
  for (std::size_t at = 0; at < group.size(); ++at) {
    for (std::size_t longer = 0; longer < regions.size(); ++longer) {
      const double ns = regions[longer].lasting_ns(at);
      if (ns <= hidden.ns) { continue; }
      const auto shorter = std::min_element(
          regions.begin(), regions.end(),
          [at](const LongerRanks& a, const LongerRanks& b) { return a.lasting_ns(at) < b.lasting_ns(at); });
      const double others_ns = -shorter->lasting_ns(at);
      if (others_ns < ns / 2) { continue; }
      hidden = {group[at], names[longer], ns, names[static_cast<std::size_t>(shorter - regions.begin())], others_ns};
    }
  }
  return hidden;
}

}  // namespace detail
TAKT_END_NAMESPACE
