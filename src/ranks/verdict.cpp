// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/verdict.hpp"

#include "base/format.hpp"
#include "base/sorted_by.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "ranks/rank_steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kUsualWindowDeviations = 2.5;
/// Half the width of a 95 % interval, in standard errors: Student's t with kStepWindows - 1 degrees of freedom.
constexpr double kHalfInterval = 2.262;

/// The slow ranks and the others.
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

/// Returns for each step the excess of the slow ranks over the others, each side by its median. `value` is called with
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

/// Caps outliers on both sides at the usual range, because a few extremely long steps would dominate the sum. Times
/// without noise stay unchanged.
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

/// The interval comes from windows because the noise of consecutive steps is correlated.
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
    // Window lengths differ by a step; each counts as a tenth of the run.
    sum *= static_cast<double>(counted.size()) / n / static_cast<double>(steps.steps());
    squares += (sum - cost.ns / n) * (sum - cost.ns / n);
  }
  const double half = kHalfInterval * std::sqrt(squares / (n - 1) * n);
  cost.low_ns = cost.ns - half;
  cost.high_ns = cost.ns + half;
  cost.share = job_ns > 0 ? cost.ns / job_ns : 0;
  return cost;
}

/// Returns the lasting part of the difference over all steps, without outliers.
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

/// Finds the busy region with the largest excess and the waiting region that is shortest in comparison.
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

/// Returns true if the slow ranks are one host's.
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
  } else if (times.steps() < kMinComparedSteps) {
    verdict.state = RanksAre::too_short;
  } else {
    verdict.excesses = excesses_of(times, group);
    verdict.imbalance = imbalance_of(times, group);
    const bool slowed =
        std::any_of(verdict.excesses.begin(), verdict.excesses.end(), [](const RankExcess& each) { return each.slow; });
    verdict.reports_waits = reports_waits(times, group);
    if (slowed) {
      verdict.state = RanksAre::slowed;
      verdict.slowdown = slowdown_of(times, verdict);
    } else if (!verdict.reports_waits || verdict.imbalance.busy_ns <= 0) {
      verdict.state = RanksAre::unreported;
    } else if (verdict.imbalance.exceeds_noise()) {
      verdict.state = RanksAre::imbalanced;
    } else {
      verdict.hidden = hidden_wait_of(times, group);
      verdict.state = verdict.hidden.ns > 0 ? RanksAre::unreported : RanksAre::alike;
    }
  }
  verdict.finding = finding_of(times, verdict);
  return verdict;
}

/// Sort key: slow ranks by cost, then imbalance, then the rest.
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

