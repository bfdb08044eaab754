// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/trial_rate.hpp"

#include "measure/job_trials.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using takt::TrialKind;
using takt::TrialRate;
using takt::TrialResults;
using takt::detail::rate_of;
using takt::detail::Trial;
using takt::detail::TrialStep;

namespace {

constexpr std::uint64_t kRateMs = 1'000'000;

/// Returns trials of steps that take 1 ms to 1.1 ms.
std::vector<Trial> steady(std::size_t trials, std::size_t steps, std::uint64_t items = 64) {
  takt_test::Random random(7);
  std::vector<Trial> all(trials);
  for (Trial& trial : all) {
    for (std::size_t step = 0; step < steps; ++step) {
      trial.steps.push_back({kRateMs + random.below(kRateMs / 10), items});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("Trial rate: divides items by time, with an interval from windows of steps") {
  const TrialRate rate = rate_of(steady(3, 100), false);
  CHECK(rate.trials == 3);
  CHECK(rate.steps == 300);
  CHECK(rate.items == 300U * 64U);
  CHECK(rate.per_s == Approx(64'000 / 1.05).epsilon(0.01));
  REQUIRE(rate.interval);
  CHECK(rate.interval.value().low < rate.per_s);
  CHECK(rate.interval.value().high > rate.per_s);
  CHECK(rate.interval.value().high / rate.interval.value().low < 1.02);
}

TEST_CASE("Trial rate: uses the wider interval of windows and trials") {
  std::vector<Trial> trials = steady(3, 100);
  // With trials of equal length, windows determine the interval.
  for (Trial& trial : trials) { trial.steps = trials.front().steps; }
  const TrialRate alike = rate_of(trials, false);
  CHECK_FALSE(alike.over_trials);
  CHECK(alike.n == 37);
  CHECK(alike.interval);
  // One trial has another pace, which the scatter of windows within trials does not show.
  for (TrialStep& step : trials[1].steps) { step.ns = step.ns * 102 / 100; }
  const TrialRate apart = rate_of(trials, false);
  CHECK(apart.over_trials);
  CHECK(apart.n == 3);
  CHECK(apart.interval.value().high / apart.per_s > 1.02);
}

TEST_CASE("Trial rate: few steps use the trials' interval by Student's t") {
  std::vector<Trial> trials = steady(3, 0);
  for (std::size_t trial = 0; trial < 3; ++trial) {
    trials[trial].steps.assign(10, {(10 + trial) * kRateMs, 100});  // 10, 11 and 12 ms a step
  }
  const TrialRate rate = rate_of(trials, false);
  REQUIRE(rate.interval);
  CHECK(rate.over_trials);
  CHECK(rate.n == 3);
  CHECK(rate.per_s == Approx(100 / 0.011));
  // Deviation 1 of 11 ms, t for 2 degrees of freedom 4.302653, also on the logarithm.
  const double half = 4.3026527 / std::sqrt(3.0) / 11;
  CHECK(std::log(rate.interval.value().high / rate.per_s) == Approx(half).epsilon(1e-6));
  CHECK(std::log(rate.per_s / rate.interval.value().low) == Approx(half).epsilon(1e-6));
  trials.pop_back();
  CHECK_FALSE(rate_of(trials, false).interval);
}

TEST_CASE("Trial rate: uses trials instead of windows if the host ran ahead of its device") {
  std::vector<Trial> trials(3, steady(1, 100).front());
  for (Trial& trial : trials) { trial.wait_ns = kRateMs; }  // 1 of 106 ms
  CHECK_FALSE(rate_of(trials, true).over_trials);
  for (Trial& trial : trials) { trial.wait_ns = 2 * kRateMs; }
  const TrialRate rate = rate_of(trials, true);
  CHECK(rate.over_trials);
  CHECK(rate.interval);
  CHECK(rate.wait_ns == 6 * kRateMs);
  CHECK(rate.per_s == Approx(64'000 / 1.07).epsilon(0.01));  // the time includes the wait
}

TEST_CASE("Trial rate: excludes copy time unless a device works at the same time") {
  std::vector<Trial> trials = steady(3, 100);
  for (Trial& trial : trials) {
    for (TrialStep& step : trial.steps) {
      step.copy_ns = kRateMs;
      step.ns += kRateMs;
    }
  }
  const double without = rate_of(steady(3, 100), false).per_s;
  CHECK(rate_of(trials, false).per_s == Approx(without));
  CHECK_FALSE(rate_of(trials, false).copies_count);
  CHECK(rate_of(trials, true).per_s < 0.6 * without);
  CHECK(rate_of(trials, true).copy_ns == 300 * kRateMs);
}

TEST_CASE("Trial rate: excludes steps in which the loader restarted, unless nearly all are such") {
  std::vector<Trial> trials = steady(3, 100);
  for (Trial& trial : trials) {
    trial.steps[50].boundary = true;
    trial.steps[50].ns = 500 * kRateMs;
    trial.begun_again = 1;
  }
  const TrialRate rate = rate_of(trials, false);
  CHECK(rate.steps == 297);
  CHECK(rate.left_out_steps == 3);
  CHECK(rate.left_out_ns == 1500 * kRateMs);
  CHECK(rate.begun_again == 3);
  CHECK(rate.per_s == Approx(64'000 / 1.05).epsilon(0.01));
  for (Trial& trial : trials) {
    for (TrialStep& step : trial.steps) { step.boundary = true; }
  }
  CHECK(rate_of(trials, false).steps == 300);
  CHECK(rate_of(trials, false).left_out_steps == 0);
}

TEST_CASE("Trial rate: reports each trial, and they add up to all") {
  std::vector<Trial> trials = steady(3, 0);
  for (std::size_t trial = 0; trial < 3; ++trial) {
    trials[trial].steps.assign(10 + trial, {10 * kRateMs, 100, kRateMs});
    trials[trial].wait_ns = trial * kRateMs;
  }
  trials[1].steps[0].boundary = true;
  const TrialRate rate = rate_of(trials, false);
  REQUIRE(rate.each.size() == 3);
  CHECK(rate.each[0].steps == 10);
  CHECK(rate.each[0].ns == 90 * kRateMs);  // without the copies
  CHECK(rate.each[1].steps == 10);         // without the restart
  CHECK(rate.each[1].ns == 91 * kRateMs);  // with the wait
  CHECK(rate.each[2].items == 1200);
  CHECK(rate.each[2].per_s == Approx(1200 / 0.110));  // 12 steps of 9 ms, and the wait
  CHECK(rate.each[0].steps + rate.each[1].steps + rate.each[2].steps == rate.steps);
  CHECK(rate.each[0].items + rate.each[1].items + rate.each[2].items == rate.items);
  CHECK(rate.each[0].ns + rate.each[1].ns + rate.each[2].ns == rate.ns);
}

TEST_CASE("Trial rate: counts batches if steps have no items") {
  std::vector<Trial> trials = steady(3, 100);
  trials[1].steps[7].items = 0;
  CHECK(rate_of(trials, false).items == 300);
  CHECK_FALSE(trials[1].has_all_items());
}

TEST_CASE("Trial rate: trials capture slow changes and rare stalls that windows miss") {
  std::vector<Trial> drifting = steady(3, 100);
  std::uint64_t ns = kRateMs;
  for (Trial& trial : drifting) {
    for (TrialStep& step : trial.steps) { step.ns = ns += 10'000; }
  }
  CHECK(rate_of(drifting, false).over_trials);
  CHECK(rate_of(drifting, false).interval.value().high > 1.5 * rate_of(drifting, false).per_s);
  std::vector<Trial> stalled = steady(3, 100);
  stalled[1].steps[3].ns = 300 * kRateMs;
  CHECK(rate_of(stalled, false).over_trials);
  CHECK(rate_of(stalled, false).interval.value().low < 0.2 * rate_of(stalled, false).per_s);
}

TEST_CASE("Trial rate: no trials, and steps that took no time, have no rate") {
  CHECK(rate_of({}, false).trials == 0);
  CHECK(rate_of(std::vector<Trial>(3), false).per_s == 0.0);
  std::vector<Trial> instant(3);
  for (Trial& trial : instant) { trial.steps.assign(100, {0, 1}); }
  CHECK(rate_of(instant, false).per_s == 0.0);
  CHECK_FALSE(rate_of(instant, false).interval);
}

TEST_CASE("Trial rate: kinds without a sample count use that of the others") {
  TrialResults results;
  results.of(TrialKind::io) = rate_of(steady(3, 100, 0), false);
  results.of(TrialKind::synthetic) = rate_of(steady(3, 100, 60), false);
  results.of(TrialKind::full) = rate_of(steady(3, 100, 64), false);
  const double io = results.of(TrialKind::io).per_s;
  const double high = results.of(TrialKind::io).interval.value().high;
  takt::detail::count_samples(results, {true, false, true});  // SYNTHETIC, IO, FULL
  CHECK(results.unit == "samples");
  CHECK(results.of(TrialKind::io).per_s == Approx(64 * io));
  CHECK(results.of(TrialKind::io).interval.value().high == Approx(64 * high));
  CHECK(results.of(TrialKind::io).items == 300U * 64U);
  CHECK(results.of(TrialKind::io).each.at(1).items == 100U * 64U);
  CHECK(results.of(TrialKind::io).each[1].per_s ==
        Approx(100 * 64e9 / static_cast<double>(results.of(TrialKind::io).each[1].ns)));
  CHECK(results.of(TrialKind::synthetic).items == 300U * 60U);
  TrialResults batches;
  batches.of(TrialKind::io) = rate_of(steady(3, 100, 0), false);
  takt::detail::count_samples(batches, {false, false, false});
  CHECK(batches.unit == "batches");
}

TEST_CASE("Trials of ranks: divides all items by the slowest rank's time instead of multiplying one rank's rate") {
  std::vector<TrialResults> ranks(4);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].unit = "samples";
    for (TrialRate& rate : ranks[rank].kinds) {
      rate.trials = 3;
      rate.steps = 300;
      rate.items = 300 * 64;
      rate.ns = (rank == 2 ? 600 : 300) * kRateMs;
      rate.per_s = static_cast<double>(rate.items) * 1e9 / static_cast<double>(rate.ns);
      rate.interval = takt::TrialInterval{0.99 * rate.per_s, 1.01 * rate.per_s};
      rate.begin_unix_ns = 1'000'000;
      rate.end_unix_ns = 1'000'000 + static_cast<std::int64_t>(rate.ns);
      rate.each.assign(3, {100, rate.items / 3, rate.ns / 3, rate.per_s});
    }
  }
  const takt::detail::JobTrials job = takt::detail::job_trials(ranks);
  CHECK(job.ranks == 4);
  const TrialRate& full = job.sum.of(TrialKind::full);
  CHECK(full.items == 4U * 300U * 64U);
  CHECK(full.per_s == Approx(4 * 300 * 64 / 0.6));
  REQUIRE(full.each.size() == 3);
  CHECK(full.each[1].items == 4U * 100U * 64U);
  CHECK(full.each[1].per_s == Approx(4 * 100 * 64 / 0.2));
  CHECK(full.interval.value().high / full.per_s == Approx(1.01));
  CHECK(job.at_once[0] == Approx(0.5));
  CHECK_FALSE(job.sum.finding.has_value());  // IO and SYNTHETIC are equal
  ranks[0].of(TrialKind::full).each.pop_back();
  CHECK(takt::detail::job_trials(ranks).sum.of(TrialKind::full).each.empty());
  ranks[1].of(TrialKind::io) = TrialRate();
  CHECK(takt::detail::job_trials(ranks).sum.of(TrialKind::io).trials == 0);
  CHECK(takt::detail::job_trials(ranks).sum.of(TrialKind::full).trials == 3);
  ranks[3].unit = "batches";
  CHECK(takt::detail::job_trials(ranks).sum.of(TrialKind::full).trials == 0);
}
