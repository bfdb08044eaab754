// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/energy_stats.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using takt::RegionEnergy;
using takt::Row;
using takt::StepEnergy;
using takt::detail::EnergyPoints;
using takt::detail::EnergyStats;

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kInterval = 100 * kMs;

Row step_of(std::int64_t begin_ms, std::int64_t end_ms, std::int64_t period_ms, std::int64_t items = 64) {
  Row row;
  row.begin_ns = begin_ms * kMs;
  row.host_ns = (end_ms - begin_ms) * kMs;
  row.period_ns = period_ms < 0 ? std::nullopt : std::optional<std::int64_t>(period_ms * kMs);
  row.items = items;
  return row;
}

struct Reported {
  std::vector<StepEnergy> steps;
  std::vector<RegionEnergy> regions;
};

Reported reported(const EnergyStats& stats) {
  Reported all;
  stats.report(all.steps, all.regions, [](std::uint32_t series) { return series == 9 ? "" : "Batch"; });
  return all;
}

/// Returns `watts` from `begin_ms` to `end_ms`, sampled every 100 ms.
EnergyPoints steady(double watts, std::int64_t end_ms, std::int64_t begin_ms = 0) {
  EnergyPoints points;
  for (std::int64_t ms = begin_ms; ms <= end_ms; ms += 100) {
    points.add(ms * kMs, watts * 1e-3 * static_cast<double>(ms));
  }
  return points;
}

}  // namespace

