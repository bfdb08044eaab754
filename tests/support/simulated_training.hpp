// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "support/run_builder.hpp"

#include <cmath>
#include <cstdint>

namespace takt_test {

/// A training run on one of four ranks, without problems except those set here.
struct SimulatedTraining {
  int steps = 2000;  ///< of 100 ms each
  StepNoise noise;
  double io = 0.05;             ///< share of a step
  double comm = 0.05;           ///< share of a step
  double region_scatter = 0.1;  ///< of each region, in addition to that of the step
  int warmup = 10;
  double warmup_longer = 1.2;  ///< factor of warm-up steps
  int slow_steps = 0;          ///< slow steps after warm-up
  double slow_longer = 1;
  double change = 0;       ///< relative change of all steps, caused by IO
  double change_at = 0.6;  ///< part of the run at which the change starts
  double drift = 0;        ///< the same, growing evenly over the run
  int save_every = 0;      ///< in steps; 0: no checkpoints
  double save_ms = 0;
  double stalls = 0;  ///< share of steps that IO delays by stall_ms
  double stall_ms = 0;
  double between_ms = 0;  ///< before each step, outside all regions
  int validate_every = 0;
  double validate_ms = 0;
};

inline takt::Snapshot simulate_training(const SimulatedTraining& training, std::uint64_t seed) {
  RunBuilder run;
  run.run.run.world_size = 4;
  run.run.process.waited_ns = 0;
  run.warmup = static_cast<std::uint64_t>(training.warmup);
  const std::uint32_t io = run.region("IO", takt::Kind::io);
  const std::uint32_t forward = run.region("Forward");
  const std::uint32_t backward = run.region("Backward");
  const std::uint32_t comm = run.region("Comm", takt::Kind::comm);
  const std::uint32_t save = run.region("Checkpoint", takt::Kind::io);
  const std::uint32_t validation = run.beside("Validation");
  NoiseSource source(training.noise, seed);
  NoiseSource regions({training.region_scatter}, seed + 1);
  Random random(seed + 2);
  const double compute = 100 * (1 - training.io - training.comm);
  for (int step = 0; step < training.steps; ++step) {
    double factor = source.next();
    if (step < training.warmup) { factor *= training.warmup_longer; }
    if (step >= training.warmup && step < training.warmup + training.slow_steps) { factor *= training.slow_longer; }
    const double place = static_cast<double>(step) / training.steps;
    const double more = (place >= training.change_at ? training.change : 0) + training.drift * place;
    const bool stalls = random.uniform() < training.stalls && step >= training.warmup;
    const bool saves = training.save_every != 0 && step % training.save_every == training.save_every - 1;
    const auto part = [&](double ms) { return ms * factor * regions.next(); };
    if (training.validate_every != 0 && step % training.validate_every == training.validate_every - 1) {
      run.pause(validation, training.validate_ms);
      run.break_pace();
    }
    run.wait(training.between_ms);
    run.step({{io, part(100 * training.io) + 100 * more * factor + (stalls ? training.stall_ms : 0)},
              {forward, part(compute / 3)},
              {backward, part(compute * 2 / 3)},
              {comm, part(100 * training.comm)},
              {save, saves ? training.save_ms : 0}});
  }
  return run.finish();
}

}  // namespace takt_test
