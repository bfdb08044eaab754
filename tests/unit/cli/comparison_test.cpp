// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/comparison.hpp"

#include "cli/diff_document.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace takt::detail;
using takt::Finding;

namespace {

/// Returns a run of two regions that take `step` ns together, with small differences between runs.
ComparedRun comparison_run_of(int number, double step) {
  ComparedRun run;
  run.name = "run-" + std::to_string(number);
  run.start_unix_ns = number;
  run.ranks = run.world_size = 1;
  run.state = "finished";
  const double factor = 1 + 0.001 * (number % 3);
  run.step.mean = run.step.p25 = {step * factor};
  run.step.times_a_step = run.step.calls_a_step = 1;
  run.items_per_s = 64e9 / (step * factor);
  run.items_a_step = 64;
  takt::detail::RunRegion& first = run.regions["Batch/A"];
  first.mean = first.p25 = {0.5 * step * factor};
  first.p50 = {0.5 * step, 0.0045};
  first.calls_a_step = first.times_a_step = 1;
  takt::detail::RunRegion& second = run.regions["Batch/B"];
  second.mean = second.p25 = {1000 * factor};
  second.calls_a_step = 2;
  second.times_a_step = 1;
  return run;
}

struct Sides {
  std::vector<ComparedRun> base;
  std::vector<ComparedRun> now;
};

/// Returns both sides with alternating runs.
Sides sides_of(double base, double now, int runs = 3) {
  Sides sides;
  for (int number = 0; number < runs; ++number) {
    sides.base.push_back(comparison_run_of(2 * number, base));
    sides.now.push_back(comparison_run_of(2 * number + 1, now));
  }
  return sides;
}

Comparison comparison_compared(const Sides& sides, const std::vector<std::string>& gates = {}) {
  ComparisonOptions options;
  options.has_gate = true;
  options.threshold = 0.02;
  options.regions = gates;
  return compare_runs(sides.base, sides.now, options);
}

const ComparedRegion& region(const Comparison& comparison, const std::string& path) {
  const auto found = std::find_if(comparison.regions.begin(), comparison.regions.end(),
                                  [&](const ComparedRegion& each) { return each.path == path; });
  REQUIRE(found != comparison.regions.end());
  return *found;
}

std::vector<std::string> kinds(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& each : findings) { all.push_back(each.what); }
  return all;
}

using Kinds = std::vector<std::string>;
using takt_test::contains;
using takt_test::mentions;

}  // namespace

TEST_CASE("Comparison: a step five percent slower is a regression, and its region is highlighted") {
  const Comparison comparison = comparison_compared(sides_of(1000, 1050));
  CHECK(comparison.answer == Answer::regression);
  CHECK(region(comparison, kStepRegion).mark == ChangeMark::slower);
  CHECK(region(comparison, "Batch/A").mark == ChangeMark::slower);
  CHECK(region(comparison, "Batch/B").mark == ChangeMark::unclear);
  REQUIRE(comparison.rates.size() == 1);
  CHECK(comparison.rates[0].change.high < -0.04);
  CHECK(comparison.obstacles.empty());
  CHECK(comparison.differences.empty());
  CHECK(comparison.findings.empty());
  CHECK(region(comparison_compared(sides_of(1050, 1000)), "Batch/A").mark == ChangeMark::faster);
}

TEST_CASE("Comparison: the gate judges the selected regions, and the worst answer counts") {
  const Sides sides = sides_of(1000, 1050, 5);
  CHECK(comparison_compared(sides, {"Batch/B"}).answer == Answer::no_regression);
  CHECK(comparison_compared(sides, {"Batch/B", "Batch/A"}).answer == Answer::regression);
  CHECK(comparison_compared(sides_of(1000, 1000, 5)).answer == Answer::no_regression);
}

TEST_CASE("Comparison: a gate over a region missing in some runs does not pass") {
  Sides sides = sides_of(1000, 1000, 5);
  sides.now[1].regions.erase("Batch/B");
  const Comparison comparison = comparison_compared(sides, {"Batch/B"});
  CHECK(comparison.answer == Answer::inconclusive);
  CHECK(kinds(comparison.findings) == Kinds{"sometimes_region", "gate_without_region"});
  CHECK(comparison.obstacles.empty());
}

TEST_CASE("Comparison: regions missing on one side, and different ranks, prevent an answer") {
  Sides sides = sides_of(1000, 1000);
  for (ComparedRun& run : sides.now) {
    run.regions["Batch/C"] = run.regions["Batch/B"];
    run.regions.erase("Batch/B");
    run.world_size = run.ranks = 2;
  }
  const Comparison comparison = comparison_compared(sides);
  CHECK(kinds(comparison.obstacles) == Kinds{"other_world_size", "missing_region", "new_region"});
  CHECK(kinds(comparison.findings) == Kinds{"missing_region", "new_region"});
}

TEST_CASE("Comparison: different ranks within one side prevent an answer, too") {
  Sides sides = sides_of(1000, 1000);
  for (ComparedRun* each : {&sides.base[0], &sides.now[0]}) { each->world_size = each->ranks = 2; }
  CHECK(kinds(comparison_compared(sides).obstacles) == Kinds{"other_world_size"});
}