TEST_CASE("Energy stats: steps much shorter than the sampling interval get their energy jointly", "[sample]") {
  EnergyStats stats(kInterval);
  for (std::int64_t step = 0; step < 1000; ++step) { stats.add_step(step_of(step * 7 + 1, step * 7 + 7, 7), true); }
  const EnergyPoints points = steady(300, 7000);
  stats.settle({&points}, false);
  const Reported all = reported(stats);
  REQUIRE(all.steps.size() == 1);
  CHECK(all.steps[0].steps == 1000);
  CHECK(all.steps[0].items == 64'000);
  CHECK(all.steps[0].joules == Approx(300 * 7));
  CHECK(all.steps[0].time_ns == 7000 * kMs);
  // The error is that of the two intervals at the ends; inner steps add nothing.
  CHECK(all.steps[0].error_joules == Approx(60));
  CHECK(all.regions.empty());
}

TEST_CASE("Energy stats: a stretch with less than five samples gives nothing", "[sample]") {
  EnergyStats stats(kInterval);
  for (std::int64_t step = 0; step < 40; ++step) { stats.add_step(step_of(step * 10, step * 10 + 10, 10), true); }
  const EnergyPoints points = steady(300, 7000);
  stats.settle({&points}, true);
  CHECK(reported(stats).steps.empty());
}

TEST_CASE("Energy stats: warm-up and steps without a period end the stretch and are excluded", "[sample]") {
  EnergyStats stats(kInterval);
  Row warmup = step_of(0, 500, 500);
  warmup.warmup = true;
  stats.add_step(warmup, false);
  stats.add_step(step_of(600, 1600, 1000), false);   // 600 to 1600
  stats.add_step(step_of(2000, 3000, -1), false);    // an Epoch precedes it
  stats.add_step(step_of(3000, 4000, 1000), false);  // 3000 to 4000
  // 100 W, and 1,000 W during excluded time.
  EnergyPoints points;
  double joules = 0;
  for (std::int64_t ms = 0; ms <= 5000; ms += 100) {
    points.add(ms * kMs, joules);
    joules += (ms >= 600 && ms < 1600) || (ms >= 3000 && ms < 4000) ? 10 : 100;
  }
  stats.settle({&points}, true);
  const Reported all = reported(stats);
  REQUIRE(all.steps.size() == 1);
  CHECK(all.steps[0].steps == 2);
  CHECK(all.steps[0].joules == Approx(200));
}

TEST_CASE("Energy stats: a long Batch has its energy without the time between Batches", "[sample]") {
  EnergyStats stats(kInterval);
  for (std::int64_t step = 0; step < 5; ++step) {
    stats.add_step(step_of(step * 1000, step * 1000 + 600, 1000), true);
    stats.add_step(step_of(step * 1000 + 610, step * 1000 + 650, -1), true);  // too short
  }
  EnergyPoints points;
  double joules = 0;
  for (std::int64_t ms = 0; ms <= 5000; ms += 100) {
    points.add(ms * kMs, joules);
    joules += ms % 1000 < 600 ? 40 : 1;
  }
  stats.settle({&points}, true);
  const Reported all = reported(stats);
  REQUIRE(all.regions.size() == 1);
  CHECK(all.regions[0].name == "Batch");
  CHECK(all.regions[0].calls == 5);
  CHECK(all.regions[0].joules == Approx(5 * 240));
  CHECK(all.regions[0].time_ns == 3000 * kMs);
}

TEST_CASE("Energy stats: keeps regions by name, without those shorter than five samples", "[sample]") {
  EnergyStats stats(kInterval);
  stats.add_region("Validation", 1000 * kMs, 2000 * kMs);
  stats.add_region("Validation", 3000 * kMs, 3500 * kMs);
  stats.add_region("Save", 3600 * kMs, 4050 * kMs);  // four samples
  stats.add_region("Save", 4100 * kMs, 4110 * kMs);
  const EnergyPoints one = steady(100, 5000);
  const EnergyPoints other = steady(50, 5000);
  stats.settle({&one, nullptr, &other}, false);
  const Reported all = reported(stats);
  REQUIRE(all.regions.size() == 2);
  CHECK(all.regions[0].sensor == 0);
  CHECK(all.regions[0].calls == 2);
  CHECK(all.regions[0].joules == Approx(150));
  CHECK(all.regions[1].sensor == 2);
  CHECK(all.regions[1].joules == Approx(75));
}

TEST_CASE("Energy stats: data not yet covered by samples waits", "[sample]") {
  EnergyStats stats(kInterval);
  stats.add_step(step_of(0, 1000, 1000), false);
  stats.add_step(step_of(1000, 2050, 1050), false);
  EnergyPoints points = steady(100, 2000);
  stats.settle({&points}, false);
  CHECK(reported(stats).steps[0].steps == 1);
  points.add(2100 * kMs, 210);
  stats.settle({&points}, false);
  CHECK(reported(stats).steps[0].steps == 2);
  CHECK(reported(stats).steps[0].joules == Approx(205));
}

TEST_CASE("Energy stats: a sensor that does not answer does not delay others", "[sample]") {
  EnergyStats stats(kInterval);
  const EnergyPoints hung = steady(100, 1000);
  const EnergyPoints none;
  for (std::int64_t step = 0; step < 100; ++step) { stats.add_step(step_of(step * 100, step * 100 + 100, 100), false); }
  const EnergyPoints alive = steady(100, 10'000);
  stats.settle({&hung, &none, &alive}, false);
  const Reported all = reported(stats);
  REQUIRE(all.steps.size() == 2);
  CHECK(all.steps[0].sensor == 0);
  CHECK(all.steps[0].steps == 10);
  CHECK(all.steps[1].sensor == 2);
  CHECK(all.steps[1].steps == 100);
}

TEST_CASE("Energy stats: limits waiting data and counts dropped data", "[sample]") {
  EnergyStats stats(kInterval);
  constexpr std::int64_t kTwice = 2 * EnergyStats::kMaxWaiting;
  for (std::int64_t step = 0; step < kTwice; ++step) { stats.add_step(step_of(step * 50, step * 50 + 50, 50), false); }
  CHECK(stats.dropped() == EnergyStats::kMaxWaiting);
  // Short steps wait jointly: a hundred thousand per second need no more space than samples do.
  EnergyStats short_steps(kInterval);
  for (std::int64_t step = 0; step < 100'000; ++step) {
    Row row = step_of(0, 0, 0);
    row.begin_ns = step * 10'000;
    row.period_ns = row.host_ns = 10'000;
    short_steps.add_step(row, true);
  }
  CHECK(short_steps.dropped() == 0);
  const EnergyPoints points = steady(100, 1100);
  short_steps.settle({&points}, true);
  CHECK(reported(short_steps).steps[0].steps == 100'000);
  CHECK(reported(short_steps).steps[0].joules == Approx(100));
}

TEST_CASE("Energy stats: names beyond the limit have no energy", "[sample]") {
  EnergyStats stats(kInterval);
  const EnergyPoints points = steady(100, 1100);
  for (std::size_t name = 0; name < EnergyStats::kMaxPlaces + 100; ++name) {
    stats.add_region("region " + std::to_string(name), 0, 1000 * kMs);
    stats.settle({&points}, true);
  }
  CHECK(reported(stats).regions.size() == EnergyStats::kMaxPlaces);
}

TEST_CASE("Energy stats: the error bound holds for oscillating power", "[sample]") {
  const auto joules = [](double s) { return 400 * s + 300 * 0.35 / (2 * M_PI) * (1 - std::cos(2 * M_PI * s / 0.35)); };
  EnergyPoints points;
  for (std::int64_t ms = 0; ms <= 20'000; ms += 100) { points.add(ms * kMs, joules(static_cast<double>(ms) / 1e3)); }
  for (std::int64_t length = 137; length < 2000; length += 61) {
    EnergyStats stats(kInterval);
    std::int64_t at = 50;
    for (; at + length < 19'000; at += length) { stats.add_step(step_of(at, at + length, length), false); }
    stats.settle({&points}, true);
    const StepEnergy steps = reported(stats).steps.at(0);
    const double truth = joules(static_cast<double>(at) / 1e3) - joules(0.05);
    CHECK(std::abs(steps.joules - truth) <= steps.error_joules);
    CHECK(steps.joules == Approx(truth).epsilon(0.01));
  }
}
