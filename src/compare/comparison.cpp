// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/comparison.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "compare/side_differences.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kErrors = 0.05;  // in 100 comparisons without a change, over all regions together

using Side = std::vector<ComparedRun>;

struct NamedFigure {
  const char* name;
  RunFigure RunRegion::*of;
};
constexpr const char* kTimeAnItem = "time_an_item";
constexpr NamedFigure kFigures[] = {{"p25", &RunRegion::p25},   {"p50", &RunRegion::p50},
                                    {"mean", &RunRegion::mean}, {"p95", &RunRegion::p95},
                                    {"p99", &RunRegion::p99},   {"device_mean", &RunRegion::device_mean}};

/// The figure of each run; empty where one of them has none.
template <class Figure>
std::vector<RunFigure> figures_of(const Side& runs, Figure figure) {
  std::vector<RunFigure> figures;
  for (const ComparedRun& run : runs) {
    figures.push_back(figure(run));
    if (!(figures.back().value > 0)) { return {}; }
  }
  return figures;
}

double geometric_mean(const std::vector<RunFigure>& figures) {
  double sum = 0;
  for (const RunFigure& each : figures) { sum += std::log(each.value); }
  return std::exp(sum / static_cast<double>(figures.size()));
}

/// A base run and a new run that ran one right after the other, as ABBA or ABAB has them; empty: not all did.
RunPairs pairs_of(const Side& base, const Side& now) {
  struct Start {
    std::int64_t unix_ns;
    bool is_new;
    std::size_t at;
  };
  if (base.size() != now.size()) { return {}; }
  std::vector<Start> starts;
  for (std::size_t at = 0; at < base.size(); ++at) {
    starts.push_back({base[at].start_unix_ns, false, at});
    starts.push_back({now[at].start_unix_ns, true, at});
  }
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.unix_ns < b.unix_ns; });
  RunPairs pairs;
  for (std::size_t at = 0; at < starts.size(); at += 2) {
    const Start& first = starts[at];
    const Start& second = starts[at + 1];
    if (first.is_new == second.is_new) { return {}; }
    pairs.emplace_back(first.is_new ? second.at : first.at, first.is_new ? first.at : second.at);
  }
  return pairs;
}

const RunRegion* find_region(const ComparedRun& run, const std::string& path) {
  if (path == kStepRegion) { return &run.step; }
  const auto found = run.regions.find(path);
  return found == run.regions.end() ? nullptr : &found->second;
}

RunFigure time_an_item(const ComparedRun& run) { return {run.items_per_s > 0 ? 1e9 / run.items_per_s : 0}; }

auto of_region(const std::string& path, const NamedFigure& figure) {
  return [&path, &figure](const ComparedRun& run) {
    const RunRegion* const found = find_region(run, path);
    return found == nullptr ? RunFigure{} : found->*figure.of;
  };
}

/// The two sides, and how their runs are compared.
class Sides {
 public:
  Sides(const Side& base, const Side& now, const RunPairs& pairs, Statistic statistic)
      : base_(base), now_(now), pairs_(pairs), statistic_(statistic) {}

  template <class Figure>
  void add_figure(const char* name, Figure figure, std::vector<ComparedFigure>& into) const {
    const std::vector<RunFigure> before = figures_of(base_, figure);
    const std::vector<RunFigure> after = figures_of(now_, figure);
    if (before.empty() || after.empty()) { return; }
    into.push_back({name, geometric_mean(before), geometric_mean(after), change_of(before, after, pairs_)});
  }

  /// Without figures where not all runs have the one that decides, or some have it of steps and others of calls.
  ComparedRegion region(const std::string& path) const {
    ComparedRegion region;
    region.path = path;
    if (has_unlike_times(base_, now_, path)) { return region; }
    const std::string deciding = deciding_name(path);
    if (deciding == kTimeAnItem) { add_figure(kTimeAnItem, time_an_item, region.figures); }
    for (const bool first : {true, false}) {
      if (!first && region.figures.empty()) { return region; }
      for (const NamedFigure& each : kFigures) {
        if ((each.name == deciding) != first) { continue; }
        add_figure(each.name, of_region(path, each), region.figures);
      }
    }
    for (const ComparedRun& run : now_) {
      region.times_a_step += find_region(run, path)->times_a_step / static_cast<double>(now_.size());
    }
    return region;
  }

  /// Of the figure that decides. REQUIRES: region() has figures.
  Change change(const std::string& path, double level) const {
    const std::string deciding = deciding_name(path);
    const auto of = [&](auto figure) {
      return change_of(figures_of(base_, figure), figures_of(now_, figure), pairs_, level);
    };
    if (deciding == kTimeAnItem) { return of(time_an_item); }
    const auto at = std::find_if(std::begin(kFigures), std::end(kFigures),
                                 [&](const NamedFigure& each) { return each.name == deciding; });
    return of(of_region(path, *at));
  }

 private:
  std::string deciding_name(const std::string& path) const {
    if (statistic_ == Statistic::throughput && path != kStepRegion) { return "mean"; }
    return statistic_ == Statistic::throughput ? kTimeAnItem : statistic_word(statistic_);
  }

  const Side& base_;
  const Side& now_;
  const RunPairs& pairs_;
  Statistic statistic_;
};

