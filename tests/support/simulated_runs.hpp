// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "compare/change.hpp"
#include "compare/step_scatter.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace takt_test {

/// Runs of a machine on which runs differ, steps are like their neighbours, come in bursts, and drift.
struct SimulatedMachine {
  double scatter = 0.01;       ///< standard deviation between runs
  double new_scatter = -1;     ///< of the new side; negative: the same
  std::size_t steps = 1000;    ///< of a run
  double step_scatter = 0.03;  ///< of steps within a run
  double correlation = 0.6;    ///< of a step with the one before
  double bursts = 0.5;         ///< of a run, on average: ten steps each that take 30 % longer
  double run_drift = 0.01;     ///< from the first to the last step of a run, at most, either way
  double drift = 0.01;         ///< from the first to the last run of a session
};

struct SimulatedSides {
  std::vector<takt::detail::RunFigure> base;
  std::vector<takt::detail::RunFigure> now;
};

/// \param random any of the standard library.
template <class Random>
takt::detail::RunFigure simulate_run(const SimulatedMachine& machine, double pace, Random& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> either(-machine.run_drift, machine.run_drift);
  const double mean = pace * std::exp(machine.scatter * normal(random));
  const double slope = either(random);
  const double fresh = std::sqrt(1 - machine.correlation * machine.correlation);
  std::bernoulli_distribution begins(machine.bursts / static_cast<double>(machine.steps));
  takt::detail::StepScatter scatter;
  double state = normal(random);
  int burst = 0;
  double sum = 0;
  for (std::size_t step = 0; step < machine.steps; ++step) {
    state = machine.correlation * state + fresh * normal(random);
    if (begins(random)) { burst = 10; }
    const double place = static_cast<double>(step) / static_cast<double>(machine.steps) - 0.5;
    const double time = mean * (1 + machine.step_scatter * state) * (1 + slope * place) * (burst-- > 0 ? 1.3 : 1);
    scatter.add(time, 1);
    sum += time;
  }
  return {sum / static_cast<double>(machine.steps), scatter.standard_error(), 0};
}

/// `runs` on each side in turn, while the machine drifts; those of the new side take `slower` longer.
template <class Random>
SimulatedSides simulate_sides(const SimulatedMachine& machine, std::size_t runs, double slower, Random& random) {
  SimulatedSides sides;
  SimulatedMachine new_machine = machine;
  if (machine.new_scatter >= 0) { new_machine.scatter = machine.new_scatter; }
  for (std::size_t at = 0; at < 2 * runs; ++at) {
    const double pace = 1 + machine.drift * static_cast<double>(at) / static_cast<double>(2 * runs);
    const bool is_new = (at + at / 2) % 2 != 0;  // ABBA
    (is_new ? sides.now : sides.base)
        .push_back(simulate_run(is_new ? new_machine : machine, pace * (is_new ? 1 + slower : 1), random));
  }
  return sides;
}

}  // namespace takt_test