namespace {

constexpr std::size_t kMaxNamedRanks = 8;  // more are only counted
constexpr std::size_t kNameColumns = 60;

std::string shown(const std::string& name) { return fit_end(printable(name), kNameColumns); }

/// "rank 2 (host n0123)", "host n0123 (ranks 4, 5, 6 and 7)", "ranks 2 and 9".
std::string who(const StepTimes& times, const SlowRank& slowdown) {
  const std::vector<std::size_t>& ranks = slowdown.ranks;
  const std::string host = shown(times.ranks()[ranks.front()].host);
  std::string numbers;
  const std::size_t named = ranks.size() > kMaxNamedRanks ? kMaxNamedRanks - 1 : ranks.size();
  for (std::size_t at = 0; at < named; ++at) {
    const bool last = at + 1 == ranks.size();
    numbers += detail::format("{}{}", at == 0 ? "" : last ? " and " : ", ", times.ranks()[ranks[at]].number);
  }
  if (named < ranks.size()) { numbers += detail::format(" and {} more", ranks.size() - named); }
  if (slowdown.whole_host) { return detail::format("host {} (ranks {})", host, numbers); }
  if (ranks.size() > 1) { return "ranks " + numbers; }
  return "rank " + numbers + (host.empty() ? "" : " (host " + host + ")");
}

std::string of_group(const RankVerdict& verdict) { return verdict.group.empty() ? "" : " of " + shown(verdict.group); }

std::string slow_sentence(const StepTimes& times, const RankVerdict& verdict) {
  const SlowRank& slow = verdict.slowdown;
  const bool several = slow.ranks.size() > 1 && !slow.whole_host;
  const std::string region = slow.region.empty() ? "time outside regions" : shown(slow.region);
  const char* const plural = several ? "" : "s";
  // Only reported waits show that the others wait for it.
  const std::string does = verdict.reports_waits
                               ? detail::format("make{} the others{} wait", plural, of_group(verdict))
                               : detail::format("take{} longer than the others{}", plural, of_group(verdict));
  std::string text = detail::format("{} {}: {} takes {} longer than elsewhere in {} of {} steps; {} of {}.",
                                    who(times, slow), does, region, human_time(slow.longer_ns), slow.longer_steps,
                                    times.steps(), human_time(slow.cost.ns), human_time(times.job_ns()));
  if (!slow.others_wait_in.empty()) { text += detail::format(" The others wait in {}.", shown(slow.others_wait_in)); }
  return text;
}

std::string imbalance_sentence(const StepTimes& times, const RankVerdict& verdict) {
  const Imbalance& imbalance = verdict.imbalance;
  return detail::format(
      "the ranks{} take turns: each step waits for its slowest rank, {} of {} in total (noise alone: about "
      "{}), and no rank is slowest "
      "for long. Rank {} is slowest most often, in {} of {} steps.",
      of_group(verdict), human_time(imbalance.ns), human_time(times.job_ns()), human_time(imbalance.noise_ns),
      times.ranks()[imbalance.slowest].number, imbalance.slowest_steps, times.steps());
}

/// Returns the position in the verdict's ranks of the largest excess.
std::size_t busiest(const RankVerdict& verdict) {
  const auto max = std::max_element(verdict.excesses.begin(), verdict.excesses.end(),
                                    [](const RankExcess& a, const RankExcess& b) { return a.mean < b.mean; });
  return static_cast<std::size_t>(max - verdict.excesses.begin());
}

std::string alike_sentence(const StepTimes& times, const RankVerdict& verdict) {
  const std::size_t at = busiest(verdict);
  return detail::format(
      "the ranks{} are alike (the busiest, rank {}, has an excess of {:.1f} % +/- {:.1f} %, {} steps)",
      of_group(verdict), times.ranks()[verdict.ranks[at]].number, 100 * std::max(verdict.excesses[at].mean, 0.0),
      100 * verdict.excesses[at].standard_error, times.steps());
}

std::string unreported_sentence(const StepTimes& times, const RankVerdict& verdict) {
  constexpr const char* kCure = "Add a takt::Comm Scope around code that waits for other ranks";
  if (verdict.imbalance.busy_ns <= 0) {
    return detail::format("the ranks{} are not compared: most of them only waited", of_group(verdict));
  }
  if (!verdict.reports_waits) {
    return detail::format(
        "waits between ranks{} are unknown: no step has a region of kind comm or wait, and ranks that wait for each "
        "other have equally long steps. {}",
        verdict.group.empty() ? "" : " in " + shown(verdict.group), kCure);
  }
  const auto name = [](const std::string& region) { return region.empty() ? "time outside regions" : shown(region); };
  const HiddenWait& hidden = verdict.hidden;
  return detail::format(
      "waits between ranks{} are unknown: {} takes {} longer on rank {}, and {} {} less, so the others may wait "
      "there. {}",
      verdict.group.empty() ? "" : " in " + shown(verdict.group), name(hidden.region), human_time(hidden.ns),
      times.ranks()[hidden.rank].number, name(hidden.others), human_time(hidden.others_ns), kCure);
}

std::string sentence_of(const StepTimes& times, const RankVerdict& verdict) {
  switch (verdict.state) {
    case RanksAre::slowed:
      return slow_sentence(times, verdict);
    case RanksAre::imbalanced:
      return imbalance_sentence(times, verdict);
    case RanksAre::alike:
      return alike_sentence(times, verdict);
    case RanksAre::unreported:
      return unreported_sentence(times, verdict);
    case RanksAre::too_short:
      return detail::format("the ranks{} are not compared: {} steps are too few, {} are needed", of_group(verdict),
                            times.steps(), kMinComparedSteps);
    case RanksAre::alone:
      break;
  }
  return detail::format("rank {} is not compared: it is the only one{}", times.ranks()[verdict.ranks.front()].number,
                        of_group(verdict));
}

const char* id_of_verdict(const RankVerdict& verdict) {
  switch (verdict.state) {
    case RanksAre::slowed:
      return verdict.slowdown.whole_host ? "slow_host" : verdict.slowdown.ranks.size() > 1 ? "slow_ranks" : "slow_rank";
    case RanksAre::imbalanced:
      return "imbalance";
    case RanksAre::alike:
      return "ranks_alike";
    case RanksAre::unreported:
      return "waits_untold";
    case RanksAre::too_short:
      return "too_few_steps";
    case RanksAre::alone:
      break;
  }
  return "lone_rank";
}

void add_excess(const StepTimes& times, const RankVerdict& verdict, std::size_t at, Finding& finding) {
  const RankExcess& excess = verdict.excesses[at];
  finding.evidence.push_back({"rank", static_cast<double>(times.ranks()[verdict.ranks[at]].number), ""});
  finding.evidence.push_back({"mean_excess", excess.mean, ""});
  finding.evidence.push_back({"standard_error", excess.standard_error, ""});
  finding.evidence.push_back({"positive_windows", static_cast<double>(excess.positive), "windows"});
}

}  // namespace

