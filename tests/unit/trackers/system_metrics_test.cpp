// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/system_metrics.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/sampled_run.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace takt_test;
using takt::Quantity;
using takt::Sample;
using takt::Sensor;
using takt::detail::SystemMetric;
using takt::detail::SystemMetrics;

namespace {

constexpr std::int64_t kSystemMetricsSecond = 1'000'000'000;
constexpr std::int64_t kWindow = 10 * kSystemMetricsSecond;

std::vector<SystemMetric> named(const Sensor& sensor) {
  return {{sensor.name + "/power", Quantity::power, 1e-3}, {sensor.name + "/cpu", Quantity::cpu_time, 100.0 / 8}};
}

/// A process with known power and CPU time.
struct SystemMetricsRig {
  SystemMetricsRig() { add_sensor("process"); }

  void add_sensor(const std::string& name) {
    snapshot.sensors.push_back(sensor_of(Sensor::Kind::process, name, {Quantity::power, Quantity::cpu_time}));
  }
  /// Adds a sample and its current metrics. Returns their number.
  std::size_t add(std::int64_t time_ns, std::int64_t power, std::int64_t cpu_ns, std::uint32_t sensor = 0) {
    Sample sample;
    sample.sensor = sensor;
    sample.time_ns = time_ns;
    sample.values = {power, cpu_ns};
    const auto reported = metrics.add(snapshot, sample);
    for (const SystemMetrics::Value& each : reported) {
      CHECK(each.end_ns == (each.window + 1) * kWindow);
      values[each.name][each.window] = each.value;
    }
    return reported.size();
  }

  takt::Snapshot snapshot;
  SystemMetrics metrics{&named, kWindow};
  std::map<std::string, std::map<std::int64_t, double>> values;
};

}  // namespace

TEST_CASE("system metrics: a window has the mean of its samples, or the increase of counters") {
  SystemMetricsRig rig;
  for (std::int64_t second = 0; second <= 30; ++second) {
    rig.add(second * kSystemMetricsSecond, second * 1000, second * second * kSystemMetricsSecond);
  }
  CHECK(rig.values["process/power"] == std::map<std::int64_t, double>{{0, 4.5}, {1, 14.5}, {2, 24.5}});
  // From the last sample of the previous window to its own last one: (19 * 19 - 9 * 9) s in 10 s, on 8 CPUs.
  CHECK(rig.values["process/cpu"].at(0) == Approx(81.0 / 9 * 100 / 8));
  CHECK(rig.values["process/cpu"].at(1) == Approx(280.0 / 10 * 100 / 8));
  CHECK(rig.values["process/cpu"].at(2) == Approx(480.0 / 10 * 100 / 8));
}

TEST_CASE("system metrics: at any rate a window has one value, equal to that computed from its samples") {
  Random random(GENERATE(1U, 2U, 3U));
  SystemMetricsRig rig;
  std::map<std::int64_t, std::pair<double, double>> sums;
  std::int64_t time_ns = 0;
  while (time_ns < 100 * kWindow) {
    const auto power = static_cast<std::int64_t>(random.below(700'000));
    rig.add(time_ns, power, time_ns);
    sums[time_ns / kWindow].first += static_cast<double>(power);
    sums[time_ns / kWindow].second += 1;
    time_ns += 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * kSystemMetricsSecond)));
  }
  rig.add(time_ns, 0, time_ns);
  CHECK(rig.values["process/power"].size() == 100);
  for (const auto& [window, value] : rig.values["process/power"]) {
    CHECK(value == Approx(sums[window].first / sums[window].second / 1000));
  }
  CHECK(rig.values["process/cpu"].size() == 100);
  for (const auto& [window, value] : rig.values["process/cpu"]) { CHECK(value == Approx(12.5)); }
}

TEST_CASE("system metrics: unmeasured quantities have no value") {
  SystemMetricsRig rig;
  rig.add(0, Sample::kAbsent, 0);
  rig.add(9 * kSystemMetricsSecond, Sample::kAbsent, 9 * kSystemMetricsSecond);
  rig.add(10 * kSystemMetricsSecond, 3000, Sample::kAbsent);
  rig.add(20 * kSystemMetricsSecond, 4000, 20 * kSystemMetricsSecond);
  // A pause of the sampler: its use does not belong to the next window.
  rig.add(59 * kSystemMetricsSecond, 5000, 900 * kSystemMetricsSecond);
  rig.add(60 * kSystemMetricsSecond, 6000, 100 * kSystemMetricsSecond);  // the counter was reset
  rig.add(69 * kSystemMetricsSecond, 6000, 109 * kSystemMetricsSecond);
  rig.add(70 * kSystemMetricsSecond, 6000, 110 * kSystemMetricsSecond);
  CHECK(rig.values["process/power"] == std::map<std::int64_t, double>{{1, 3}, {2, 4}, {5, 5}, {6, 6}});
  CHECK(rig.values["process/cpu"] == std::map<std::int64_t, double>{{0, 12.5}});
}

TEST_CASE("system metrics: the first of two sensors with one name, such as two MIG instances, is used") {
  SystemMetricsRig rig;
  rig.add_sensor("process");
  rig.add_sensor("other");
  for (const std::int64_t second : {0, 9, 10}) {
    rig.add(second * kSystemMetricsSecond, 1000, 0, 1);
    rig.add(second * kSystemMetricsSecond, 9000, 0, 0);
    rig.add(second * kSystemMetricsSecond, 5000, 0, 2);
  }
  CHECK(rig.values["process/power"].at(0) == 1);
  CHECK(rig.values["other/power"].at(0) == 5);
}

TEST_CASE("system metrics: skips samples of unknown sensors, wrong shape, or impossible times") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  SystemMetricsRig rig;
  CHECK(rig.add(kMax, 1000, 0) == 0);
  CHECK(rig.add(-kSystemMetricsSecond, 1000, 0) == 0);
  CHECK(rig.add(15 * kSystemMetricsSecond, 1000, -kMax) == 0);
  CHECK(rig.add(5 * kSystemMetricsSecond, 9000, 0) == 0);
  CHECK(rig.add(16 * kSystemMetricsSecond, 1000, kMax, 7) == 0);
  Sample sample;
  sample.time_ns = 17 * kSystemMetricsSecond;
  sample.values = {1, 2, 3};
  CHECK(rig.metrics.add(rig.snapshot, sample).empty());
  rig.add(18 * kSystemMetricsSecond, 3000, kMax);
  CHECK(rig.add(kMax - 2 * kWindow, 0, 0) == 2);
  CHECK(rig.values["process/power"].at(1) == 2);
}
