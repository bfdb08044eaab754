// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/comparison.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kErrors = 0.05;  // share of comparisons without a change in which any region is significant

using Side = std::vector<ComparedRun>;

struct NamedFigure {
  const char* name;
  RunFigure RunRegion::*of;
};
constexpr const char* kTimeAnItem = "time_an_item";
constexpr NamedFigure kFigures[] = {{"p25", &RunRegion::p25},   {"p50", &RunRegion::p50},
                                    {"mean", &RunRegion::mean}, {"p95", &RunRegion::p95},
                                    {"p99", &RunRegion::p99},   {"device_mean", &RunRegion::device_mean}};

/// Returns the figure of each run; empty if a run lacks it.
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

/// Returns pairs of a base run and a new run that ran one right after the other (ABBA, ABAB); empty unless all did.
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

/// The two sides and the way to compare their runs.
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

  /// Returns a region without figures if a run lacks the deciding one, or if runs mix times of steps and of calls.
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

  /// Returns the change of the deciding figure. REQUIRES: region() has figures.
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

/// Classifies regions with a Bonferroni correction: in 5 of 100 comparisons some region is significant by chance. If
/// the sides did not run in turn, none is: the machine may have changed.
void mark_regions(const Sides& sides, Comparison& comparison) {
  if (!comparison.in_turn) { return; }
  const double level = 1 - kErrors / static_cast<double>(std::max<std::size_t>(comparison.regions.size(), 1));
  for (ComparedRegion& each : comparison.regions) {
    const Change change = sides.change(each.path, level);
    if (change.basis == Basis::none) { continue; }
    each.mark = change.low > 0 ? ChangeMark::slower : change.high < 0 ? ChangeMark::faster : ChangeMark::unclear;
  }
}

/// Adds a finding if only a few steps became slower or faster, which the statistic does not show. The intervals do not
/// overlap, so not all steps changed alike.
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

/// Judges all gates; the worst answer counts. A region that cannot be compared does not pass.
void ask_gates(const Sides& sides, const ComparisonOptions& options, Comparison& comparison) {
  const std::vector<std::string> gates =
      options.regions.empty() ? std::vector<std::string>{kStepRegion} : options.regions;
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
               " cannot be judged: some runs lack its times after warm-up, or the times are of different kinds",
           {},
           {}});
      continue;
    }
    at->is_gate = true;
    at->gate = judge(sides.change(path, level), {options.threshold, options.noise, comparison.in_turn});
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

Comparison compare_runs(std::vector<ComparedRun> base, std::vector<ComparedRun> now, const ComparisonOptions& options) {
  Comparison comparison;
  comparison.obstacles = obstacles_of(base, now);
  comparison.differences = differences_of(base, now);
  comparison.findings = findings_of(base, now);
  comparison.has_gate = options.has_gate;
  comparison.threshold = options.threshold;
  comparison.noise = options.noise;
  comparison.statistic = options.statistic;
  comparison.pairs = pairs_of(base, now);
  comparison.in_turn = in_turn(base, now);
  const Sides sides(base, now, comparison.pairs, options.statistic);
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
  if (options.has_gate) { ask_gates(sides, options, comparison); }
  comparison.base = std::move(base);
  comparison.now = std::move(now);
  return comparison;
}

namespace {

using Runs = std::vector<ComparedRun>;
using Values = std::set<std::string>;

constexpr double kOtherCalls = 0.01;  // relative difference in calls a step beyond the effect of the last step
constexpr std::size_t kMaxValues = 3;

std::string shown_name(const std::string& text) { return fit_end(printable(text), 80); }

std::string list_of(const Values& values) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& each : values) {
    if (count++ == kMaxValues) { return text + ", ..."; }
    text += (count == 1 ? "" : ", ") + (each.empty() ? std::string("none") : fit(printable(each), 60));
  }
  return text;
}

template <class Value>
Values values_of(const Runs& runs, Value value) {
  Values values;
  for (const ComparedRun& run : runs) { values.insert(value(run)); }
  return values;
}

std::size_t runs_with(const Runs& runs, const std::string& path) {
  return static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [&](const ComparedRun& run) { return run.regions.count(path) != 0; }));
}

Values paths_of(const Runs& base, const Runs& now) {
  Values paths;
  for (const Runs* side : {&base, &now}) {
    for (const ComparedRun& run : *side) {
      for (const auto& [path, region] : run.regions) { paths.insert(path); }
    }
  }
  return paths;
}

