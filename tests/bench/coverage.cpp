// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
// Measures how often the interval of a throughput contains the true throughput: takt_coverage [runs]
//
// Simulates runs with a known throughput and passes their steps to the library's code. For each pace and length of runs
// it prints the percentage of intervals that contain the true value, and the percentage of runs that got one. The
// numbers are the same on every machine. Exits with 1 if the coverage stated in docs/report.md is not reached.
#include <takt/snapshot.hpp>

#include "record/throughput_windows.hpp"
#include "support/random.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using takt::NoInterval;
using takt::Throughput;
using takt::detail::ThroughputWindows;
using takt_test::Random;

constexpr double kStepNs = 1e6;
constexpr std::uint64_t kItems = 64;
constexpr double kScatter = 0.05;  // fraction of a step's duration
constexpr double kPromised = 92;   // minimum coverage of the intervals, in %
constexpr std::uint64_t kLengths[] = {300, 1000, 3000, 10'000, 30'000};

/// Step durations, relative to the usual one.
struct Pace {
  const char* name;
  double memory;          ///< coefficient of a first-order autoregression of step durations
  unsigned every;         ///< checkpoint interval in steps; 0: no checkpoints
  double checkpoint;      ///< duration of a checkpoint
  double stalls;          ///< fraction of steps that stall
  double stall;           ///< duration of a stalled step
  std::uint64_t promise;  ///< minimum number of steps for which coverage is guaranteed; 0: never
};

constexpr Pace kPaces[] = {
    {"independent steps", 0, 0, 0, 0, 0, 1000},
    {"autoregression 0.5", 0.5, 0, 0, 0, 0, 1000},
    {"autoregression 0.9", 0.9, 0, 0, 0, 0, 1000},
    {"autoregression 0.99", 0.99, 0, 0, 0, 0, 0},
    {"a checkpoint of 115 steps after 50", 0, 50, 115, 0, 0, 1000},
    {"a checkpoint of 115 steps after 500", 0, 500, 115, 0, 0, 1000},
    {"0.2 % of steps stall for 300", 0, 0, 0, 0.002, 300, 10'000},
};

double mean_of(const Pace& pace) {
  const double usual = 1 - pace.stalls + pace.stalls * pace.stall;
  return usual + (pace.every == 0 ? 0 : pace.checkpoint / pace.every);
}

Throughput run(const Pace& pace, std::uint64_t steps, Random& random) {
  ThroughputWindows windows;
  const double fresh = std::sqrt(1 - pace.memory * pace.memory);
  const std::uint64_t phase = pace.every == 0 ? 0 : random.below(pace.every);
  double state = random.bell();
  for (std::uint64_t step = 0; step < steps; ++step) {
    double length = 1 + kScatter * state;
    state = pace.memory * state + fresh * random.bell();
    if (pace.every != 0 && (step + phase) % pace.every == 0) { length += pace.checkpoint; }
    if (pace.stalls > 0 && random.uniform() < pace.stalls) { length = pace.stall; }
    windows.add(kItems, static_cast<std::uint64_t>(length * kStepNs));
  }
  return windows.read();
}

/// Prints one cell. Returns true if its coverage is as guaranteed.
bool holds(const Pace& pace, std::uint64_t steps, int runs) {
  Random random(20'260'301 + steps);
  const double truth = static_cast<double>(kItems) / (mean_of(pace) * kStepNs * 1e-9);
  int given = 0;
  int right = 0;
  for (int count = 0; count < runs; ++count) {
    const Throughput found = run(pace, steps, random);
    if (found.no_interval != NoInterval::none) { continue; }
    ++given;
    right += found.items_low <= truth && truth <= found.items_high ? 1 : 0;
  }
  if (given == 0) {
    std::printf("       -      ");
    return true;
  }
  const double coverage = 100.0 * right / given;
  std::printf("  %5.1f of %3.0f", coverage, 100.0 * given / runs);
  const bool promised = pace.promise != 0 && steps >= pace.promise;
  const bool kept = !promised || coverage >= kPromised;
  std::printf(kept ? " " : "!");
  return kept;
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::atoi(arguments[1]) : 2000;
  if (runs <= 0) {
    std::fprintf(stderr, "takt_coverage [runs]\n");
    return 2;
  }
  std::printf("intervals that hold the truth, %% of those that are given, %% of %d runs\n%-36s", runs, "steps");
  for (const std::uint64_t steps : kLengths) { std::printf("  %10llu  ", static_cast<unsigned long long>(steps)); }
  std::printf("\n");
  bool all = true;
  for (const Pace& pace : kPaces) {
    std::printf("%-36s", pace.name);
    for (const std::uint64_t steps : kLengths) { all = holds(pace, steps, runs) && all; }
    std::printf("\n");
    std::fflush(stdout);
  }
  if (!all) { std::printf("! below the %.0f %% that docs/report.md promises\n", kPromised); }
  return all ? 0 : 1;
}
