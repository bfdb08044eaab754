// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sensor_stats.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

using takt::Quantity;
using takt::Sample;
using takt::Sensor;
using takt::SensorEnergy;
using takt::Slowdown;
using takt::detail::sensor_windows;
using takt::detail::SensorStats;

namespace {

constexpr std::int64_t kSensorStatsMs = 1'000'000;

Sensor sensor_of(std::vector<Quantity> quantities) {
  Sensor sensor;
  sensor.name = "cuda 0";
  sensor.quantities = std::move(quantities);
  return sensor;
}

Sample sample_at(std::int64_t ms, std::vector<std::int64_t> values) {
  Sample sample;
  sample.time_ns = ms * kSensorStatsMs;
  sample.values = std::move(values);
  return sample;
}

Sensor sensor_stats_reported(const SensorStats& stats, Sensor sensor) {
  stats.report(sensor);
  return sensor;
}

}  // namespace

TEST_CASE("Sensor stats: means are over time, not over samples", "[sample]") {
  const Sensor sensor = sensor_of({Quantity::power, Quantity::memory, Quantity::utilization});
  SensorStats stats(sensor);
  stats.add(sample_at(0, {100'000, 5, 0}));
  stats.add(sample_at(10, {100'000, 9, 0}));
  stats.add(sample_at(20, {100'000, 7, 0}));
  stats.add(sample_at(120, {300'000, 7, 1000}));
  const Sensor now = sensor_stats_reported(stats, sensor);
  CHECK(now.samples == 4);
  CHECK(now.first_ns == 0);
  CHECK(now.last_ns == 120 * kSensorStatsMs);
  REQUIRE(now.figures.size() == 3);
  CHECK(now.figures_of(Quantity::power)->mean == Approx((20 * 100'000 + 100 * 200'000) / 120.0));
  CHECK(now.figures_of(Quantity::memory)->max == 9);
  CHECK(now.figures_of(Quantity::memory)->min == 5);
  CHECK(now.figures_of(Quantity::utilization)->mean == Approx(500 * 100 / 120.0));
  CHECK(now.figures_of(Quantity::energy) == nullptr);
  // Without a counter the power is integrated.
  CHECK(now.energy.source == SensorEnergy::Source::power);
  CHECK(now.energy.joules == Approx(0.02 * 100 + 0.1 * 200));
  CHECK_FALSE(now.energy.by_power_joules);
}

TEST_CASE("Sensor stats: uses a counter and reports the integrated power alongside", "[sample]") {
  const Sensor sensor = sensor_of({Quantity::energy, Quantity::power});
  SensorStats stats(sensor);
  for (std::int64_t ms = 0; ms <= 1000; ms += 100) { stats.add(sample_at(ms, {ms * 300'000, 270'000})); }
  const SensorEnergy energy = sensor_stats_reported(stats, sensor).energy;
  CHECK(energy.source == SensorEnergy::Source::counter);
  CHECK(energy.joules == Approx(300));
  CHECK(energy.by_power_joules.value() == Approx(270));
  CHECK(energy.step_ns == 100 * kSensorStatsMs);
}

TEST_CASE("Sensor stats: integrates unevenly sampled oscillating power to within 1 %", "[sample]") {
  const Sensor sensor = sensor_of({Quantity::power});
  SensorStats stats(sensor);
  const auto watts = [](double s) { return 400 + 250 * std::sin(2 * M_PI * s / 3); };
  const auto joules = [](double s) { return 400 * s + 250 * 3 / (2 * M_PI) * (1 - std::cos(2 * M_PI * s / 3)); };
  std::int64_t ms = 0;
  for (int sample = 0; sample < 400; ++sample) {
    stats.add(sample_at(ms, {std::lround(watts(static_cast<double>(ms) / 1e3) * 1e3)}));
    ms += sample % 7 == 0 ? 290 : 40 + sample * 37 % 90;
  }
  const Sensor now = sensor_stats_reported(stats, sensor);
  CHECK(now.energy.joules == Approx(joules(static_cast<double>(now.last_ns) / 1e9)).epsilon(0.01));
}

TEST_CASE("Sensor stats: sums up slowdown time by reason", "[sample]") {
  const Sensor sensor = sensor_of({Quantity::slowdowns, Quantity::clock});
  SensorStats stats(sensor);
  const std::int64_t cap = static_cast<std::int64_t>(Slowdown::power_cap);
  const std::int64_t heat = static_cast<std::int64_t>(Slowdown::heat);
  stats.add(sample_at(0, {heat, 1980}));  // of the time before, which was not observed
  stats.add(sample_at(100, {0, 1980}));
  stats.add(sample_at(200, {cap, 1500}));
  stats.add(sample_at(300, {cap | heat, 1200}));
  stats.add(sample_at(400, {0, 1980}));
  const Sensor now = sensor_stats_reported(stats, sensor);
  CHECK(now.slowed_ns == 200 * kSensorStatsMs);
  REQUIRE(now.slowed.size() == 2);
  CHECK(now.slowed[0].why == Slowdown::power_cap);
  CHECK(now.slowed[0].ns == 200 * kSensorStatsMs);
  CHECK(now.slowed[1].why == Slowdown::heat);
  CHECK(now.slowed[1].ns == 100 * kSensorStatsMs);
  CHECK(now.figures_of(Quantity::clock)->min == 1200);
}

TEST_CASE("Sensor stats: excludes missing values and skips odd samples", "[sample]") {
  const Sensor sensor = sensor_of({Quantity::energy, Quantity::power});
  SensorStats stats(sensor);
  stats.add(sample_at(0, {0, 100'000}));
  stats.add(sample_at(100, {Sample::kAbsent, Sample::kAbsent}));
  stats.add(sample_at(200, {30'000'000, 200'000}));
  stats.add(sample_at(150, {90'000'000, 900'000}));  // an earlier time
  stats.add(sample_at(300, {1}));                    // another sensor
  const Sensor now = sensor_stats_reported(stats, sensor);
  CHECK(now.samples == 3);
  CHECK(now.energy.joules == Approx(30));
  CHECK(now.energy.by_power_joules.value() == Approx(30));
  CHECK(now.figures_of(Quantity::power)->max == 200'000);
  // Without samples the figures are empty.
  const Sensor none = sensor_stats_reported(SensorStats(sensor), sensor);
  CHECK(none.figures.empty());
  CHECK(none.energy.joules == 0);
}

TEST_CASE("Sensor windows: figures and energy of a stretch, with the samples around it", "[sample]") {
  std::vector<Sensor> sensors = {sensor_of({Quantity::energy, Quantity::memory}), sensor_of({Quantity::memory}),
                                 sensor_of({Quantity::power})};
  std::vector<Sample> samples;
  for (std::int64_t ms = 0; ms <= 1000; ms += 100) {
    samples.push_back(sample_at(ms, {ms * 200'000, ms}));
    samples.push_back(sample_at(ms + 3, {7}));
    samples.back().sensor = 1;
  }
  const auto windows = sensor_windows(sensors, samples, 250 * kSensorStatsMs, 850 * kSensorStatsMs);
  REQUIRE(windows.size() == 2);  // the third one was not sampled
  CHECK(windows[0].sensor == 0);
  CHECK(windows[0].figures.samples == 6);
  CHECK(windows[0].figures.figures_of(Quantity::memory)->max == 800);
  CHECK(windows[0].figures.figures_of(Quantity::memory)->min == 300);
  REQUIRE(windows[0].has_energy);
  CHECK(windows[0].energy.joules == Approx(120));
  CHECK(windows[0].energy.error_joules == Approx(40));
  CHECK_FALSE(windows[1].has_energy);
  // The time after the newest sample is still unknown.
  CHECK_FALSE(sensor_windows(sensors, samples, 250 * kSensorStatsMs, 1050 * kSensorStatsMs)[0].has_energy);
}