/// Adds missing and new regions: those in all runs of one side and in none of the other.
void add_one_sided(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  for (const std::string& path : paths_of(base, now)) {
    const std::size_t before = runs_with(base, path);
    const std::size_t after = runs_with(now, path);
    if (before == base.size() && after == 0) {
      findings.push_back({"missing_region", shown_name(path) + " is missing: no new run has it", {}, {}});
    } else if (before == 0 && after == now.size()) {
      findings.push_back({"new_region", shown_name(path) + " is new: no base run has it", {}, {}});
    } else if (before < base.size() || after < now.size()) {
      const std::string counts = std::to_string(before) + " of " + std::to_string(base.size()) + " base runs and " +
                                 std::to_string(after) + " of " + std::to_string(now.size()) + " new runs";
      findings.push_back({"sometimes_region", shown_name(path) + " is in " + counts, {}, {}});
    }
  }
}

double mean_calls(const Runs& runs, const std::string& path) {
  double sum = 0;
  for (const ComparedRun& run : runs) { sum += run.regions.at(path).calls_a_step; }
  return sum / static_cast<double>(runs.size());
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void add_other_calls(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  for (const std::string& path : paths_of(base, now)) {
    if (runs_with(base, path) != base.size() || runs_with(now, path) != now.size()) { continue; }
    const double before = mean_calls(base, path);
    const double after = mean_calls(now, path);
    if (std::fabs(after - before) <= kOtherCalls * std::max(before, after)) { continue; }
    const std::string sentence = shown_name(path) + " is called " + short_number(after) +
                                 " times a step, and was called " + short_number(before) + " times";
    findings.push_back(
        {"other_calls", sentence, {{"base_calls_a_step", before, "calls"}, {"new_calls_a_step", after, "calls"}}, {}});
  }
}

void add_shared_names(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  for (const std::string& path : paths_of(base, now)) {
    std::size_t max = 1;
    for (const Runs* side : {&base, &now}) {
      for (const ComparedRun& run : *side) {
        const auto found = run.regions.find(path);
        if (found != run.regions.end()) { max = std::max(max, found->second.paths); }
      }
    }
    if (max == 1) { continue; }
    findings.push_back({"shared_name",
                        shown_name(path) + " is the name of " + std::to_string(max) +
                            " regions with different kinds or keys: their calls are counted together",
                        {{"regions", static_cast<double>(max), ""}},
                        {}});
  }
}

void add_unlike_times(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  for (const std::string& path : paths_of(base, now)) {
    if (!has_unlike_times(base, now, path)) { continue; }
    findings.push_back({"unlike_times",
                        shown_name(path) +
                            " is not compared: some runs have its time in each step, others only that of "
                            "its calls, as every() skips calls or it has no column",
                        {},
                        {}});
  }
}

void add_other_items(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  const auto mean_items = [](const Runs& runs) {
    double sum = 0;
    for (const ComparedRun& run : runs) { sum += run.items_a_step; }
    return sum / static_cast<double>(runs.size());
  };
  const double before = mean_items(base);
  const double after = mean_items(now);
  if (std::fabs(after - before) <= kOtherCalls * std::max(before, after)) { return; }
  const std::string sentence = "a step has " + short_number(after) + " items, and had " + short_number(before) +
                               (before > 0 && after > 0 ? ": compare samples/s, not the times of a step" : "");
  findings.push_back(
      {"other_items", sentence, {{"base_items_a_step", before, "items"}, {"new_items_a_step", after, "items"}}, {}});
}

void add_losses(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> all;
  for (const ComparedRun& run : base) {
    for (const auto& [what, count] : run.losses) { all[what].first += count; }
  }
  for (const ComparedRun& run : now) {
    for (const auto& [what, count] : run.losses) { all[what].second += count; }
  }
  for (const auto& [what, counts] : all) {
    const std::string sentence = "dropped, in all runs of a side: " + human_count(counts.second) + " x " +
                                 shown_name(what) + " in new runs, " + human_count(counts.first) + " in base runs";
    findings.push_back({"losses",
                        sentence,
                        {{"base_losses", static_cast<double>(counts.first), ""},
                         {"new_losses", static_cast<double>(counts.second), ""}},
                        {}});
  }
}

/// Adds a finding if the order of runs makes a change of the machine look like one of the program.
void add_order(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  if (in_turn(base, now)) { return; }
  findings.push_back(
      {"not_in_turn",
       "all runs of one side started before those of the other: a change of the machine's speed meanwhile "
       "is part of the change; run the sides in turn",
       {},
       {}});
}

/// Adds a finding if runs waited for a processor: that time is in the figures but is not due to the code.
void add_contended(const Runs& base, const Runs& now, std::vector<Finding>& findings) {
  constexpr double kMinShare = 0.05;  // minimum share; the report of one run uses the same
  std::size_t contended = 0;
  double max = 0;
  for (const Runs* side : {&base, &now}) {
    for (const ComparedRun& run : *side) {
      contended += run.waited >= kMinShare ? 1 : 0;
      max = std::max(max, run.waited);
    }
  }
  if (contended == 0) { return; }
  findings.push_back({"contended",
                      "in " + std::to_string(contended) + " of " + std::to_string(base.size() + now.size()) +
                          " runs the thread of the Session waited for a processor, for up to " + percent(max, 1) +
                          " of the run: other load on the machine is part of the change",
                      {{"most_waited", max, ""}},
                      {}});
}

void add_states(const Runs& runs, std::vector<Finding>& findings) {
  for (const ComparedRun& run : runs) {
    if (run.state != "finished") {
      findings.push_back({"not_finished", shown_name(run.name) + " has not finished (" + run.state + ")", {}, {}});
    }
  }
}

/// Adds runs without a journal of all ranks: a missing rank may be the slowest one.
void add_missing_ranks(const Runs& runs, std::vector<Finding>& findings) {
  for (const ComparedRun& run : runs) {
    if (run.ranks >= run.world_size) { continue; }
    const std::string counts = std::to_string(run.ranks) + " of " + std::to_string(run.world_size);
    findings.push_back({"missing_ranks", shown_name(run.name) + ": " + counts + " ranks have a journal", {}, {}});
  }
}

}  // namespace

