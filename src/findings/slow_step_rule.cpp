// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/slow_step_rule.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "findings/rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// With fewer distances, equal lengths may be chance.
constexpr std::uint64_t kMinEqualGaps = 3;
constexpr std::uint64_t kMinAlikeGaps = 5;
constexpr double kMaxOfGaps = 0.9;
constexpr double kAlike = 0.05;

}  // namespace

StepGaps gaps_of(const SlowSteps& slow) {
  StepGaps gaps;
  const std::uint64_t all = slow.steps() - (slow.steps() == 0 ? 0 : 1);
  std::uint64_t below = 0;
  for (const auto& [length, count] : slow.gaps()) {
    below += count;
    gaps.length = length;
    if (2 * below >= all) { break; }
  }
  std::uint64_t equal = 0;
  std::uint64_t alike = 0;
  const auto middle = static_cast<double>(gaps.length);
  for (const auto& [length, count] : slow.gaps()) {
    equal += length == gaps.length ? count : 0;
    alike += std::fabs(static_cast<double>(length) - middle) <= kAlike * middle ? count : 0;
  }
  const double max = kMaxOfGaps * static_cast<double>(all);
  // Consecutive slow steps are one slow phase, not a rhythm.
  if (gaps.length < 2) { return gaps; }
  if (all >= kMinEqualGaps && static_cast<double>(equal) >= max) {
    gaps.are = StepGaps::Are::equal;
  } else if (all >= kMinAlikeGaps && static_cast<double>(alike) >= max) {
    gaps.are = StepGaps::Are::alike;
  }
  return gaps;
}

namespace {

/// Slow steps that are reported together.
struct SlowGroup {
  std::uint64_t steps = 0;
  double excess_ns = 0;
  double squares = 0;  ///< sum of squared excesses
  double ratios = 0;
  std::int64_t worst_step = 0;
  double worst_ns = 0;
  std::uint32_t path = 0;  ///< path with the largest part of the excess
  double path_ns = 0;      ///< that part

