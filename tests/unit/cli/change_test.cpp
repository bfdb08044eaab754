// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/change.hpp"

#include "base/statistics.hpp"
#include "support/catch.hpp"
#include "support/simulated_runs.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <math.h>

using namespace takt::detail;

namespace {

std::vector<RunFigure> figures(const std::vector<double>& values, double resolution = 0) {
  std::vector<RunFigure> runs;
  for (const double value : values) { runs.push_back({value, resolution}); }
  return runs;
}

constexpr Gate kTwoPercent{0.02};

/// Pairs each run with the one at the same position.
RunPairs pairs_of(std::size_t runs) {
  RunPairs pairs;
  for (std::size_t run = 0; run < runs; ++run) { pairs.emplace_back(run, run); }
  return pairs;
}

bool near(double value, double expected, double distance) { return std::fabs(value - expected) < distance; }

/// Returns the share of `rounds` simulated comparisons in which the gate of 2 % gives this answer.
double share_of(Answer answer, const takt_test::SimulatedMachine& machine, std::size_t runs, double slower, int rounds,
                takt_test::Figure figure = takt_test::Figure::p25) {
  std::mt19937_64 random(7);
  int count = 0;
  for (int round = 0; round < rounds; ++round) {
    const takt_test::SimulatedSides sides = takt_test::simulate_sides(machine, runs, slower, random, figure);
    count += judge(change_of(sides.base, sides.now, sides.pairs), kTwoPercent).answer == answer;
  }
  return static_cast<double>(count) / rounds;
}

takt_test::SimulatedMachine machine_of(double scatter, double new_scatter = -1) {
  takt_test::SimulatedMachine machine;
  machine.scatter = scatter;
  machine.new_scatter = new_scatter;
  return machine;
}

}  // namespace

TEST_CASE("Student's t: quantiles equal tabulated ones, also for fractional degrees of freedom") {
  CHECK(near(student_t_quantile(0.975, 1), 12.7062, 1e-3));
  CHECK(near(student_t_quantile(0.975, 4), 2.7764, 1e-4));
  CHECK(near(student_t_quantile(0.95, 10), 1.8125, 1e-4));
  CHECK(near(student_t_quantile(0.975, 1e6), 1.95996, 1e-4));
  CHECK(student_t_quantile(0.975, 3.5) < student_t_quantile(0.975, 3));
  CHECK(student_t_quantile(0.975, 3.5) > student_t_quantile(0.975, 4));
  CHECK(near(student_t_probability(-2.7764, 4), 0.025, 1e-5));
}

TEST_CASE("Student's t: keeps signgam, which std::lgamma() sets") {
  ::signgam = 7;
  CHECK(student_t_quantile(0.975, 4) > 0);
  CHECK(::signgam == 7);
}

TEST_CASE("Change: three runs per side have the interval of Student's t over runs") {
  const Change change = change_of(figures({1.00, 1.01, 1.02}), figures({1.05, 1.06, 1.07}));
  CHECK(change.basis == Basis::runs);
  CHECK(near(change.change, 0.0495, 1e-4));
  CHECK(near(change.scatter, 0.0097, 1e-4));
  CHECK(change.degrees == 4);
  CHECK(near(change.low, 0.0268, 2e-4));  // 1.0495 * exp(-2.776 * 0.00793) - 1
  CHECK(near(change.high, 0.0728, 2e-4));
}

TEST_CASE("Change: different numbers of runs per side use Welch's degrees of freedom") {
  const Change change = change_of(figures({1.00, 1.01, 1.02}), figures({1.05, 1.10, 1.15, 1.20, 1.00}));
  CHECK(change.degrees > 2);
  CHECK(change.degrees < 6);
}

