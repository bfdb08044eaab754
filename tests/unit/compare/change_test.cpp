// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/change.hpp"

#include "base/student_t.hpp"
#include "compare/step_scatter.hpp"
#include "support/catch.hpp"
#include "support/simulated_runs.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <math.h>

using namespace takt::detail;

namespace {

std::vector<RunFigure> figures(const std::vector<double>& values, double within = 0.001) {
  std::vector<RunFigure> runs;
  for (const double value : values) { runs.push_back({value, within, 0}); }
  return runs;
}

bool near(double value, double expected, double distance) { return std::fabs(value - expected) < distance; }

/// Of how many of `rounds` simulated comparisons the gate of 2 % has this answer.
double share_of(Answer answer, double scatter, std::size_t runs, double slower, int rounds, double new_scatter = -1) {
  takt_test::SimulatedMachine machine;
  machine.scatter = scatter;
  machine.new_scatter = new_scatter;
  std::mt19937_64 random(7);
  int count = 0;
  for (int round = 0; round < rounds; ++round) {
    const takt_test::SimulatedSides sides = takt_test::simulate_sides(machine, runs, slower, random);
    count += judge(change_of(sides.base, sides.now), 0.02).answer == answer;
  }
  return static_cast<double>(count) / rounds;
}

}  // namespace

TEST_CASE("Student's t: quantiles are those of the tables, also of degrees that are not whole") {
  CHECK(near(student_t_quantile(0.975, 1), 12.7062, 1e-3));
  CHECK(near(student_t_quantile(0.975, 4), 2.7764, 1e-4));
  CHECK(near(student_t_quantile(0.95, 10), 1.8125, 1e-4));
  CHECK(near(student_t_quantile(0.975, 1e6), 1.95996, 1e-4));
  CHECK(student_t_quantile(0.975, 3.5) < student_t_quantile(0.975, 3));
  CHECK(student_t_quantile(0.975, 3.5) > student_t_quantile(0.975, 4));
  CHECK(near(student_t_probability(-2.7764, 4), 0.025, 1e-5));
}

TEST_CASE("Student's t: the sign that std::lgamma() has left to the program stays") {
  ::signgam = 7;
  CHECK(student_t_quantile(0.975, 4) > 0);
  CHECK(::signgam == 7);
}

TEST_CASE("Change: three runs a side have the interval of Student's t over runs") {
  const Change change = change_of(figures({1.00, 1.01, 1.02}), figures({1.05, 1.06, 1.07}));
  CHECK(change.basis == Basis::runs);
  CHECK(near(change.change, 0.0495, 1e-4));
  CHECK(near(change.between, 0.0097, 1e-4));
  CHECK(change.degrees == 4);
  CHECK(near(change.low, 0.0268, 2e-4));  // 1.0495 * exp(-2.776 * 0.00793) - 1
  CHECK(near(change.high, 0.0728, 2e-4));
}

TEST_CASE("Change: another number of runs on each side has the degrees of Welch") {
  const Change change = change_of(figures({1.00, 1.01, 1.02}), figures({1.05, 1.10, 1.15, 1.20, 1.00}));
  CHECK(change.degrees > 2);
  CHECK(change.degrees < 6);
}

TEST_CASE("Change: as many runs on each side have the degrees of both, unless one side scatters much more") {
  CHECK(change_of(figures({1.00, 1.01, 1.02}), figures({1.00, 1.02, 1.04})).degrees == 4);
  const Change unlike = change_of(figures({1.00, 1.01, 1.02}), figures({1.0, 1.5, 2.0}));
  CHECK(unlike.degrees > 2);
  CHECK(unlike.degrees < 2.1);
  CHECK(change_of(figures({1, 1, 1}, 0), figures({1.0, 1.5, 2.0}, 0)).degrees == 2);
  CHECK(change_of(figures({1, 1, 1}, 0), figures({2, 2, 2}, 0)).degrees == 4);
  // At the threshold itself, 2.5 % and what comes with drift; with the degrees of both it is 4.9 %.
  CHECK(share_of(Answer::regression, 0.005, 3, 0.02, 2000, 0.05) <= 0.042);
}

TEST_CASE("Change: what would be found is found, also where shares are far from logarithms") {
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
    detectable += judge(change_of(draw(1), draw(1)), kThreshold).detectable / kRounds;
  }
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    found += judge(change_of(draw(1), draw(1 + detectable)), kThreshold).answer == Answer::regression;
  }
  CHECK(static_cast<double>(found) / kRounds > 0.93);
  CHECK(static_cast<double>(found) / kRounds < 0.97);
  const Change within = change_of(figures({1.0}, 0.01), figures({1.0}, 0.01));
  CHECK(near(judge(within, 0.5, 0.2).detectable, 1.5 * 1.2 * std::exp(3.604818 * 0.01 * std::sqrt(2)) - 1, 1e-4));
}

