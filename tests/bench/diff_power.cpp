// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// What the gate of `takt diff --fail-on 2%` says of simulated runs, as tables for docs/compare.md: always the same ones.
// takt_diff_power [comparisons a cell, 1000 without]

#include "support/simulated_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

constexpr double kThreshold = 0.02;

struct Cell {
  int regression = 0;
  int passed = 0;
  double needed = 0;  // mean of those that are inconclusive
  int undecided = 0;
};

Cell cell_of(const takt_test::SimulatedMachine& machine, std::size_t runs, double slower, int comparisons) {
  Cell cell;
  std::mt19937_64 random(runs * 1000 + static_cast<std::uint64_t>(machine.scatter * 1e6) +
                         static_cast<std::uint64_t>(slower * 100));
  for (int round = 0; round < comparisons; ++round) {
    const takt_test::SimulatedSides sides = takt_test::simulate_sides(machine, runs, slower, random);
    const takt::detail::GateAnswer gate = takt::detail::judge(change_of(sides.base, sides.now), kThreshold);
    cell.regression += gate.answer == takt::detail::Answer::regression;
    cell.passed += gate.answer == takt::detail::Answer::no_regression;
    if (gate.answer != takt::detail::Answer::inconclusive) { continue; }
    ++cell.undecided;
    cell.needed += static_cast<double>(gate.runs_needed);
  }
  return cell;
}

void print_table(int comparisons) {
  std::printf(
      "| scatter | runs a side | +0 %%: regression | no regression | +2 %%: no regression | +5 %%: regression | "
      "no regression | inconclusive | runs it asks for |\n|---|---|---|---|---|---|---|---|---|\n");
  const double percent = 100.0 / comparisons;
  for (const double scatter : {0.005, 0.01, 0.02, 0.05}) {
    takt_test::SimulatedMachine machine;
    machine.scatter = scatter;
    for (const std::size_t runs : {3U, 5U, 10U}) {
      const Cell same = cell_of(machine, runs, 0, comparisons);
      const Cell little = cell_of(machine, runs, 0.02, comparisons);
      const Cell slower = cell_of(machine, runs, 0.05, comparisons);
      std::printf("| %.1f %% | %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% |", 100 * scatter, runs,
                  percent * same.regression, percent * same.passed, percent * little.passed,
                  percent * slower.regression, percent * slower.passed, percent * slower.undecided);
      slower.undecided == 0 ? std::printf(" |\n") : std::printf(" %.0f |\n", slower.needed / slower.undecided);
      std::fflush(stdout);
    }
  }
}

/// New runs that scatter more than those of the base.
void print_unlike_sides(int comparisons) {
  std::printf(
      "\n| scatter, base | new | runs a side | +0 %%: regression | +2 %%: regression | +5 %%: no regression |\n"
      "|---|---|---|---|---|---|\n");
  const double percent = 100.0 / comparisons;
  takt_test::SimulatedMachine machine;
  machine.scatter = 0.005;
  for (const double scatter : {0.02, 0.05}) {
    machine.new_scatter = scatter;
    for (const std::size_t runs : {3U, 5U, 10U}) {
      const Cell same = cell_of(machine, runs, 0, comparisons);
      const Cell little = cell_of(machine, runs, 0.02, comparisons);
      const Cell slower = cell_of(machine, runs, 0.05, comparisons);
      std::printf("| %.1f %% | %.1f %% | %zu | %.1f %% | %.1f %% | %.1f %% |\n", 100 * machine.scatter, 100 * scatter,
                  runs, percent * same.regression, percent * little.regression, percent * slower.passed);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int comparisons = count > 1 ? std::atoi(arguments[1]) : 1000;
  if (comparisons < 1) {
    std::fprintf(stderr, "takt_diff_power: %s is no number of comparisons\n", arguments[1]);
    return 2;
  }
  print_table(comparisons);
  print_unlike_sides(comparisons);
  return 0;
}