TEST_CASE("Change: equal numbers of runs use the degrees of both sides, even with unequal scatter") {
  CHECK(change_of(figures({1.00, 1.01, 1.02}), figures({1.00, 1.02, 1.04})).degrees == 4);
  CHECK(change_of(figures({1, 1, 1}), figures({1.0, 1.5, 2.0})).degrees == 4);
  CHECK(change_of(figures({1, 1, 1}), figures({2, 2, 2})).degrees == 4);
  // At the threshold itself: 2.5 %, plus the effect of drift and of ten times the scatter on one side.
  CHECK(share_of(Answer::regression, machine_of(0.005, 0.05), 3, 0.02, 2000) <= 0.042);
}

TEST_CASE("Change: finds a detectable change, even if ratios are far from logarithms") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  constexpr std::size_t kRuns = 10;
  constexpr double kThreshold = 0.5;
  const auto draw = [&](double times) {
    std::vector<double> values;
    for (std::size_t run = 0; run < kRuns; ++run) { values.push_back(times * std::exp(0.1 * normal(random))); }
    return figures(values);
  };
  constexpr int kRounds = 2000;
  double detectable = 0;
  for (int round = 0; round < kRounds; ++round) {
    detectable += judge(change_of(draw(1), draw(1)), {kThreshold}).detectable / kRounds;
  }
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    found += judge(change_of(draw(1), draw(1 + detectable)), {kThreshold}).answer == Answer::regression;
  }
  CHECK(static_cast<double>(found) / kRounds > 0.93);
  CHECK(static_cast<double>(found) / kRounds < 0.97);
}

TEST_CASE("Change: with pairs the shorter of two intervals counts, each of 97.5 %") {
  // The machine's speed varies by a quarter, equally for neighbours.
  const std::vector<RunFigure> base = figures({1.00, 1.25, 1.10});
  const std::vector<RunFigure> now = figures({1.101, 1.375, 1.209});
  const Change apart = change_of(base, now);
  CHECK(apart.basis == Basis::runs);
  CHECK(apart.low < -0.1);
  const Change together = change_of(base, now, pairs_of(3));
  CHECK(together.basis == Basis::pairs);
  CHECK(together.degrees == 2);
  CHECK(near(together.change, 0.10, 1e-3));
  CHECK(together.low > 0.09);
  CHECK(judge(together, kTwoPercent).answer == Answer::regression);
  CHECK(judge(apart, kTwoPercent).answer == Answer::inconclusive);
  // Without correlation between neighbours, the degrees of freedom of both sides are worth more.
  const Change unlike = change_of(figures({1.00, 1.02, 1.01}), figures({1.06, 1.05, 1.07}), pairs_of(3));
  CHECK(unlike.basis == Basis::runs);
  CHECK(unlike.degrees == 4);
  CHECK(near(unlike.level, 0.975, 1e-12));
  const double wider = student_t_quantile(0.9875, 4) / student_t_quantile(0.975, 4);
  const Change plain = change_of(figures({1.00, 1.02, 1.01}), figures({1.06, 1.05, 1.07}));
  CHECK(near(std::log1p(unlike.high) - std::log1p(unlike.change),
             wider * (std::log1p(plain.high) - std::log1p(plain.change)), 1e-12));
}

TEST_CASE("Change: an interval is never narrower than the histogram's resolution") {
  const Change change = change_of(figures({1, 1, 1}, 0.01), figures({1.03, 1.03, 1.03}, 0.01), pairs_of(3));
  CHECK(near(change.standard_error, 0.01 * std::sqrt(2.0 / 3), 1e-6));
  CHECK(judge(change, kTwoPercent).answer == Answer::inconclusive);
}

TEST_CASE("Change: fewer than three runs have no interval, and no answer unless the noise is known") {
  const Change change = change_of(figures({1.0}), figures({1.10}));
  CHECK(change.basis == Basis::none);
  CHECK(judge(change, kTwoPercent).answer == Answer::inconclusive);
  CHECK(judge(change, kTwoPercent).runs_needed == 0);
  CHECK(judge(change, {0.02, 0.03}).answer == Answer::regression);
  CHECK(near(judge(change, {0.02, 0.03}).detectable, 1.02 * 1.03 - 1, 1e-9));
  CHECK(judge(change, {0.02, 0.09}).answer == Answer::inconclusive);
  CHECK(judge(change_of(figures({1.0}), figures({1.001})), {0.02, 0.01}).answer == Answer::no_regression);
  CHECK(judge(change_of(figures({1.0}), figures({1.001})), {0.02, 0.03}).answer == Answer::inconclusive);
}

