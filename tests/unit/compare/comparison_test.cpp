// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/comparison.hpp"

#include "cli/diff_document.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace takt::detail;
using takt::Finding;

namespace {

/// A run of two regions that take `step` ns together; runs of one side differ a little.
ComparedRun comparison_run_of(int number, double step) {
  ComparedRun run;
  run.name = "run-" + std::to_string(number);
  run.start_unix_ns = number;
  run.ranks = run.world_size = 1;
  run.state = "finished";
  const double factor = 1 + 0.001 * (number % 3);
  run.step.mean = {step * factor, 0.0005, 0};
  run.items_per_s = 64e9 / (step * factor);
  run.items_a_step = 64;
  run.regions["Batch/A"].mean = {0.5 * step * factor, 0.0005, 0};
  run.regions["Batch/A"].p50 = 0.5 * step;
  run.regions["Batch/A"].calls_a_step = 1;
  run.regions["Batch/B"].mean = {1000 * factor, 0.0005, 0};
  run.regions["Batch/B"].calls_a_step = 2;
  return run;
}

struct Sides {
  std::vector<ComparedRun> base;
  std::vector<ComparedRun> now;
};

/// In turn.
Sides sides_of(double base, double now, int runs = 3) {
  Sides sides;
  for (int number = 0; number < runs; ++number) {
    sides.base.push_back(comparison_run_of(2 * number, base));
    sides.now.push_back(comparison_run_of(2 * number + 1, now));
  }
  return sides;
}

Comparison comparison_compared(const Sides& sides, const std::vector<std::string>& gates = {}) {
  ComparisonWishes wishes;
  wishes.has_gate = true;
  wishes.threshold = 0.02;
  wishes.regions = gates;
  return compare_runs(sides.base, sides.now, wishes);
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
using takt_test::mentions;

}  // namespace

TEST_CASE("Comparison: a step that takes five percent more is a regression, and its region is marked") {
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

TEST_CASE("Comparison: the gate judges what it is told to, and the worst answer is that of all") {
  const Sides sides = sides_of(1000, 1050, 5);
  CHECK(comparison_compared(sides, {"Batch/B"}).answer == Answer::no_regression);
  CHECK(comparison_compared(sides, {"Batch/B", "Batch/A"}).answer == Answer::regression);
  CHECK(comparison_compared(sides_of(1000, 1000, 5)).answer == Answer::no_regression);
}

TEST_CASE("Comparison: a gate over a region that is not in all runs is no pass") {
  Sides sides = sides_of(1000, 1000, 5);
  sides.now[1].regions.erase("Batch/B");
  const Comparison comparison = comparison_compared(sides, {"Batch/B"});
  CHECK(comparison.answer == Answer::inconclusive);
  CHECK(kinds(comparison.findings) == Kinds{"sometimes_region", "gate_without_region"});
  CHECK(comparison.obstacles.empty());
}

TEST_CASE("Comparison: regions that one side lacks, and other ranks, are obstacles") {
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

TEST_CASE("Comparison: runs of one side that differ in ranks are an obstacle, too") {
  Sides sides = sides_of(1000, 1000);
  for (ComparedRun* each : {&sides.base[0], &sides.now[0]}) { each->world_size = each->ranks = 2; }
  CHECK(kinds(comparison_compared(sides).obstacles) == Kinds{"other_world_size"});
}

TEST_CASE("Comparison: what differs besides is told: facts, states, ranks without a journal, the order") {
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
  CHECK(kinds(comparison.obstacles) == Kinds{"missing_ranks"});  // the slowest one may be what lacks
}

TEST_CASE("Comparison: another Batch as the step is an obstacle") {
  Sides sides = sides_of(1000, 1000);
  sides.now[1].step_path = "Epoch/Validation";
  const Comparison comparison = comparison_compared(sides);
  REQUIRE(kinds(comparison.obstacles) == Kinds{"other_step"});
  CHECK(mentions(comparison.obstacles[0].sentence, {"Epoch/Validation"}));
}

TEST_CASE("Comparison: other calls and items a step, and losses, are findings") {
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

TEST_CASE("Comparison: a change at the bound asks for no more runs than there are") {
  const Comparison comparison = comparison_compared(sides_of(1e8, 1.02e8, 5));
  CHECK(comparison.answer == Answer::inconclusive);
  const std::string text = takt::cli::diff_text(comparison, "--gate 2 %", Page(100, false));
  CHECK(mentions(text, {"inconclusive", "too near to the bound"}));
  CHECK_FALSE(contains(text, "runs a side"));
}

TEST_CASE("Comparison: runs that waited for a processor are told") {
  Sides sides = sides_of(1e8, 1e8);
  CHECK(comparison_compared(sides).differences.empty());
  sides.now[1].waited = 0.43;
  const Comparison comparison = comparison_compared(sides);
  CHECK(kinds(comparison.differences) == Kinds{"contended"});
  CHECK(mentions(comparison.differences[0].sentence, {"1 of 6", "43.0 %"}));
}

TEST_CASE("Comparison: the golden text holds a table and each kind of remark") {
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

TEST_CASE("Comparison: a percentile that is the same in all runs is still known no better than its histogram") {
  const Comparison comparison = comparison_compared(sides_of(1000, 1000));
  const std::vector<ComparedFigure>& figures = region(comparison, "Batch/A").figures;
  REQUIRE(figures.size() == 2);
  CHECK(figures[1].name == "p50");
  CHECK(figures[1].change.low < -0.005);
  CHECK(figures[1].change.high > 0.005);
}
