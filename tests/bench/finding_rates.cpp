// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures the false alarms and the detection rate of each findings rule on simulated runs, the same ones each time, as
// tables for docs/findings.md.
//  takt_finding_rates [healthy runs per cell, default 1000; other cells use a quarter]
//  Exits with 1 if a rule reports more than one in a hundred healthy runs of a cell, beyond chance.

#include "findings/findings.hpp"
#include "support/simulated_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using takt::Finding;
using takt::detail::Conclusions;
using takt_test::SimulatedTraining;

namespace {

constexpr double kMaxFalse = 0.01;

Conclusions conclusions(const SimulatedTraining& training, int round) {
  return takt::detail::conclusions_of(
      takt_test::simulate_training(training, 4096 * (1 + static_cast<std::uint64_t>(round))));
}

const Finding* find(const Conclusions& said, const char* what) {
  const auto found = std::find_if(said.findings.begin(), said.findings.end(),
                                  [what](const Finding& each) { return each.what == what; });
  return found == said.findings.end() ? nullptr : &*found;
}

double value_of(const Finding& finding, const char* name) {
  for (const takt::Evidence& each : finding.evidence) {
    if (each.name == name) { return each.value; }
  }
  return 0;
}

/// Maximum number of healthy runs of a cell with a finding, by finding; and over all findings.
struct Alarms {
  std::map<std::string, int> max;
  std::map<std::string, int> all;
  int cells = 0;