/// By Bonferroni: of all regions together one is marked by chance in 5 of 100 comparisons. Where the sides did not run
/// in turn nothing is: what the machine did meanwhile may be the change.
void mark_regions(const Sides& sides, Comparison& comparison) {
  if (!comparison.in_turn) { return; }
  const double level = 1 - kErrors / static_cast<double>(std::max<std::size_t>(comparison.regions.size(), 1));
  for (ComparedRegion& each : comparison.regions) {
    const Change change = sides.change(each.path, level);
    if (change.basis == Basis::none) { continue; }
    each.mark = change.low > 0 ? ChangeMark::slower : change.high < 0 ? ChangeMark::faster : ChangeMark::unclear;
  }
}

/// What the statistic is blind to: a few steps of many became slower or quicker. The intervals do not overlap, so that
/// not all steps changed alike.
void add_few_steps(Comparison& comparison) {
  if (!comparison.in_turn || comparison.regions.empty() || comparison.regions.front().path != kStepRegion) { return; }
  const std::vector<ComparedFigure>& figures = comparison.regions.front().figures;
  const auto mean =
      std::find_if(figures.begin(), figures.end(), [](const ComparedFigure& each) { return each.name == "mean"; });
  if (mean == figures.end() || mean->change.basis == Basis::none) { return; }
  const Change& decided = figures.front().change;
  const bool beside = decided.high < mean->change.low || decided.low > mean->change.high;
  const bool is_sure = mean->change.low > 0 || mean->change.high < 0;
  if (!beside || !is_sure) { return; }
  comparison.findings.push_back({"few_steps",
                                 "the mean step changed by " + signed_percent(mean->change.change) + " (" +
                                     signed_percent(mean->change.low) + " to " + signed_percent(mean->change.high) +
                                     "), its " + figures.front().name + " by " + signed_percent(decided.change) +
                                     ": not all steps changed alike; --on mean judges the mean",
                                 {{"mean_change", mean->change.change, ""},
                                  {"mean_change_low", mean->change.low, ""},
                                  {"mean_change_high", mean->change.high, ""},
                                  {"change", decided.change, ""}},
                                 {}});
}

/// The worst answer is that of all. A region that is not there to be compared is no pass.
void ask_gates(const Sides& sides, const ComparisonWishes& wishes, Comparison& comparison) {
  const std::vector<std::string> gates =
      wishes.regions.empty() ? std::vector<std::string>{kStepRegion} : wishes.regions;
  const double level = 1 - kErrors / static_cast<double>(gates.size());
  const auto worse = [](Answer a, Answer b) {
    if (a == Answer::regression || b == Answer::regression) { return Answer::regression; }
    return a == Answer::inconclusive ? a : b;
  };
  for (const std::string& path : gates) {
    const auto at = std::find_if(comparison.regions.begin(), comparison.regions.end(),
                                 [&](const ComparedRegion& each) { return each.path == path; });
    if (at == comparison.regions.end()) {
      comparison.answer = worse(comparison.answer, Answer::inconclusive);
      comparison.findings.push_back(
          {"gate_without_region",
           fit_end(printable(path), 80) +
               " cannot be judged: not all runs have times of it after warm-up, or not of one kind",
           {},
           {}});
      continue;
    }
    at->is_gate = true;
    at->gate = judge(sides.change(path, level), {wishes.threshold, wishes.noise, comparison.in_turn});
    comparison.answer = worse(comparison.answer, at->gate.answer);
  }
}

}  // namespace

const char* statistic_word(Statistic statistic) noexcept {
  switch (statistic) {
    case Statistic::p25:
      return "p25";
    case Statistic::p50:
      return "p50";
    case Statistic::mean:
      return "mean";
    case Statistic::p95:
      return "p95";
    case Statistic::throughput:
      break;
  }
  return "throughput";
}

std::string signed_percent(double share) { return format("{:+.2f} %", 100 * share); }

Comparison compare_runs(std::vector<ComparedRun> base, std::vector<ComparedRun> now, const ComparisonWishes& wishes) {
  Comparison comparison;
  comparison.obstacles = obstacles_of(base, now);
  comparison.differences = differences_of(base, now);
  comparison.findings = findings_of(base, now);
  comparison.has_gate = wishes.has_gate;
  comparison.threshold = wishes.threshold;
  comparison.noise = wishes.noise;
  comparison.statistic = wishes.statistic;
  comparison.pairs = pairs_of(base, now);
  comparison.in_turn = in_turn(base, now);
  const Sides sides(base, now, comparison.pairs, wishes.statistic);
  std::vector<std::string> paths = {kStepRegion};
  for (const auto& [path, region] : base.front().regions) { paths.push_back(path); }
  for (const std::string& path : paths) {
    ComparedRegion region = sides.region(path);
    if (!region.figures.empty()) { comparison.regions.push_back(std::move(region)); }
  }
  sides.add_figure(
      "items_per_s", [](const ComparedRun& run) { return RunFigure{run.items_per_s}; }, comparison.rates);
  mark_regions(sides, comparison);
  add_few_steps(comparison);
  if (wishes.has_gate) { ask_gates(sides, wishes, comparison); }
  comparison.base = std::move(base);
  comparison.now = std::move(now);
  return comparison;
}

}  // namespace detail
TAKT_END_NAMESPACE