std::vector<Finding> obstacles_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now) {
  std::vector<Finding> obstacles;
  const auto world = [](const ComparedRun& run) { return std::to_string(run.world_size); };
  const Values before = values_of(base, world);
  const Values after = values_of(now, world);
  if (before.size() != 1 || before != after) {
    obstacles.push_back(
        {"other_world_size", "base runs have " + list_of(before) + " ranks, new runs " + list_of(after), {}, {}});
  }
  const auto step = [](const ComparedRun& run) { return run.step_path; };
  const Values steps_before = values_of(base, step);
  const Values steps_after = values_of(now, step);
  if (steps_before.size() != 1 || steps_before != steps_after) {
    obstacles.push_back({"other_step",
                         "the step is not the same Batch in all runs: " + list_of(steps_before) + " in base runs, " +
                             list_of(steps_after) + " in new runs",
                         {},
                         {}});
  }
  add_missing_ranks(base, obstacles);
  add_missing_ranks(now, obstacles);
  add_one_sided(base, now, obstacles);
  const auto is_kept = [](const Finding& each) { return each.what != "sometimes_region"; };
  obstacles.erase(std::stable_partition(obstacles.begin(), obstacles.end(), is_kept), obstacles.end());
  return obstacles;
}

std::vector<Finding> differences_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now) {
  std::vector<Finding> differences;
  Values names;
  for (const Runs* side : {&base, &now}) {
    for (const ComparedRun& run : *side) {
      for (const auto& [name, value] : run.facts) { names.insert(name); }
    }
  }
  for (const std::string& name : names) {
    const auto value = [&](const ComparedRun& run) {
      const auto found = run.facts.find(name);
      return found == run.facts.end() ? std::string() : found->second;
    };
    const Values before = values_of(base, value);
    const Values after = values_of(now, value);
    if (before == after && before.size() == 1) { continue; }
    differences.push_back(
        {"other_fact", shown_name(name) + ": base " + list_of(before) + "; new " + list_of(after), {}, {}});
  }
  add_states(base, differences);
  add_states(now, differences);
  add_order(base, now, differences);
  add_contended(base, now, differences);
  return differences;
}

bool in_turn(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now) {
  const auto earlier = [](const ComparedRun& a, const ComparedRun& b) { return a.start_unix_ns < b.start_unix_ns; };
  if (base.size() + now.size() < 3) { return true; }
  const auto [first_base, last_base] = std::minmax_element(base.begin(), base.end(), earlier);
  const auto [first_now, last_now] = std::minmax_element(now.begin(), now.end(), earlier);
  return last_base->start_unix_ns >= first_now->start_unix_ns && last_now->start_unix_ns >= first_base->start_unix_ns;
}

bool has_unlike_times(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now,
                      const std::string& path) {
  bool has_steps = false;
  bool has_calls = false;
  for (const Runs* side : {&base, &now}) {
    for (const ComparedRun& run : *side) {
      const auto found = run.regions.find(path);
      if (found == run.regions.end() || found->second.mean.value <= 0) { continue; }
      (found->second.of_steps ? has_steps : has_calls) = true;
    }
  }
  return has_steps && has_calls;
}

std::vector<Finding> findings_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now) {
  std::vector<Finding> findings;
  add_one_sided(base, now, findings);
  add_shared_names(base, now, findings);
  add_other_calls(base, now, findings);
  add_unlike_times(base, now, findings);
  add_other_items(base, now, findings);
  add_losses(base, now, findings);
  return findings;
}

}  // namespace detail
TAKT_END_NAMESPACE
