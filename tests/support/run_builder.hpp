// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "findings/step_history.hpp"
#include "support/random.hpp"
#include "support/step_builder.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace takt_test {

/// Normal variation of step times.
struct StepNoise {
  double scatter = 0.05;      ///< standard deviation of the logarithm
  double correlation = 0;     ///< with the previous step
  double bursts = 0;          ///< number of bursts per 1,000 steps, on average
  int burst_steps = 10;       ///< steps per burst
  double burst_longer = 1.3;  ///< their factor
};

/// Factors by which consecutive steps are longer; each seed gives a fixed sequence.
class NoiseSource {
 public:
  NoiseSource(const StepNoise& noise, std::uint64_t seed) : noise_(noise), random_(seed), state_(normal()) {}

  double next() {
    state_ = noise_.correlation * state_ + std::sqrt(1 - noise_.correlation * noise_.correlation) * normal();
    if (random_.uniform() < noise_.bursts / 1000) { burst_ = noise_.burst_steps; }
    return std::exp(noise_.scatter * state_) * (burst_-- > 0 ? noise_.burst_longer : 1);
  }
  double normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double distance = std::sqrt(-2 * std::log(1 - random_.uniform()));
    return distance * std::cos(kTwoPi * random_.uniform());
  }

 private:
  StepNoise noise_;
  Random random_;
  double state_;
  int burst_ = 0;
};

/// Builds a complete run of one process: rows, path totals and history. Times in ms.
class RunBuilder {
 public:
  using Regions = std::vector<std::pair<std::uint32_t, double>>;

  RunBuilder() { run.finished = true; }

  std::uint32_t region(const char* name, takt::Kind kind = takt::Kind::compute) { return steps_.region(name, kind); }
  std::uint32_t beside(const char* name, takt::Kind kind = takt::Kind::other) {
    return add_path(run, name, steps_.epoch, kind);
  }
  /// Adds time without regions, before the first step or after the last one.
  void idle(double ms) { steps_.pass(ns_of(ms)); }
  /// Adds a region next to the Batch, before the next step.
  void pause(std::uint32_t path, double ms) {
    run.paths[path].host.add(static_cast<std::uint64_t>(ns_of(ms)));
    between_ += ns_of(ms);
  }
  /// The same without a region.
  void wait(double ms) { between_ += ns_of(ms); }
  /// Ends an Epoch before the next step, which then has no period.
  void break_pace() { breaks_ = true; }
  /// \param more_ms time outside its regions.
  takt::Row& step(const Regions& regions, double more_ms = 0) {
    std::int64_t whole = ns_of(more_ms);
    std::vector<std::pair<std::uint32_t, std::int64_t>> cells;
    for (const auto& [path, ms] : regions) {
      if (ms <= 0) { continue; }
      cells.emplace_back(path, ns_of(ms));
      run.paths[path].host.add(static_cast<std::uint64_t>(ns_of(ms)));
      if (run.paths[path].parent == steps_.batch) { whole += ns_of(ms); }
    }
    if (std::exchange(breaks_, false)) {
      steps_.pass(std::exchange(between_, 0));
      between_ = -1;
    }
    takt::Row& row = steps_.step(whole, cells, std::exchange(between_, 0));
    takt::Series& series = run.series[steps_.series];
    ++series.steps;
    series.warmup_steps += row.warmup ? 1 : 0;
    takt::Summary& host = run.paths[steps_.batch].host;
    row.warmup ? host.add_warmup(static_cast<std::uint64_t>(whole)) : host.add(static_cast<std::uint64_t>(whole));
    return row;
  }
  /// Returns a run that starts at 0 and ends now.
  takt::Snapshot finish() {
    run.wall_ns = steps_.now_ns();
    run.paths[steps_.epoch].host.add(static_cast<std::uint64_t>(run.wall_ns));
    takt::StepHistory history;
    history.add(run);
    run.history = std::make_shared<const takt::StepHistory>(history.finished());
    return run;
  }

 private:
  static std::int64_t ns_of(double ms) { return static_cast<std::int64_t>(ms * 1e6); }

  StepBuilder steps_;
  std::int64_t between_ = 0;
  bool breaks_ = false;

 public:
  takt::Snapshot& run = steps_.run;
  std::uint32_t batch = steps_.batch;
  std::uint32_t epoch = steps_.epoch;
  std::uint64_t& warmup = steps_.warmup;
};

}  // namespace takt_test
