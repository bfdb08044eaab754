// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/verdict.hpp"

#include "base/median.hpp"
#include "base/sorted_by.hpp"
#include "ranks/step_window.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kUsualWindowDeviations = 2.5;
/// Half the width of a 95 % interval in standard errors, by Student's t with kStepWindows - 1 degrees of freedom.
constexpr double kHalfInterval = 2.262;

/// The ranks that are slow, and those that they are compared with.
struct Sides {
  std::vector<std::size_t> slow;
  std::vector<std::size_t> others;
};

Sides sides_of(const RankVerdict& verdict) {
  Sides sides;
  for (std::size_t at = 0; at < verdict.ranks.size(); ++at) {
    (verdict.excesses[at].slow ? sides.slow : sides.others).push_back(verdict.ranks[at]);
  }
  return sides;
}

template <class Value>
double median_over(const std::vector<std::size_t>& ranks, Value value) {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const std::size_t rank : ranks) { values.push_back(static_cast<double>(value(rank))); }
  return median(std::move(values));
}

/// By step: by how much the slow ranks take longer than the others, each side by its median. `value` is called with
/// rank and step.
template <class Value>
std::vector<double> differences(const StepTimes& times, const Sides& sides, Value value) {
  std::vector<double> longer;
  for (std::size_t step = 0; step < times.steps(); ++step) {
    const auto here = [&](std::size_t rank) { return value(rank, step); };
    longer.push_back(median_over(sides.slow, here) - median_over(sides.others, here));
  }
  return longer;
}

/// Where something else strikes a step, of either side, it counts with what is usual at most: single steps of many
/// times the length would make the sum one of chance. Times without any noise stay as they are.
std::vector<double> usual(std::vector<double> longer) {
  const std::vector<double> medians = window_medians(longer);
  const double bound = kUsualWindowDeviations * kMadToDeviation * median(window_distances(longer));
  if (bound <= 0) { return longer; }
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, longer.size());
    for (std::size_t step = steps.first; step < steps.last; ++step) {
      longer[step] = std::clamp(longer[step], medians[window] - bound, medians[window] + bound);
    }
  }
  return longer;
}

/// The interval comes from windows: the noise of steps that follow each other is alike.
Cost cost_of(const std::vector<double>& longer, double job_ns) {
  constexpr auto n = static_cast<double>(kStepWindows);
  const std::vector<double> counted = usual(longer);
  Cost cost;
  for (const double each : counted) { cost.ns += each; }
  double squares = 0;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, counted.size());
    double sum = 0;
    for (std::size_t step = steps.first; step < steps.last; ++step) { sum += counted[step]; }
    // Windows differ by a step in length; each speaks for a tenth of the run.
    sum *= static_cast<double>(counted.size()) / n / static_cast<double>(steps.steps());
    squares += (sum - cost.ns / n) * (sum - cost.ns / n);
  }
  const double half = kHalfInterval * std::sqrt(squares / (n - 1) * n);
  cost.low_ns = cost.ns - half;
  cost.high_ns = cost.ns + half;
  cost.share = job_ns > 0 ? cost.ns / job_ns : 0;
  return cost;
}

/// What lasts in all steps together, without those in which something else struck.
double lasting(const std::vector<double>& longer) {
  double sum = 0;
  for (const double each : window_medians(longer)) { sum += each; }
  return sum;
}

void note_region(SlowRank& slowdown, const std::string& name, const std::vector<double>& longer) {
  slowdown.region = name;
  slowdown.longer_ns = median(longer);
  slowdown.longer_steps =
      static_cast<std::size_t>(std::count_if(longer.begin(), longer.end(), [](double each) { return each > 0; }));
}

