// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Prints verdicts of the gate of `takt diff --fail-on 2%`, as tables for docs/compare.md.
//   takt_diff_power [comparisons per cell, default 1000]: compares simulated runs, the same ones each time
//   takt_diff_power --pairs < FILE: compares real runs without a change, whose new side is made 5 % and 10 % slower
// Each line of FILE has the statistics of two consecutive runs, in ns; diff_digits.py writes it.

#include "support/simulated_runs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace {

using takt::detail::Answer;
using takt_test::Figure;
using takt_test::SimulatedMachine;

constexpr takt::detail::Gate kGate{0.02};

struct Cell {
  int regression = 0;
  int passed = 0;
};

Cell cell_of(const SimulatedMachine& machine, Figure figure, std::size_t runs, double slower, int comparisons) {
  Cell cell;
  std::mt19937_64 random(runs * 1000 + static_cast<std::uint64_t>(machine.scatter * 1e6) +
                         static_cast<std::uint64_t>(slower * 100));
  for (int round = 0; round < comparisons; ++round) {
    const takt_test::SimulatedSides sides = takt_test::simulate_sides(machine, runs, slower, random, figure);
    const takt::detail::GateAnswer gate = judge(change_of(sides.base, sides.now, sides.pairs), kGate);
    cell.regression += gate.answer == Answer::regression;
    cell.passed += gate.answer == Answer::no_regression;
  }
  return cell;
}

void print_row(const char* name, const SimulatedMachine& machine, Figure figure, std::size_t runs, int comparisons) {
  const double percent = 100.0 / comparisons;
  const Cell same = cell_of(machine, figure, runs, 0, comparisons);
  const Cell little = cell_of(machine, figure, runs, 0.02, comparisons);
  const Cell five = cell_of(machine, figure, runs, 0.05, comparisons);
  const Cell ten = cell_of(machine, figure, runs, 0.10, comparisons);
  std::printf("| %s | %s | %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", name,
              figure == Figure::p25 ? "p25" : "mean", runs, percent * same.regression, percent * same.passed,
              percent * little.passed, percent * five.regression, percent * ten.regression);
  std::fflush(stdout);
}

/// As measured on a shared machine: for a third of the time another process takes half of the processor.
SimulatedMachine shared_machine(double slow_steps) {
  SimulatedMachine machine;
  machine.steps = 2000;
  machine.slow_share = 0.3;
  machine.slow_steps = slow_steps;
  return machine;
}

void print_tables(int comparisons) {
  std::printf(
      "| machine | by | runs a side | +0 %%: regression | no regression | +2 %%: no regression | +5 %%: regression | "
      "+10 %%: regression |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::size_t runs : {3U, 5U, 10U}) {
    for (const double scatter : {0.005, 0.01, 0.02, 0.05}) {
      SimulatedMachine machine;
      machine.scatter = scatter;
      char name[64];
      std::snprintf(name, sizeof name, "runs differ by %.1f %%", 100 * scatter);
      print_row(name, machine, Figure::p25, runs, comparisons);
    }
    SimulatedMachine unlike;
    unlike.scatter = 0.005;
    unlike.new_scatter = 0.02;
    print_row("0.5 %, new runs 2.0 %", unlike, Figure::p25, runs, comparisons);
    for (const Figure figure : {Figure::mean, Figure::p25}) {
      print_row("slow times of half a run", shared_machine(1000), figure, runs, comparisons);
      print_row("slow times of two runs", shared_machine(4000), figure, runs, comparisons);
    }
  }
}

/// Prints the shares over all choices of `runs` pairs.
void print_shares(const std::vector<std::pair<double, double>>& pairs, std::size_t runs) {
  for (const double slower : {0.0, 0.05, 0.10}) {
    std::vector<bool> is_chosen(pairs.size());
    std::fill(is_chosen.end() - static_cast<std::ptrdiff_t>(runs), is_chosen.end(), true);
    int choices = 0;
    int regressions = 0;
    do {
      takt_test::SimulatedSides sides;
      for (std::size_t at = 0; at < pairs.size(); ++at) {
        if (!is_chosen[at]) { continue; }
        sides.pairs.emplace_back(sides.base.size(), sides.base.size());
        sides.base.push_back({pairs[at].first});
        sides.now.push_back({pairs[at].second * (1 + slower)});
      }
      ++choices;
      const takt::detail::GateAnswer gate = judge(change_of(sides.base, sides.now, sides.pairs), kGate);
      regressions += gate.answer == Answer::regression ? 1 : 0;
    } while (std::next_permutation(is_chosen.begin(), is_chosen.end()));
    std::printf("| exactly %+.0f %% | %zu | %d | %.0f %% |\n", 100 * slower, runs, choices,
                100.0 * regressions / choices);
  }
}

int judge_pairs() {
  std::vector<std::pair<double, double>> pairs;
  for (double base = 0, now = 0; pairs.size() < 20 && std::scanf("%lf %lf", &base, &now) == 2;) {
    pairs.emplace_back(base, now);
  }
  std::printf("| change of a step | runs a side | comparisons | regression |\n|---|---|---|---|\n");
  for (const std::size_t runs : {3U, 5U}) {
    if (runs <= pairs.size()) { print_shares(pairs, runs); }
  }
  return pairs.size() < 3 ? 2 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--pairs") == 0) { return judge_pairs(); }
  const int comparisons = count > 1 ? std::atoi(arguments[1]) : 1000;
  if (comparisons < 1) {
    std::fprintf(stderr, "takt_diff_power: %s is no number of comparisons\n", arguments[1]);
    return 2;
  }
  print_tables(comparisons);
  return 0;
}