Finding finding_of(const StepTimes& times, const RankVerdict& verdict) {
  Finding finding;
  finding.what = id_of_verdict(verdict);
  finding.sentence = sentence_of(times, verdict);
  finding.evidence = {{"ranks", static_cast<double>(verdict.ranks.size()), "ranks"},
                      {"steps", static_cast<double>(times.steps()), "steps"}};
  if (verdict.state == RanksAre::too_short) {
    finding.evidence.push_back({"steps_needed", static_cast<double>(kMinComparedSteps), "steps"});
  }
  if (verdict.state == RanksAre::alone) {
    finding.evidence.push_back({"rank", static_cast<double>(times.ranks()[verdict.ranks.front()].number), ""});
  }
  if (verdict.excesses.empty()) { return finding; }
  finding.evidence.push_back({"imbalance", verdict.imbalance.ns, "ns"});
  finding.evidence.push_back({"imbalance_of_noise", verdict.imbalance.noise_ns, "ns"});
  finding.evidence.push_back({"time_of_steps", times.job_ns(), "ns"});
  if (verdict.state == RanksAre::imbalanced) {
    finding.evidence.push_back(
        {"slowest_rank", static_cast<double>(times.ranks()[verdict.imbalance.slowest].number), ""});
    finding.evidence.push_back({"slowest_in_steps", static_cast<double>(verdict.imbalance.slowest_steps), "steps"});
  }
  if (verdict.state == RanksAre::unreported && verdict.reports_waits && verdict.imbalance.busy_ns > 0) {
    finding.evidence.push_back({"rank", static_cast<double>(times.ranks()[verdict.hidden.rank].number), ""});
    finding.evidence.push_back({"longer", verdict.hidden.ns, "ns"});
    finding.evidence.push_back({"shorter", verdict.hidden.others_ns, "ns"});
    return finding;
  }
  if (verdict.state != RanksAre::slowed) {
    add_excess(times, verdict, busiest(verdict), finding);
    return finding;
  }
  finding.evidence.push_back({"longer_in_region", verdict.slowdown.longer_ns, "ns"});
  finding.evidence.push_back({"longer_steps", static_cast<double>(verdict.slowdown.longer_steps), "steps"});
  for (std::size_t at = 0; at < verdict.ranks.size(); ++at) {
    if (verdict.excesses[at].slow) { add_excess(times, verdict, at, finding); }
  }
  finding.cost = verdict.slowdown.cost;
  return finding;
}

}  // namespace detail
TAKT_END_NAMESPACE
