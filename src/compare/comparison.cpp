// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/comparison.hpp"

#include "base/text.hpp"
#include "compare/side_differences.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kErrors = 0.05;  // in 100 comparisons without a change, over all regions together

// A percentile is within 0.78 %, anywhere there: as a standard error, 0.78 % over the square root of 3.
constexpr double kPercentileError = 0.0045;

using Side = std::vector<ComparedRun>;

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

/// Appends it, where all runs have it.
template <class Figure>
void add_figure(const Side& base, const Side& now, const char* name, double level, Figure figure,
                std::vector<ComparedFigure>& into) {
  const std::vector<RunFigure> before = figures_of(base, figure);
  const std::vector<RunFigure> after = figures_of(now, figure);
  if (before.empty() || after.empty()) { return; }
  into.push_back({name, geometric_mean(before), geometric_mean(after), change_of(before, after, level)});
}

/// \param region finds it in a run; nullptr: there is none.
template <class Find>
ComparedRegion compare_region(const Side& base, const Side& now, const std::string& path, Find find) {
  ComparedRegion region;
  region.path = path;
  const auto with = [&](auto value) {
    return [&find, value](const ComparedRun& run) {
      const RunRegion* const found = find(run);
      return found == nullptr ? RunFigure{} : value(*found);
    };
  };
  const auto plain = [](double RunRegion::*member) {
    return [member](const RunRegion& each) { return RunFigure{each.*member, 0, kPercentileError}; };
  };
  add_figure(base, now, "mean", 0.95, with([](const RunRegion& each) { return each.mean; }), region.figures);
  if (region.figures.empty()) { return region; }
  add_figure(base, now, "p50", 0.95, with(plain(&RunRegion::p50)), region.figures);
  add_figure(base, now, "p95", 0.95, with(plain(&RunRegion::p95)), region.figures);
  add_figure(base, now, "p99", 0.95, with(plain(&RunRegion::p99)), region.figures);
  const auto device = [](const RunRegion& each) { return RunFigure{each.device_mean, 0, 0}; };
  add_figure(base, now, "device_mean", 0.95, with(device), region.figures);
  return region;
}

const RunRegion* find_region(const ComparedRun& run, const std::string& path) {
  if (path == kStepRegion) { return &run.step; }
  const auto found = run.regions.find(path);
  return found == run.regions.end() ? nullptr : &found->second;
}

std::vector<RunFigure> means_of(const Side& runs, const std::string& path) {
  return figures_of(runs, [&](const ComparedRun& run) {
    const RunRegion* const found = find_region(run, path);
    return found == nullptr ? RunFigure{} : found->mean;
  });
}

/// By Bonferroni: of all regions together one is marked by chance in 5 of 100 comparisons.
void mark_regions(Comparison& comparison) {
  const double level = 1 - kErrors / static_cast<double>(std::max<std::size_t>(comparison.regions.size(), 1));
  for (ComparedRegion& each : comparison.regions) {
    const Change change = change_of(means_of(comparison.base, each.path), means_of(comparison.now, each.path), level);
    if (change.basis != Basis::runs) { continue; }
    each.mark = change.low > 0 ? ChangeMark::slower : change.high < 0 ? ChangeMark::faster : ChangeMark::unclear;
  }
}

/// The worst answer is that of all. A region that is not there to be compared is no pass.
void ask_gates(const ComparisonWishes& wishes, Comparison& comparison) {
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
           fit_end(printable(path), 80) + " has no calls after warm-up in all runs: no gate can judge it",
           {},
           {}});
      continue;
    }
    const Change change = change_of(means_of(comparison.base, path), means_of(comparison.now, path), level);
    at->is_gate = true;
    at->gate = judge(change, wishes.threshold, wishes.noise, level);
    comparison.answer = worse(comparison.answer, at->gate.answer);
  }
}

}  // namespace

Comparison compare_runs(std::vector<ComparedRun> base, std::vector<ComparedRun> now, const ComparisonWishes& wishes) {
  Comparison comparison;
  comparison.obstacles = obstacles_of(base, now);
  comparison.differences = differences_of(base, now);
  comparison.findings = findings_of(base, now);
  comparison.has_gate = wishes.has_gate;
  comparison.threshold = wishes.threshold;
  comparison.noise = wishes.noise;
  std::vector<std::string> paths = {kStepRegion};
  for (const auto& [path, region] : base.front().regions) { paths.push_back(path); }
  for (const std::string& path : paths) {
    ComparedRegion region =
        compare_region(base, now, path, [&](const ComparedRun& run) { return find_region(run, path); });
    if (!region.figures.empty()) { comparison.regions.push_back(std::move(region)); }
  }
  const auto rate = [](const ComparedRun& run) { return RunFigure{run.items_per_s, run.step.mean.within, 0}; };
  add_figure(base, now, "items_per_s", 0.95, rate, comparison.rates);
  comparison.base = std::move(base);
  comparison.now = std::move(now);
  mark_regions(comparison);
  if (wishes.has_gate) { ask_gates(wishes, comparison); }
  return comparison;
}

}  // namespace detail
TAKT_END_NAMESPACE
