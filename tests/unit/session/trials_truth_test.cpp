// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Trials of loaders and steps whose true rates are known, in virtual time.
#include <takt/trials.hpp>

#include "support/catch.hpp"
#include "support/session_helpers.hpp"
#include "support/simulated_loader.hpp"
#include "support/virtual_time.hpp"

#include "measure/trial_rate.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

using takt::TrialKind;
using takt::TrialResults;
using takt_test::SimulatedLoader;
using takt_test::SimulatedWork;
using takt_test::TrueRates;
using takt_test::VirtualTime;

constexpr double kStepNs = 10e6;

double now() { return static_cast<double>(VirtualTime::now_ns()); }
void pass_until(double ns) { VirtualTime::pass_until(static_cast<std::uint64_t>(ns)); }

TrialResults run_trials(const SimulatedWork& work, std::uint64_t seed, int steps) {
  const VirtualTime time;
  takt::Session session("truth", takt_test::by_hand());
  takt::TrialOptions options;
  options.io = options.synthetic = options.full = true;
  options.steps = steps;
  options.time_limit = std::chrono::milliseconds(0);
  SimulatedLoader loader(work, seed);
  loader.start(now());
  auto trials = takt::trials(session, options);
  while (trials.next([&] {
    pass_until(loader.next(now()));
    return true;
  })) {
    pass_until(loader.step(now()));
  }
  return *session.snapshot().trials;
}

double true_overlap(const TrueRates& rates) {
  return (1 / rates.io + 1 / rates.synthetic - 1 / rates.full) * std::max(rates.io, rates.synthetic);
}

/// Returns the finding that the true rates imply, or nothing if they are close to a threshold.
std::optional<std::string> true_finding(const TrueRates& rates) {
  const double of_slower = rates.full / std::min(rates.io, rates.synthetic);
  if (of_slower < 0.98 * takt::detail::kBound) { return "no_overlap"; }
  if (of_slower < 1.02 * takt::detail::kBound) { return {}; }
  if (rates.io < 0.97 * rates.synthetic) { return "input_bound"; }
  return rates.synthetic < 0.97 * rates.io ? std::optional<std::string>("compute_bound") : std::nullopt;
}

/// Number of intervals that contain the truth, and of findings.
struct Score {
  int intervals = 0;
  int right_intervals = 0;
  int without = 0;
  int clear = 0;  ///< cases with a clear expected finding
  int reported = 0;
  int wrong = 0;
  std::string wrongs;

  void add(const SimulatedWork& work, const TrialResults& results, const TrueRates& truth) {
    add_interval(results.of(TrialKind::io), truth.io);
    add_interval(results.of(TrialKind::synthetic), truth.synthetic);
    add_interval(results.of(TrialKind::full), truth.full);
    const std::optional<std::string> expected = true_finding(truth);
    if (!expected) { return; }
    ++clear;
    if (!results.finding) { return; }
    ++reported;
    if (results.finding->what == *expected) { return; }
    if (results.finding->what == "partial_overlap" && *expected == "no_overlap" && true_overlap(truth) > 0) { return; }
    ++wrong;
    std::ostringstream text;
    text << "load " << work.load_ns << ", " << work.threads << " threads, depth " << work.depth << ": "
         << results.finding->sentence << "; truth " << truth.full << " of " << truth.io << " and " << truth.synthetic
         << "\n";
    wrongs += text.str();
  }

 private:
  void add_interval(const takt::TrialRate& rate, double truth) {
    if (!rate.interval) {
      ++without;
      return;
    }
    ++intervals;
    right_intervals += rate.interval.value().low <= truth && truth <= rate.interval.value().high ? 1 : 0;
  }
};

Score score_of_all(int steps, int times) {
  Score score;
  std::uint64_t seed = 0;
  for (const unsigned threads : {0U, 1U, 2U, 4U}) {
    for (const unsigned depth : {0U, 1U, 2U, 4U, 8U}) {
      for (const double ratio : {0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0}) {
        SimulatedWork work;
        work.step_ns = kStepNs;
        work.threads = threads;
        work.depth = depth;
        // The ratio is that of the loader's rate and the model's.
        work.load_ns = kStepNs / ratio * (work.prefetches() ? std::min(threads, depth) : 1);
        const TrueRates truth = takt_test::true_rates(work);
        for (int time = 0; time < times; ++time) { score.add(work, run_trials(work, ++seed, steps), truth); }
      }
    }
  }
  return score;
}

}  // namespace

TEST_CASE("Trials, truth: rates are within their intervals and findings are right for all kinds of loaders") {
  const Score score = score_of_all(100, 2);
  INFO(score.right_intervals << " of " << score.intervals << " intervals hold the truth, " << score.without
                             << " rates have none; " << score.reported << " of " << score.clear << " told, "
                             << score.wrong << " wrong\n"
                             << score.wrongs);
  CHECK(score.right_intervals >= score.intervals * 93 / 100);
  CHECK(score.without <= 10);  // of 1,080: cases whose windows are equal by chance
  CHECK(score.clear > 300);
  CHECK(score.reported >= score.clear * 97 / 100);
  CHECK(score.wrong == 0);
}
