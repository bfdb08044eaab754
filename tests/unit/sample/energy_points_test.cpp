// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/energy_stats.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

using takt::detail::CounterSum;
using takt::detail::EnergyPoints;
using takt::detail::WindowEnergy;

namespace {

constexpr std::int64_t kEnergyPointsMs = 1'000'000;

/// Returns points at these times, for 250 W from time 0 on.
EnergyPoints energy_points_steady(const std::vector<std::int64_t>& times_ms) {
  EnergyPoints points;
  for (const std::int64_t time : times_ms) { points.add(time * kEnergyPointsMs, 0.25 * static_cast<double>(time)); }
  return points;
}

WindowEnergy between(const EnergyPoints& points, std::int64_t begin_ms, std::int64_t end_ms) {
  WindowEnergy energy;
  REQUIRE(points.between(begin_ms * kEnergyPointsMs, end_ms * kEnergyPointsMs, energy));
  return energy;
}

}  // namespace

TEST_CASE("Energy points: even use is divided by time despite uneven sampling", "[sample]") {
  const EnergyPoints points = energy_points_steady({0, 100, 130, 290, 291, 500, 640});
  CHECK(between(points, 0, 640).joules == Approx(160));
  CHECK(between(points, 50, 600).joules == Approx(137.5));
  CHECK(between(points, 135, 140).joules == Approx(1.25));
  CHECK(between(points, 50, 600).values == 5);  // after 50 up to 600: 100, 130, 290, 291, 500
  CHECK(points.joules() == Approx(160));
  CHECK(points.step_ns() == 640 * kEnergyPointsMs / 6);
}

TEST_CASE("Energy points: the error is the use around both ends, and is a valid bound", "[sample]") {
  // A kilowatt in the first half of each interval and nothing in the second: as uneven as possible.
  const auto truth = [](double ms) { return std::floor(ms / 100) * 50 + std::min(std::fmod(ms, 100.0), 50.0); };
  EnergyPoints points;
  for (int sample = 0; sample <= 50; ++sample) { points.add(sample * 100 * kEnergyPointsMs, truth(sample * 100)); }
  for (int begin = 0; begin < 1000; begin += 7) {
    for (int end = begin + 30; end < 5000; end += 331) {
      const WindowEnergy energy = between(points, begin, end);
      CHECK(std::abs(energy.joules - (truth(end) - truth(begin))) <= energy.error_joules + 1e-9);
      CHECK(energy.error_joules == Approx(100));
    }
  }
}

TEST_CASE("Energy points: a counter that updates rarely is not mistaken for idle time", "[sample]") {
  EnergyPoints points;  // 100 W; the counter updates every 100 ms and is read every 10 ms
  for (int ms = 0; ms <= 2000; ms += 10) { points.add(ms * kEnergyPointsMs, 0.1 * (ms / 100 * 100)); }
  CHECK(points.step_ns() == 100 * kEnergyPointsMs);
  CHECK(between(points, 250, 750).joules == Approx(50));
  CHECK(between(points, 250, 750).values == 5);
  CHECK(between(points, 250, 750).error_joules == Approx(20));
}

TEST_CASE("Energy points: use before the first value or after the newest is unknown", "[sample]") {
  EnergyPoints points = energy_points_steady({100, 200, 300});
  WindowEnergy energy;
  CHECK_FALSE(points.between(99 * kEnergyPointsMs, 200 * kEnergyPointsMs, energy));
  CHECK_FALSE(points.between(150 * kEnergyPointsMs, 301 * kEnergyPointsMs, energy));
  CHECK_FALSE(points.between(200 * kEnergyPointsMs, 150 * kEnergyPointsMs, energy));
  CHECK(points.between(100 * kEnergyPointsMs, 300 * kEnergyPointsMs, energy));
  CHECK(EnergyPoints().known_ns() == EnergyPoints::kNever);
  // The counter stops: first the use is unknown, then it is zero, including at the end.
  points.add(400 * kEnergyPointsMs, 75);
  CHECK_FALSE(points.between(150 * kEnergyPointsMs, 400 * kEnergyPointsMs, energy));
  EnergyPoints ended = points;
  ended.end();
  CHECK(ended.between(300 * kEnergyPointsMs, 400 * kEnergyPointsMs, energy));
  CHECK(energy.joules == 0);
  points.add(1500 * kEnergyPointsMs, 75);
  CHECK(points.between(300 * kEnergyPointsMs, 1400 * kEnergyPointsMs, energy));
  CHECK(energy.joules == 0);
}

TEST_CASE("Energy points: keeps the newest and skips times that do not increase", "[sample]") {
  EnergyPoints points;
  const auto max = static_cast<std::int64_t>(EnergyPoints::kMax);
  for (std::int64_t ms = 0; ms < 3 * max; ++ms) { points.add(ms * kEnergyPointsMs, static_cast<double>(ms)); }
  WindowEnergy energy;
  CHECK_FALSE(points.between((2 * max - 1) * kEnergyPointsMs, (2 * max + 1) * kEnergyPointsMs, energy));
  CHECK(points.between(2 * max * kEnergyPointsMs, (3 * max - 1) * kEnergyPointsMs, energy));
  CHECK(points.joules() == Approx(static_cast<double>(3 * max - 1)));
  points.add(0, 1e9);
  CHECK(points.joules() == Approx(static_cast<double>(3 * max - 1)));
}

TEST_CASE("Counter sum: handles overflow, and drops counts before a reset", "[sample]") {
  CounterSum wraps(1000);
  CHECK(wraps.add(900) == 0);
  CHECK(wraps.add(990) == 90);
  CHECK(wraps.add(40) == 140);  // beyond 1000
  CHECK(wraps.add(40) == 140);
  CounterSum resets;
  CHECK(resets.add(5'000'000) == 0);
  CHECK(resets.add(5'000'700) == 700);
  CHECK(resets.add(20) == 700);
  CHECK(resets.add(70) == 750);
  // A value beyond its range also counts as a reset.
  CounterSum beyond(1000);
  beyond.add(2000);
  CHECK(beyond.add(10) == 0);
}