TEST_CASE("Comparison: reports other differences: facts, states, ranks without a journal, the order") {
  Sides sides = sides_of(1000, 1000);
  for (ComparedRun& run : sides.now) {
    run.facts["parameter batch"] = "32";
    run.start_unix_ns += 100;
  }
  sides.now[0].state = "died";
  sides.now[0].ranks = 0;
  const Comparison comparison = comparison_compared(sides);
  CHECK(kinds(comparison.differences) == Kinds{"other_fact", "not_finished", "not_in_turn"});
  CHECK(mentions(comparison.differences[0].sentence, {"parameter batch", "32"}));
  CHECK(kinds(comparison.obstacles) == Kinds{"missing_ranks"});  // the slowest rank may be missing
}

TEST_CASE("Comparison: a different Batch as the step prevents an answer") {
  Sides sides = sides_of(1000, 1000);
  sides.now[1].step_path = "Epoch/Validation";
  const Comparison comparison = comparison_compared(sides);
  REQUIRE(kinds(comparison.obstacles) == Kinds{"other_step"});
  CHECK(mentions(comparison.obstacles[0].sentence, {"Epoch/Validation"}));
}

TEST_CASE("Comparison: changed calls or items per step, and losses, are findings") {
  Sides sides = sides_of(1000, 1000);
  for (ComparedRun& run : sides.now) {
    run.regions["Batch/B"].calls_a_step = 3;
    run.items_a_step = 32;
    run.losses["no_place"] = 2;
  }
  const Comparison comparison = comparison_compared(sides);
  CHECK(kinds(comparison.findings) == Kinds{"other_calls", "other_items", "losses"});
  CHECK(mentions(comparison.findings[0].sentence, {"Batch/B", "3", "2"}));
  CHECK(comparison.findings[2].evidence[1].value == 6);
}

TEST_CASE("Comparison: a change at the threshold does not ask for more runs") {
  const Comparison comparison = comparison_compared(sides_of(1e8, 1.02e8, 5));
  CHECK(comparison.answer == Answer::inconclusive);
  const std::string text = takt::cli::diff_text(comparison, "--gate 2 %", Page(100, false));
  CHECK(mentions(text, {"inconclusive", "too close to the threshold"}));
  CHECK_FALSE(contains(text, "runs a side"));
}

TEST_CASE("Comparison: reports runs that waited for a CPU") {
  Sides sides = sides_of(1e8, 1e8);
  CHECK(comparison_compared(sides).differences.empty());
  sides.now[1].waited = 0.43;
  const Comparison comparison = comparison_compared(sides);
  CHECK(kinds(comparison.differences) == Kinds{"contended"});
  CHECK(mentions(comparison.differences[0].sentence, {"1 of 6", "43.0 %"}));
}

TEST_CASE("Comparison: the golden text has a table and each kind of note") {
  Sides sides = sides_of(1000, 1100);
  std::string text = takt::cli::diff_text(comparison_compared(sides), "", Page(100, false));
  for (ComparedRun& run : sides.now) {
    run.facts["parameter batch"] = "32";
    run.start_unix_ns += 100;
    run.regions["Batch/B"].calls_a_step = 3;
    run.regions["Batch/New"] = run.regions["Batch/A"];
    run.regions.erase("Batch/A");
    run.items_a_step = 32;
    run.losses["no_place"] = 2;
  }
  sides.now[0].state = "died";
  sides.now[0].ranks = 0;
  sides.now[0].world_size = 2;
  sides.now[1].step_path = "Epoch/Validation";
  text += takt::cli::diff_text(comparison_compared(sides), "--gate 2 %", Page(100, false));
  takt_test::check_golden("comparison.txt", text);
}

TEST_CASE("Comparison: a percentile equal in all runs is still limited by its histogram's resolution") {
  const Comparison comparison = comparison_compared(sides_of(1000, 1000));
  const std::vector<ComparedFigure>& figures = region(comparison, "Batch/A").figures;
  REQUIRE(figures.size() == 3);
  CHECK(figures[0].name == "p25");
  CHECK(figures[1].name == "p50");
  CHECK(figures[1].change.low < -0.005);
  CHECK(figures[1].change.high > 0.005);
}

TEST_CASE("Comparison: the first line is the answer with the largest certain change") {
  const auto first_line = [](const Comparison& comparison) {
    const std::string text = takt::cli::diff_text(comparison, "", Page(200, false));
    return text.substr(0, text.find('\n'));
  };
  const auto compared = [](const Sides& sides) { return compare_runs(sides.base, sides.now, {}); };
  CHECK(mentions(first_line(comparison_compared(sides_of(1e6, 1.05e6))),
                 {"regression", "1.05 ms", "1.00 ms", "p25", "+5.00 %", "Batch/A", "25.0 us a step more"}));
  CHECK(mentions(first_line(compared(sides_of(1e6, 1e6))),
                 {"a step takes 1.00 ms instead of 1.00 ms", "no significant change"}));
  CHECK(mentions(first_line(compared(sides_of(1e6, 1.05e6, 2))), {"+4.95 %", "three runs on each side"}));
  Sides one_first = sides_of(1e6, 1.05e6);
  for (ComparedRun& run : one_first.now) { run.start_unix_ns += 100; }
  CHECK(mentions(first_line(comparison_compared(one_first)), {"inconclusive", "+5.00 %", "not run in turn"}));
}

