// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
// Measures how often the interval of trials contains the true rate, and that of a mean error the true mean:
// takt_trial_coverage [runs]
//
// Simulates trials with a known rate and passes their steps to the library's code. For each pace and length of trials
// it prints the percentage of intervals that contain the true value, and their median width. It does the same for
// predictions. The numbers are the same on every machine. Exits with 1 if the coverage stated in docs/trials.md is not
// reached.
#include <takt/models.hpp>

#include "measure/trial_rate.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using takt::TrialRate;
using takt::detail::Trial;
using takt_test::Random;

constexpr double kStepNs = 1e6;
constexpr std::uint64_t kItems = 64;
constexpr double kScatter = 0.05;  // fraction of a step's duration
constexpr double kPromised = 92;   // minimum coverage of the intervals, in %
constexpr std::size_t kSteps[] = {10, 30, 100, 300, 1000};

/// Step durations, relative to the usual one.
struct Pace {
  const char* name;
  double memory;        ///< coefficient of a first-order autoregression of step durations
  double level;         ///< standard deviation of the speed of whole trials
  double stalls;        ///< fraction of steps that stall
  double stall;         ///< duration of a stalled step
  bool ahead;           ///< the host runs ahead of its device and waits at the end
  std::size_t promise;  ///< minimum steps per trial for which coverage is guaranteed; 0: never
};

constexpr Pace kPaces[] = {
    {"independent steps", 0, 0, 0, 0, false, 10},
    {"autoregression 0.5", 0.5, 0, 0, 0, false, 10},
    {"autoregression 0.9", 0.9, 0, 0, 0, false, 100},
    {"autoregression 0.99", 0.99, 0, 0, 0, false, 0},
    {"each trial has its pace, 1 %", 0, 0.01, 0, 0, false, 10},
    {"each trial has its pace, 3 %", 0, 0.03, 0, 0, false, 10},
    {"3 % of steps stall for 10", 0, 0, 0.03, 10, false, 100},
    {"0.3 % of steps stall for 30", 0, 0, 0.003, 30, false, 0},
    {"a host that runs ahead", 0, 0, 0, 0, true, 10},
};

std::vector<Trial> simulate(const Pace& pace, std::size_t steps, Random& random) {
  std::vector<Trial> trials(3);
  const double fresh = std::sqrt(1 - pace.memory * pace.memory);
  double state = random.bell();
  for (Trial& trial : trials) {
    const double level = 1 + pace.level * random.bell();
    double left_ns = 0;  // work queued on the device
    for (std::size_t step = 0; step < steps; ++step) {
      double length = level * (1 + kScatter * state);
      state = pace.memory * state + fresh * random.bell();
      if (pace.stalls > 0 && random.uniform() < pace.stalls) { length = pace.stall; }
      // A host that runs ahead launches in a tenth of the time, until the queue is full.
      const double seen = pace.ahead && left_ns < 5 * kStepNs ? 0.1 * length : length;
      left_ns += (length - seen) * kStepNs;
      trial.steps.push_back({static_cast<std::uint64_t>(seen * kStepNs), kItems});
    }
    trial.wait_ns = static_cast<std::uint64_t>(left_ns);
  }
  return trials;
}

/// Prints one cell. Returns true if its coverage is as guaranteed.
bool report(double coverage, double half_width, bool promised) {
  const bool kept = !promised || coverage >= kPromised;
  std::printf("  %5.1f (%5.2f)%s", coverage, half_width, kept ? " " : "!");
  return kept;
}

double middle(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

bool holds(const Pace& pace, std::size_t steps, int runs) {
  Random random(20'260'301 + steps);
  const double mean = 1 - pace.stalls + pace.stalls * pace.stall;
  const double truth = static_cast<double>(kItems) / (mean * kStepNs * 1e-9);
  int right = 0;
  std::vector<double> widths;
  for (int count = 0; count < runs; ++count) {
    const TrialRate rate = takt::detail::rate_of(simulate(pace, steps, random), pace.ahead);
    right += rate.interval.value().low <= truth && truth <= rate.interval.value().high ? 1 : 0;
    widths.push_back(100 * (rate.interval.value().high / rate.per_s - 1));
  }
  return report(100.0 * right / runs, middle(widths), pace.promise != 0 && steps >= pace.promise);
}

bool trials_hold(int runs) {
  std::printf(
      "trials: intervals that hold the truth, %% of %d, and half of their width in the middle, %% of the rate\n%-30s",
      runs, "steps a trial");
  for (const std::size_t steps : kSteps) { std::printf("  %14zu", steps); }
  std::printf("\n");
  bool all = true;
  for (const Pace& pace : kPaces) {
    std::printf("%-30s", pace.name);
    for (const std::size_t steps : kSteps) { all = holds(pace, steps, runs) && all; }
    std::printf("\n");
    std::fflush(stdout);
  }
  return all;
}

/// Prediction errors with a known mean.
struct Errors {
  const char* name;
  double (*draw)(Random& random);
  double mean;
  std::size_t promise;  ///< minimum number of predictions for which coverage is guaranteed; 0: never
};

// The mean of |x| for a standard normal x is (2 / pi)^(1/2); the mean of e^x is e^(1/2).
constexpr Errors kErrors[] = {
    {"even from 0 to 20 %", [](Random& random) { return 0.2 * random.uniform(); }, 0.1, 4},
    {"a bell around 0", [](Random& random) { return 0.1 * std::fabs(random.bell()); }, 0.0797885, 10},
    {"a few far off (lognormal)", [](Random& random) { return 0.1 * std::exp(random.bell()); }, 0.1648721, 0},
};
constexpr std::size_t kPredictions[] = {3, 4, 10, 30, 100};

bool errors_hold(int runs) {
  std::printf("\npredictions: the same of mean errors\n%-30s", "predictions");
  for (const std::size_t n : kPredictions) { std::printf("  %14zu", n); }
  std::printf("\n");
  bool all = true;
  for (const Errors& errors : kErrors) {
    std::printf("%-30s", errors.name);
    for (const std::size_t n : kPredictions) {
      Random random(4711 + n);
      int right = 0;
      std::vector<double> widths;
      for (int count = 0; count < runs; ++count) {
        std::vector<double> predicted;
        for (std::size_t at = 0; at < n; ++at) { predicted.push_back(1 + errors.draw(random)); }
        const takt::PredictionError found = takt::prediction_error(predicted, std::vector<double>(n, 1));
        right += found.low <= errors.mean && errors.mean <= found.high ? 1 : 0;
        widths.push_back(50 * (found.high - found.low));
      }
      all = report(100.0 * right / runs, middle(widths), errors.promise != 0 && n >= errors.promise) && all;
    }
    std::printf("\n");
  }
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::atoi(arguments[1]) : 2000;
  if (runs <= 0) {
    std::fprintf(stderr, "takt_trial_coverage [runs]\n");
    return 2;
  }
  const bool trials = trials_hold(runs);
  const bool errors = errors_hold(runs);
  if (!trials || !errors) {
    std::printf("! below the %.0f %% that docs/trials.md and docs/models.md promise\n", kPromised);
  }
  return trials && errors ? 0 : 1;
}
