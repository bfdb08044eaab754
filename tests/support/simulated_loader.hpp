// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace takt_test {

/// A loader and a training step of given rates.
struct SimulatedWork {
  double load_ns = 0;     ///< per batch, on one thread
  double step_ns = 0;     ///< per step of the model
  unsigned threads = 0;   ///< loader threads; 0: the loop loads batches itself
  unsigned depth = 0;     ///< maximum number of batches loaded ahead
  double scatter = 0.05;  ///< relative deviation of both

  bool prefetches() const noexcept { return threads != 0 && depth != 0; }
};

/// Loads batches in order on its own threads, at most `depth` ahead of the consumer. A thread starts the next batch
/// when it is free and the queue has space. Only the times given here pass.
class SimulatedLoader {
 public:
  SimulatedLoader(const SimulatedWork& work, std::uint64_t seed) : work_(work), random_(seed) {
    free_ns_.resize(std::max(work.threads, 1U));
  }

  /// Returns the time at which a batch requested at `now_ns` is ready.
  double next(double now_ns) {
    auto thread = std::min_element(free_ns_.begin(), free_ns_.end());
    double begin_ns = now_ns;
    if (work_.prefetches()) {
      const double space_ns = given_ns_.size() < work_.depth ? start_ns_ : given_ns_[given_ns_.size() - work_.depth];
      begin_ns = std::max(*thread, space_ns);
    }
    *thread = begin_ns + scattered(work_.load_ns);
    // In order: a batch waits for the previous one.
    last_ns_ = std::max({now_ns, *thread, last_ns_});
    given_ns_.push_back(last_ns_);
    if (given_ns_.size() > work_.depth + 1) { given_ns_.pop_front(); }
    return last_ns_;
  }
  /// Returns the end of a step that starts at `now_ns`.
  double step(double now_ns) { return now_ns + scattered(work_.step_ns); }
  /// Starts the loader at `now_ns`.
  void start(double now_ns) {
    start_ns_ = now_ns;
    std::fill(free_ns_.begin(), free_ns_.end(), now_ns);
  }

 private:
  double scattered(double ns) { return std::max(ns * (1 + work_.scatter * random_.bell()), 0.1 * ns); }

  const SimulatedWork work_;
  Random random_;
  double start_ns_ = 0;
  double last_ns_ = 0;
  std::vector<double> free_ns_;  // time at which each thread becomes free
  std::deque<double> given_ns_;  // times of the last deliveries, each of which freed space
};

/// Steady-state steps per second: of the loader alone, of the model alone, of both.
struct TrueRates {
  double io = 0;
  double synthetic = 0;
  double full = 0;
};

inline TrueRates true_rates(const SimulatedWork& work, int steps = 20'000) {
  const auto rate = [&](bool loads, bool works) {
    SimulatedLoader loader(work, 4711);
    double now_ns = 0;
    double begin_ns = 0;
    for (int step = -1000; step < steps; ++step) {
      if (step == 0) { begin_ns = now_ns; }
      if (loads) { now_ns = loader.next(now_ns); }
      if (works) { now_ns = loader.step(now_ns); }
    }
    return steps * 1e9 / (now_ns - begin_ns);
  };
  return {rate(true, false), rate(false, true), rate(true, true)};
}

}  // namespace takt_test