TEST_CASE(
    "Comparison: if one side ran first nothing is highlighted, and the gate asks for the machine's possible change") {
  Sides sides = sides_of(1000, 1100);
  for (ComparedRun& run : sides.now) { run.start_unix_ns += 100; }
  const Comparison comparison = comparison_compared(sides);
  CHECK_FALSE(comparison.in_turn);
  CHECK(comparison.pairs.empty());
  CHECK(comparison.answer == Answer::inconclusive);
  CHECK(region(comparison, kStepRegion).mark == ChangeMark::unclear);
  ComparisonOptions options;
  options.has_gate = true;
  options.threshold = 0.02;
  options.noise = 0.03;
  CHECK(compare_runs(sides.base, sides.now, options).answer == Answer::regression);
}

TEST_CASE("Comparison: neighbours form pairs in any order, but only if every run has one") {
  const auto order = [](const std::string& letters) {
    Sides sides;
    for (std::size_t at = 0; at < letters.size(); ++at) {
      (letters[at] == 'A' ? sides.base : sides.now).push_back(comparison_run_of(static_cast<int>(at), 1000));
    }
    return compare_runs(sides.base, sides.now, {}).pairs.size();
  };
  CHECK(order("ABBAAB") == 3);
  CHECK(order("BABABA") == 3);
  CHECK(order("AABBAB") == 0);
  CHECK(order("ABABA") == 0);
}

TEST_CASE("Comparison: reports changes that the p25 misses, and the mean can decide") {
  Sides sides = sides_of(1000, 1000);
  for (ComparedRun& run : sides.now) { run.step.mean.value *= 1.2; }
  const Comparison comparison = comparison_compared(sides);
  CHECK(comparison.answer != Answer::regression);
  REQUIRE(kinds(comparison.findings) == Kinds{"few_steps"});
  CHECK(mentions(comparison.findings[0].sentence, {"+20.00 %", "p25", "--on mean"}));
  ComparisonOptions options;
  options.has_gate = true;
  options.threshold = 0.02;
  options.statistic = Statistic::mean;
  CHECK(compare_runs(sides.base, sides.now, options).answer == Answer::regression);
  for (ComparedRun& run : sides.now) { run.items_per_s /= 2; }
  options.statistic = Statistic::throughput;
  const Comparison by_rate = compare_runs(sides.base, sides.now, options);
  CHECK(by_rate.answer == Answer::regression);
  CHECK(region(by_rate, kStepRegion).figures.front().name == "time_an_item");
  CHECK(region(by_rate, "Batch/A").figures.front().name == "mean");
}

TEST_CASE("Comparison: reports no change in few steps if the p25 may have changed as much as the mean") {
  Sides sides = sides_of(1000, 1000);
  for (std::size_t at = 0; at < sides.now.size(); ++at) {
    sides.now[at].step.mean.value *= 1.2;
    sides.now[at].step.p25.value *= at % 2 == 0 ? 1.0 : 1.3;
  }
  CHECK(comparison_compared(sides).findings.empty());
}

TEST_CASE("Comparison: times per step and times per call are not compared, and this is reported") {
  Sides sides = sides_of(1000, 1000);
  sides.now[1].regions["Batch/B"].of_steps = true;
  const Comparison comparison = comparison_compared(sides, {"Batch/B"});
  CHECK(kinds(comparison.findings) == Kinds{"unlike_times", "gate_without_region"});
  CHECK(comparison.answer == Answer::inconclusive);
  CHECK(comparison.regions.size() == 2);
  for (auto* side : {&sides.base, &sides.now}) {
    for (ComparedRun& run : *side) { run.regions["Batch/B"].of_steps = true; }
  }
  CHECK(comparison_compared(sides, {"Batch/B"}).findings.empty());
}

TEST_CASE("Comparison: regions equal to the step are named instead of listed in the table") {
  Sides sides = sides_of(1e6, 1.05e6);
  for (auto* side : {&sides.base, &sides.now}) {
    for (ComparedRun& run : *side) {
      run.step_path = "Epoch/Batch";
      run.regions["Epoch/Batch"] = run.step;
      run.regions["Epoch"] = run.step;
      run.regions["Epoch"].p25.value *= 100;
      run.regions["Epochs"] = run.step;
    }
  }
  const std::string text = takt::cli::diff_text(comparison_compared(sides), "", Page(200, false));
  CHECK(contains(text, "as they changed like the step: Epoch, Epoch/Batch\n"));
  CHECK_FALSE(contains(text, "\nEpoch p25"));
  CHECK(contains(text, "\nEpochs p25"));
}