/// The busy region that is longer by most time, and the waiting one that is shorter by most.
void find_regions(const StepTimes& times, const Sides& sides, SlowRank& slowdown) {
  const std::vector<double> rest =
      differences(times, sides, [&](std::size_t rank, std::size_t step) { return times.rest_ns(rank, step); });
  note_region(slowdown, "", rest);
  double longest = lasting(rest);
  double shortest = 0;
  for (std::size_t region = 0; region < times.regions().size(); ++region) {
    const JobRegion& each = times.regions()[region];
    const std::vector<double> longer = differences(
        times, sides, [&](std::size_t rank, std::size_t step) { return times.region_ns(region, rank, step); });
    const double lasts = lasting(longer);
    if (each.waits() && lasts < shortest) {
      shortest = lasts;
      slowdown.others_wait_in = each.label();
    }
    if (!each.waits() && lasts > longest) {
      longest = lasts;
      note_region(slowdown, each.label(), longer);
    }
  }
}

/// Whether the slow ranks are a host rather than ranks of their own.
bool is_whole_host(const StepTimes& times, const std::vector<std::size_t>& group,
                   const std::vector<std::size_t>& slow) {
  const std::string& host = times.ranks()[slow.front()].host;
  const auto on_host = [&](std::size_t rank) { return times.ranks()[rank].host == host; };
  const auto here = static_cast<std::size_t>(std::count_if(group.begin(), group.end(), on_host));
  return slow.size() > 1 && std::all_of(slow.begin(), slow.end(), on_host) && 2 * slow.size() > here &&
         here < group.size();
}

SlowRank slowdown_of(const StepTimes& times, const RankVerdict& verdict) {
  const Sides sides = sides_of(verdict);
  SlowRank slowdown;
  slowdown.ranks = sides.slow;
  slowdown.whole_host = is_whole_host(times, verdict.ranks, sides.slow);
  find_regions(times, sides, slowdown);
  slowdown.cost =
      cost_of(differences(times, sides, [&](std::size_t rank, std::size_t step) { return times.busy_ns(rank, step); }),
              times.job_ns());
  return slowdown;
}

RankVerdict verdict_of(const StepTimes& times, const std::vector<std::size_t>& group) {
  RankVerdict verdict;
  verdict.group = times.ranks()[group.front()].group;
  verdict.ranks = group;
  if (group.size() < 2) {
    verdict.state = RanksAre::alone;
  } else if (times.steps() < kLeastSteps) {
    verdict.state = RanksAre::too_short;
  } else {
    verdict.excesses = excesses_of(times, group);
    verdict.imbalance = imbalance_of(times, group);
    const bool slowed =
        std::any_of(verdict.excesses.begin(), verdict.excesses.end(), [](const RankExcess& each) { return each.slow; });
    verdict.tells_waits = tells_waits(times, group);
    if (slowed) {
      verdict.state = RanksAre::slowed;
      verdict.slowdown = slowdown_of(times, verdict);
    } else if (!verdict.tells_waits || verdict.imbalance.busy_ns <= 0) {
      verdict.state = RanksAre::untold;
    } else if (verdict.imbalance.exceeds_noise()) {
      verdict.state = RanksAre::imbalanced;
    } else {
      verdict.hidden = hidden_wait_of(times, group);
      verdict.state = verdict.hidden.ns > 0 ? RanksAre::untold : RanksAre::alike;
    }
  }
  verdict.finding = finding_of(times, verdict);
  return verdict;
}

/// What stands first: slow ranks, the dearest first, then imbalance, then all else.
std::pair<int, double> order_of_verdict(const RankVerdict& verdict) {
  if (verdict.state == RanksAre::slowed) { return {0, -verdict.slowdown.cost.ns}; }
  if (verdict.state == RanksAre::imbalanced) { return {1, -verdict.imbalance.ns}; }
  return {2, 0};
}

}  // namespace

std::vector<RankVerdict> verdicts_of(const StepTimes& times) {
  std::vector<RankVerdict> verdicts;
  for (const std::vector<std::size_t>& group : groups_of(times)) { verdicts.push_back(verdict_of(times, group)); }
  return sorted_by(std::move(verdicts), order_of_verdict);
}

}  // namespace detail
TAKT_END_NAMESPACE