  void add(const std::map<std::string, int>& cell) {
    ++cells;
    for (const auto& [what, count] : cell) {
      max[what] = std::max(max[what], count);
      all[what] += count;
    }
  }
};

std::map<std::string, int> alarms_of(const SimulatedTraining& training, int runs) {
  std::map<std::string, int> cell;
  for (int round = 0; round < runs; ++round) {
    for (const Finding& each : conclusions(training, round).findings) { ++cell[each.what]; }
  }
  return cell;
}

/// Returns true if no rule exceeds its rate of false alarms.
bool print_false_alarms(int runs) {
  constexpr double kScatters[] = {0.01, 0.05, 0.2};
  constexpr double kCorrelations[] = {0, 0.3, 0.6, 0.9};
  Alarms alarms;
  std::printf("| steps | bursts |");
  for (const double scatter : kScatters) {
    for (const double correlation : kCorrelations) { std::printf(" %.0f %%, %.1f |", 100 * scatter, correlation); }
  }
  std::printf("\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const int steps : {60, 300, 1000}) {
    for (const double bursts : {0.0, 1.0}) {
      std::printf("| %d | %s |", steps, bursts > 0 ? "yes" : "no");
      for (const double scatter : kScatters) {
        for (const double correlation : kCorrelations) {
          SimulatedTraining training;
          training.steps = steps;
          training.noise = {scatter, correlation, bursts};
          const std::map<std::string, int> cell = alarms_of(training, runs);
          int any = 0;
          for (const auto& [what, count] : cell) { any += count; }
          alarms.add(cell);
          std::printf(" %.1f |", 100.0 * any / runs);
          std::fflush(stdout);
        }
      }
      std::printf("\n");
    }
  }
  std::printf("\n| rule | of all healthy runs | of those of the worst cell |\n|---|---|---|\n");
  bool good = true;
  for (const auto& [what, max] : alarms.max) {
    std::printf("| %s | %.2f %% | %.1f %% |\n", what.c_str(), 100.0 * alarms.all[what] / runs / alarms.cells,
                100.0 * max / runs);
    // Three standard errors above a rate of 1 %.
    good = good && max <= runs * kMaxFalse + 3 * std::sqrt(runs * kMaxFalse);
  }
  return good;
}

struct Power {
  int found = 0;
  int size_held = 0;
  int place_held = 0;
  int cost_held = 0;
};

/// Returns how often the rule finds the problem, and how often its interval contains the true value.
Power power_of(const SimulatedTraining& training, const char* what, const char* value, const char* within, double truth,
               int runs) {
  Power power;
  for (int round = 0; round < runs; ++round) {
    const Conclusions said = conclusions(training, round);
    const Finding* const finding = find(said, what);
    if (finding == nullptr) { continue; }
    ++power.found;
    power.size_held += within != nullptr && std::fabs(value_of(*finding, value) - truth) <= value_of(*finding, within);
    power.place_held += std::fabs(value_of(*finding, "step") - training.change_at * training.steps) <=
                        value_of(*finding, "step_within");
    constexpr double kStepNs = 100e6;
    const double cost_ns = training.change * kStepNs * (1 - training.change_at) * training.steps;
    power.cost_held += finding->cost && finding->cost->low_ns <= cost_ns && cost_ns <= finding->cost->high_ns;
  }
  return power;
}

double of(int count, int all) { return all == 0 ? 0 : 100.0 * count / all; }

void print_changes(int runs) {
  std::printf(
      "\n| steps | scatter, correlation | change | found | size in its interval | place in its interval "
      "| cost in its interval |\n|---|---|---|---|---|---|---|\n");
  for (const int steps : {400, 1000}) {
    for (const double correlation : {0.0, 0.6, 0.9}) {
      for (const double change : {0.02, 0.03, 0.05, 0.1, -0.05}) {
        SimulatedTraining training;
        training.steps = steps;
        training.noise = {0.05, correlation};
        training.change = change;
        if (change < 0) { training.io = 0.15; }
        const Power power = power_of(training, "change_point", "change", "change_within", change, runs);
        std::printf("| %d | 5 %%, %.1f | %+.0f %% | %.1f %% | %.1f %% | %.1f %% | ", steps, correlation, 100 * change,
                    of(power.found, runs), of(power.size_held, power.found), of(power.place_held, power.found));
        std::printf(change > 0 ? "%.1f %% |\n" : "none |\n", of(power.cost_held, power.found));
        std::fflush(stdout);
      }
    }
  }
}

void print_drifts(int runs) {
  std::printf(
      "\n| steps | scatter, correlation | drift over the run | found | size in its interval "
      "|\n|---|---|---|---|---|\n");
  for (const int steps : {400, 1000}) {
    for (const double correlation : {0.0, 0.6, 0.9}) {
      for (const double drift : {0.02, 0.05, 0.1, 0.2}) {
        SimulatedTraining training;
        training.steps = steps;
        training.noise = {0.05, correlation};
        training.drift = drift;
        const Power power = power_of(training, "drift", "in_all", "in_all_within", drift, runs);
        std::printf("| %d | 5 %%, %.1f | %+.0f %% | %.1f %% | %.1f %% |\n", steps, correlation, 100 * drift,
                    of(power.found, runs), of(power.size_held, power.found));
        std::fflush(stdout);
      }
    }
  }
}

void print_slow_steps(int runs) {
  std::printf("\n| steps | slow ones | of the run | found |\n|---|---|---|---|\n");
  for (const int steps : {400, 1000}) {
    for (const double share : {0.01, 0.02, 0.03, 0.05}) {
      for (const bool regular : {true, false}) {
        SimulatedTraining training;
        training.steps = steps;
        training.noise = {0.05, 0.6};
        constexpr double kLongerMs = 500;  // added to each
        const double every = kLongerMs / 100 * (1 - share) / share;
        if (regular) {
          training.save_every = static_cast<int>(std::lround(every));
          training.save_ms = kLongerMs;
        } else {
          training.stalls = 1 / every;
          training.stall_ms = kLongerMs;
        }
        const Power power = power_of(training, "slow_steps", "", nullptr, 0, runs);
        std::printf("| %d | %s | %.0f %% | %.1f %% |\n", steps, regular ? "every n-th" : "by chance", 100 * share,
                    of(power.found, runs));
        std::fflush(stdout);
      }
    }
  }
}

void print_bounds(int runs) {
  std::printf("\n| steps | IO is | found |\n|---|---|---|\n");
  for (const int steps : {60, 200, 1000}) {
    for (const double io : {0.08, 0.1, 0.11, 0.12, 0.15, 0.2, 0.4}) {
      SimulatedTraining training;
      training.steps = steps;
      training.noise = {0.05, 0.6};
      training.region_scatter = 0.3;
      training.io = io;
      const Power power = power_of(training, "input_bound", "", nullptr, 0, runs);
      std::printf("| %d | %.0f %% | %.1f %% |\n", steps, 100 * io, of(power.found, runs));
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::atoi(arguments[1]) : 1000;
  if (runs < 1) {
    std::fprintf(stderr, "takt_finding_rates: %s is no number of runs\n", arguments[1]);
    return 2;
  }
  const bool good = print_false_alarms(runs);
  const int each = std::max(runs / 4, 1);  // detection needs fewer runs than rare false alarms
  print_changes(each);
  print_drifts(each);
  print_slow_steps(each);
  print_bounds(each);
  return good ? 0 : 1;
}