  void add(std::uint32_t where, const SlowSteps& slow) {
    const auto ns = static_cast<double>(slow.excess_ns());
    steps += slow.steps();
    excess_ns += ns;
    squares += slow.excess_squares();
    ratios += slow.mean_ratio() * static_cast<double>(slow.steps());
    if (ns > path_ns) { std::tie(path, path_ns) = std::make_pair(where, ns); }
    const auto worst = static_cast<double>(slow.worst_excess_ns());
    if (worst > worst_ns) { std::tie(worst_step, worst_ns) = std::make_pair(slow.worst_step(), worst); }
  }
  double ratio() const noexcept { return ratios / static_cast<double>(steps); }
};

/// Returns the region before a step: a sibling of the Batch that ran as often and took about as long.
std::uint32_t region_in_front(const RunView& view, const SlowGroup& slow) {
  std::uint32_t found = HistoryColumn::kBetween;
  double nearest = slow.excess_ns / 2;
  for (const std::uint32_t path : view.beside_batch()) {
    const PathStats& stats = view.run.paths[path];
    const auto calls = static_cast<double>(stats.host.n());
    const auto steps = static_cast<double>(slow.steps);
    const double beside = std::fabs(static_cast<double>(stats.host.total_ns()) - slow.excess_ns);
    if (std::fabs(calls - steps) > std::max(1.0, steps / 10) || beside > nearest) { continue; }
    found = path;
    nearest = beside;
  }
  return found;
}

/// Returns the path, or the region before the step if the excess is between Batches.
std::uint32_t place_of(const RunView& view, const SlowGroup& slow) {
  return slow.path == HistoryColumn::kBetween ? region_in_front(view, slow) : slow.path;
}

/// \param varies true if another run may have a different number of them.
Finding slow_finding(const RunView& view, const SlowGroup& slow, std::string sentence, bool varies) {
  Finding finding;
  finding.what = "slow_steps";
  finding.sentence = std::move(sentence);
  finding.where = view.name(place_of(view, slow));
  finding.evidence = {{"slow_steps", static_cast<double>(slow.steps), "steps"},
                      {"steps", static_cast<double>(view.steps->steps()), "steps"},
                      {"mean_ratio", slow.ratio(), ""},
                      {"usual_step", view.usual_ns, "ns"},
                      {"worst_step", static_cast<double>(slow.worst_step), ""},
                      {"worst_excess", slow.worst_ns, "ns"}};
  const auto n = static_cast<double>(slow.steps);
  const double scatter = varies ? slow.squares : std::max(slow.squares - slow.excess_ns * slow.excess_ns / n, 0.0);
  const double half = kNormal95 * std::sqrt(scatter);
  finding.cost = Cost{slow.excess_ns, std::max(slow.excess_ns - half, 0.0), slow.excess_ns + half,
                      view.share_of_run(slow.excess_ns)};
  return finding;
}

std::string of_run(const RunView& view, const SlowGroup& slow) {
  return share_text(view.share_of_run(slow.excess_ns)) + " of the run";
}

/// Adds a finding for slow steps that are periodic or follow interruptions. Returns false if they are neither.
bool add_regular(const RunView& view, const SlowGroup& group, const SlowSteps& slow, Conclusions& said) {
  const StepGaps gaps = gaps_of(slow);
  const std::uint64_t breaks = view.steps->all_breaks();
  constexpr std::uint64_t kMinBreaks = 3;
  std::string which;
  if (breaks >= kMinBreaks && 10 * slow.after_breaks() >= 9 * slow.steps() && 2 * slow.steps() >= breaks) {
    which = "the first step after each Epoch or other Batch";
  } else if (gaps.are != StepGaps::Are::irregular) {
    which =
        detail::format("{} {} step", gaps.are == StepGaps::Are::equal ? "every" : "about every", ordinal(gaps.length));
  } else {
    return false;
  }
  Finding finding = slow_finding(view, group,
                                 detail::format("{} takes {} the median ({}): {}", which, times_text(group.ratio()),
                                                view.label(place_of(view, group)), of_run(view, group)),
                                 false);
  finding.evidence.push_back({"every", static_cast<double>(gaps.length), "steps"});
  said.findings.push_back(std::move(finding));
  return true;
}

void add_irregular(const RunView& view, const SlowGroup& slow, Conclusions& said) {
  const std::string place = view.label(place_of(view, slow));
  if (slow.steps == 1) {
    said.findings.push_back(
        slow_finding(view, slow,
                     detail::format("step {} takes {} the median ({}): {}", step_text(slow.worst_step),
                                    times_text(slow.ratio()), place, of_run(view, slow)),
                     true));
    return;
  }
  const bool one_place = 2 * slow.path_ns >= slow.excess_ns;
  said.findings.push_back(
      slow_finding(view, slow,
                   detail::format("{} of {} steps take {} the median on average{}: {}", human_count(slow.steps),
                                  human_count(view.steps->steps()), times_text(slow.ratio()),
                                  one_place ? ", most of it in " + place : std::string(), of_run(view, slow)),
                   true));
}

}  // namespace

void add_slow_steps(const RunView& view, Conclusions& said) {
  if (view.usual_steps < kMinSteps) { return; }
  SlowGroup rest;
  for (const auto& [path, slow] : view.steps->slow()) {
    SlowGroup alone;
    alone.add(path, slow);
    const bool counts = view.share_of_run(alone.excess_ns) >= kMinSlowShare;
    if (!counts || !add_regular(view, alone, slow, said)) { rest.add(path, slow); }
  }
  // A stopped process also has a slow step, which another rule reports.
  const double own_ns = rest.excess_ns - static_cast<double>(view.run.process.stopped_ns);
  const double min = rest.steps < kFewSlowSteps ? kMinFewSlowShare : kMinSlowShare;
  if (rest.steps != 0 && view.share_of_run(own_ns) >= min) { add_irregular(view, rest, said); }
}