TEST_CASE("Change: sides that did not alternate get an answer only beyond the possible change of the machine") {
  const Change change = change_of(figures({1.00, 1.01, 1.02}), figures({1.10, 1.11, 1.12}));
  CHECK(judge(change, kTwoPercent).answer == Answer::regression);
  CHECK(judge(change, {0.02, -1, false}).answer == Answer::inconclusive);
  CHECK(judge(change, {0.02, 0.03, false}).answer == Answer::regression);
  CHECK(judge(change, {0.02, 0.20, false}).answer == Answer::inconclusive);
  const Change same = change_of(figures({1.000, 1.001, 1.002}), figures({1.000, 1.001, 1.002}));
  CHECK(judge(same, {0.05, 0.02, false}).answer == Answer::no_regression);
  CHECK(judge(same, {0.05, 0.05, false}).answer == Answer::inconclusive);
}

TEST_CASE("Change: a missing answer names the number of runs needed, and with that many it exists") {
  const auto side = [](std::size_t runs) {
    std::vector<double> values;
    for (std::size_t at = 0; at < runs; ++at) { values.push_back(at % 2 == 0 ? 1.0 : 1.02); }
    return figures(values);
  };
  const GateAnswer few = judge(change_of(side(4), side(4)), kTwoPercent);
  CHECK(few.answer == Answer::inconclusive);
  CHECK(few.detectable > 0.04);
  REQUIRE(few.runs_needed > 4);
  REQUIRE(few.runs_needed < 100);
  CHECK(judge(change_of(side(few.runs_needed), side(few.runs_needed)), kTwoPercent).answer == Answer::no_regression);
  CHECK(judge(change_of(side(4), side(4)), {1e-6}).runs_needed == kMaxRunsNeeded + 1);
}

TEST_CASE("Change: a clear speedup passes with too few runs to resolve small changes") {
  const std::vector<RunFigure> base = figures({1.00, 1.03, 1.06});
  CHECK(judge(change_of(base, figures({0.50, 0.52, 0.53})), kTwoPercent).answer == Answer::no_regression);
  CHECK(judge(change_of(base, figures({0.93, 0.96, 0.99})), kTwoPercent).answer == Answer::inconclusive);
}

TEST_CASE("Change: in simulated runs false regressions are rare and five percent are found as tabulated") {
  CHECK(share_of(Answer::regression, machine_of(0.005), 3, 0, 100) <= 0.025);
  // 2.5 % plus three standard errors for 100 rounds.
  CHECK(share_of(Answer::regression, machine_of(0.05), 5, 0, 100) <= 0.04);
  CHECK(share_of(Answer::regression, machine_of(0.004), 3, 0.05, 100) >= 0.9);
  CHECK(share_of(Answer::regression, machine_of(0.01), 5, 0.05, 100) >= 0.9);
  CHECK(share_of(Answer::no_regression, machine_of(0.02), 3, 0.02, 100) == 0);
  CHECK(share_of(Answer::no_regression, machine_of(0.005), 10, 0, 100) >= 0.9);
}

TEST_CASE("Change: slow periods shorter than a run do not hide ten percent from the p25") {
  takt_test::SimulatedMachine machine = machine_of(0.01);
  machine.steps = 12000;
  machine.slow_share = 0.3;
  machine.slow_steps = 1000;
  CHECK(share_of(Answer::regression, machine, 5, 0.10, 100) >= 0.9);
  CHECK(share_of(Answer::regression, machine, 5, 0.10, 100, takt_test::Figure::mean) <= 0.5);
  CHECK(share_of(Answer::regression, machine, 3, 0, 100) <= 0.025);
}
