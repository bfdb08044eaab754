// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/change.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace takt_test {

/// Runs of a machine with differences between runs, correlated steps, bursts and drift.
struct SimulatedMachine {
  double scatter = 0.01;       ///< standard deviation between runs
  double new_scatter = -1;     ///< the same for the new side; negative: as the old side
  std::size_t steps = 1000;    ///< per run
  double step_scatter = 0.03;  ///< of steps within a run
  double correlation = 0.6;    ///< with the previous step
  double bursts = 0.5;         ///< per run, on average: ten steps each that take 30 % longer
  double run_drift = 0.01;     ///< from first to last step of a run, at most, either way
  double drift = 0.01;         ///< from first to last run of a session
  double slow_share = 0;       ///< share of the time in which another process takes half of the processor
  double slow_factor = 1.75;   ///< factor of step times then
  double slow_steps = 2000;    ///< mean length of such a period
};

/// The statistic of a run's steps that is compared.
enum class Figure { mean, p25 };

struct SimulatedSides {
  std::vector<takt::detail::RunFigure> base;
  std::vector<takt::detail::RunFigure> now;
  takt::detail::RunPairs pairs;
};

/// Alternates between fast and slow periods, from step to step and from run to run.
class SlowTimes {
 public:
  template <class Random>
  SlowTimes(const SimulatedMachine& machine, Random& random)
      : is_slow_(std::bernoulli_distribution(machine.slow_share)(random)),
        ends_(1 / machine.slow_steps),
        begins_(machine.slow_share / (1 - machine.slow_share) / machine.slow_steps) {}
  template <class Random>
  bool next(Random& random) {
    if (std::bernoulli_distribution(is_slow_ ? ends_ : begins_)(random)) { is_slow_ = !is_slow_; }
    return is_slow_;
  }

 private:
  bool is_slow_;
  double ends_;
  double begins_;
};

/// \param random any random engine of the standard library.
template <class Random>
takt::detail::RunFigure simulate_run(const SimulatedMachine& machine, double pace, Figure figure, SlowTimes& slow,
                                     Random& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> either(-machine.run_drift, machine.run_drift);
  const double mean = pace * std::exp(machine.scatter * normal(random));
  const double slope = either(random);
  const double fresh = std::sqrt(1 - machine.correlation * machine.correlation);
  std::bernoulli_distribution begins(machine.bursts / static_cast<double>(machine.steps));
  std::vector<double> times;
  double state = normal(random);
  int burst = 0;
  for (std::size_t step = 0; step < machine.steps; ++step) {
    state = machine.correlation * state + fresh * normal(random);
    if (begins(random)) { burst = 10; }
    const double place = static_cast<double>(step) / static_cast<double>(machine.steps) - 0.5;
    times.push_back(mean * (1 + machine.step_scatter * state) * (1 + slope * place) * (burst-- > 0 ? 1.3 : 1) *
                    (machine.slow_share > 0 && slow.next(random) ? machine.slow_factor : 1));
  }
  if (figure == Figure::p25) {
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::nth_element(times.begin(), at, times.end());
    return {*at};
  }
  double sum = 0;
  for (const double each : times) { sum += each; }
  return {sum / static_cast<double>(machine.steps)};
}

/// Simulates `runs` runs per side, alternating, while the machine drifts; those of the new side take `slower` longer.
template <class Random>
SimulatedSides simulate_sides(const SimulatedMachine& machine, std::size_t runs, double slower, Random& random,
                              Figure figure = Figure::p25) {
  SimulatedSides sides;
  SimulatedMachine new_machine = machine;
  if (machine.new_scatter >= 0) { new_machine.scatter = machine.new_scatter; }
  SlowTimes slow(machine, random);
  for (std::size_t run = 0; run < runs; ++run) { sides.pairs.emplace_back(run, run); }
  for (std::size_t at = 0; at < 2 * runs; ++at) {
    const double pace = 1 + machine.drift * static_cast<double>(at) / static_cast<double>(2 * runs);
    const bool is_new = (at + at / 2) % 2 != 0;  // ABBA
    (is_new ? sides.now : sides.base)
        .push_back(
            simulate_run(is_new ? new_machine : machine, pace * (is_new ? 1 + slower : 1), figure, slow, random));
  }
  return sides;
}

}  // namespace takt_test