TEST_CASE("Change: runs that lie together by chance know no less than what their steps leave open") {
  const Change change = change_of(figures({1, 1, 1}, 0.01), figures({1.03, 1.03, 1.03}, 0.01));
  CHECK(near(change.standard_error, 0.01 * std::sqrt(2.0 / 3), 1e-6));
  CHECK(judge(change, 0.02).answer == Answer::inconclusive);
}

TEST_CASE("Change: fewer than three runs have the interval within runs, and no answer without the noise") {
  const Change change = change_of(figures({1.0}), figures({1.10}));
  CHECK(change.basis == Basis::within);
  CHECK(near(change.low, 0.097, 1e-3));
  CHECK(judge(change, 0.02).answer == Answer::inconclusive);
  CHECK(judge(change, 0.02).runs_needed == 0);
  CHECK(judge(change, 0.02, 0.03).answer == Answer::regression);
  CHECK(judge(change, 0.02, 0.09).answer == Answer::inconclusive);
  CHECK(judge(change_of(figures({1.0}), figures({1.001})), 0.02, 0.01).answer == Answer::no_regression);
  CHECK(judge(change_of(figures({1.0}), figures({1.001})), 0.02, 0.03).answer == Answer::inconclusive);
  CHECK(change_of(figures({1.0}, 0), figures({1.1})).basis == Basis::none);
  CHECK(judge(change_of(figures({1.0}, 0), figures({1.1})), 0.02, 0.03).answer == Answer::inconclusive);
}

TEST_CASE("Change: an answer that is not there names the runs that it takes, and with so many it is there") {
  const auto side = [](std::size_t runs) {
    std::vector<double> values;
    for (std::size_t at = 0; at < runs; ++at) { values.push_back(at % 2 == 0 ? 1.0 : 1.02); }
    return figures(values);
  };
  const GateAnswer few = judge(change_of(side(4), side(4)), 0.02);
  CHECK(few.answer == Answer::inconclusive);
  CHECK(few.detectable > 0.04);
  REQUIRE(few.runs_needed > 4);
  REQUIRE(few.runs_needed < 100);
  CHECK(judge(change_of(side(few.runs_needed), side(few.runs_needed)), 0.02).answer == Answer::no_regression);
  CHECK(judge(change_of(side(4), side(4)), 1e-6).runs_needed == kMostRunsNeeded + 1);
}

TEST_CASE("Change: what is clearly faster passes with runs that are too few to tell small changes") {
  const std::vector<RunFigure> base = figures({1.00, 1.03, 1.06});
  CHECK(judge(change_of(base, figures({0.50, 0.52, 0.53})), 0.02).answer == Answer::no_regression);
  CHECK(judge(change_of(base, figures({0.93, 0.96, 0.99})), 0.02).answer == Answer::inconclusive);
}

TEST_CASE("Step scatter: neighbours that are alike make it as wide as the mean scatters from run to run") {
  std::mt19937_64 random(3);
  takt_test::SimulatedMachine machine;
  machine.scatter = 0;
  machine.bursts = 0;
  machine.run_drift = 0;
  double squares = 0;
  double said = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    const RunFigure figure = takt_test::simulate_run(machine, 1, random);
    squares += (figure.value - 1) * (figure.value - 1) / kRuns;
    said += figure.within * figure.within / kRuns;
  }
  CHECK(said / squares > 0.75);
  CHECK(said / squares < 1.35);
  StepScatter few;
  for (int step = 0; step < 7; ++step) { few.add(1 + step, 1); }
  CHECK(few.standard_error() == 0);
}

TEST_CASE("Change: of simulated runs false regressions are rare, and five percent are found where the table says so") {
  CHECK(share_of(Answer::regression, 0.005, 3, 0, 100) <= 0.025);
  CHECK(share_of(Answer::regression, 0.05, 5, 0, 100) <= 0.04);  // 2.5 % and three standard errors of 100
  CHECK(share_of(Answer::regression, 0.005, 3, 0.05, 100) >= 0.9);
  CHECK(share_of(Answer::regression, 0.01, 5, 0.05, 100) >= 0.9);
  CHECK(share_of(Answer::no_regression, 0.02, 3, 0.02, 100) == 0);
  CHECK(share_of(Answer::no_regression, 0.005, 10, 0, 100) >= 0.9);
}
