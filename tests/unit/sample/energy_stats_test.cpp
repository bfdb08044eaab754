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

/// So many watts from `begin_ms` to `end_ms`, sampled each 100 ms.
EnergyPoints steady(double watts, std::int64_t end_ms, std::int64_t begin_ms = 0) {
  EnergyPoints points;
  for (std::int64_t ms = begin_ms; ms <= end_ms; ms += 100) {
    points.add(ms * kMs, watts * 1e-3 * static_cast<double>(ms));
  }
  return points;
}

}  // namespace

TEST_CASE("Energy books: steps much shorter than a sample have their joules, many of them together", "[sample]") {
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
  // Of the whole, the two intervals at its ends: no step in between adds to it.
  CHECK(all.steps[0].error_joules == Approx(60));
  CHECK(all.regions.empty());
}

TEST_CASE("Energy books: a stretch of less than five samples tells nothing", "[sample]") {
  EnergyStats stats(kInterval);
  for (std::int64_t step = 0; step < 40; ++step) { stats.add_step(step_of(step * 10, step * 10 + 10, 10), true); }
  const EnergyPoints points = steady(300, 7000);
  stats.settle({&points}, true);
  CHECK(reported(stats).steps.empty());
}

TEST_CASE("Energy books: warm-up and steps without a period break the stretch, and are not in it", "[sample]") {
  EnergyStats stats(kInterval);
  Row warmup = step_of(0, 500, 500);
  warmup.warmup = true;
  stats.add_step(warmup, false);
  stats.add_step(step_of(600, 1600, 1000), false);   // 600 to 1600
  stats.add_step(step_of(2000, 3000, -1), false);    // an epoch lies before it
  stats.add_step(step_of(3000, 4000, 1000), false);  // 3000 to 4000
  // 100 W, and a thousand while nothing counts.
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

TEST_CASE("Energy books: a Batch that is long enough has its energy without the time between", "[sample]") {
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

TEST_CASE("Energy books: regions by name, those shorter than five samples have none", "[sample]") {
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

TEST_CASE("Energy books: what samples do not cover yet waits", "[sample]") {
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

TEST_CASE("Energy books: a meter that does not answer holds up no other", "[sample]") {
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

TEST_CASE("Energy books: what waits is bounded, and what had to go is counted", "[sample]") {
  EnergyStats stats(kInterval);
  constexpr std::int64_t kTwice = 2 * EnergyStats::kMaxWaiting;
  for (std::int64_t step = 0; step < kTwice; ++step) { stats.add_step(step_of(step * 50, step * 50 + 50, 50), false); }
  CHECK(stats.dropped() == EnergyStats::kMaxWaiting);
  // Steps that are short wait together: a hundred thousand a second need no more room than samples do.
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

TEST_CASE("Energy books: names beyond the bound have no energy", "[sample]") {
  EnergyStats stats(kInterval);
  const EnergyPoints points = steady(100, 1100);
  for (std::size_t name = 0; name < EnergyStats::kMaxPlaces + 100; ++name) {
    stats.add_region("region " + std::to_string(name), 0, 1000 * kMs);
    stats.settle({&points}, true);
  }
  CHECK(reported(stats).regions.size() == EnergyStats::kMaxPlaces);
}

TEST_CASE("Energy books: the error holds for a power that swings", "[sample]") {
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