namespace {

// Minimum share of the time between steps for a region to be named.
constexpr double kMinNamedShare = 0.1;

/// Times from the first to the last step.
struct StepsInTime {
  double span_ns = 0;
  double batches_ns = 0;
};

StepsInTime steps_in_time(const SeriesHistory& steps) {
  StepsInTime time;
  if (steps.blocks().empty()) { return time; }
  time.span_ns =
      static_cast<double>(steps.blocks().back().end_ns) - static_cast<double>(steps.blocks().front().begin_ns);
  for (const StepBlock& each : steps.blocks()) { time.batches_ns += static_cast<double>(each.sum_ns); }
  return time;
}

/// Returns true if Batches of the main series' thread are inside the region, or if there is only one thread.
bool is_on_thread(const RunView& view, std::uint32_t path) {
  if (view.run.threads.size() < 2) { return true; }
  return std::any_of(view.run.series.begin(), view.run.series.end(), [&](const Series& each) {
    std::uint32_t above = each.path;
    while (above < view.run.paths.size() && above != path) { above = view.run.paths[above].parent; }
    return above == path && each.thread == view.series->thread;
  });
}

/// Returns the siblings of the Batch and of its ancestors that ran more than once, with their times, longest first.
std::vector<std::pair<double, std::uint32_t>> regions_between(const RunView& view) {
  std::vector<std::uint32_t> around = {kNoIndex};
  std::uint32_t above = view.above_batch();
  for (; above < view.run.paths.size(); above = view.run.paths[above].parent) { around.push_back(above); }
  const auto is_around = [&](std::uint32_t path) {
    return std::find(around.begin(), around.end(), path) != around.end();
  };
  std::vector<std::pair<double, std::uint32_t>> regions;
  for (std::uint32_t path = 0; path < view.run.paths.size(); ++path) {
    const PathStats& each = view.run.paths[path];
    const bool beside = path != view.series->path && is_around(each.parent) && !is_around(path);
    if (!beside || each.host.n() < 2 || !is_on_thread(view, path)) { continue; }
    regions.emplace_back(static_cast<double>(each.host.total_ns()), path);
  }
  std::sort(regions.rbegin(), regions.rend());
  return regions;
}

std::string between_text(const RunView& view, const std::vector<std::string>& names) {
  if (!names.empty()) {
    return detail::format("{} run{} between steps", list_text(names), names.size() == 1 ? "s" : "");
  }
  return view.run.threads.size() > 1 ? "several threads record, so it is unknown what runs between steps"
                                     : "no region covers the time between steps";
}

}  // namespace

void add_between_steps(const RunView& view, Conclusions& said) {
  if (view.steps == nullptr || static_cast<double>(view.steps->steps()) < kMinSteps) { return; }
  if (view.has_time_of_others()) {
    said.skipped_rules.push_back({"between_steps", kTimeOfOthers});
    return;
  }
  const StepsInTime time = steps_in_time(*view.steps);
  double rest_ns = time.span_ns - time.batches_ns;
  std::vector<std::pair<double, std::uint32_t>> regions = regions_between(view);
  // Time that another rule has reported is not reported again.
  const auto is_reported = [&](const auto& region) {
    return std::any_of(said.findings.begin(), said.findings.end(),
                       [&](const Finding& each) { return each.where == view.name(region.second); });
  };
  for (const auto& each : regions) { rest_ns -= is_reported(each) ? each.first : 0; }
  if (time.span_ns <= 0 || rest_ns < kMinBetweenShare * time.span_ns) { return; }
  std::vector<std::string> names;
  Finding finding;
  for (const auto& each : regions) {
    if (is_reported(each) || each.first < kMinNamedShare * rest_ns || each.first > time.span_ns) { continue; }
    if (names.empty()) { finding.where = view.name(each.second); }
    names.push_back(view.label(each.second));
  }
  const auto steps = static_cast<double>(view.steps->steps());
  finding.what = "between_steps";
  finding.sentence = detail::format("a step takes {}, its Batch only {}: {}, {} of the run",
                                    human_time(time.span_ns / steps), human_time(time.batches_ns / steps),
                                    between_text(view, names), share_text(view.share_of_run(rest_ns)));
  finding.evidence = {{"span", time.span_ns, "ns"},         {"batches", time.batches_ns, "ns"},
                      {"between", rest_ns, "ns"},           {"steps", steps, "steps"},
                      {"step", time.span_ns / steps, "ns"}, {"batches_a_step", time.batches_ns / steps, "ns"}};
  finding.cost = Cost{rest_ns, rest_ns, rest_ns, view.share_of_run(rest_ns)};
  said.findings.push_back(std::move(finding));
}

}  // namespace detail
TAKT_END_NAMESPACE
