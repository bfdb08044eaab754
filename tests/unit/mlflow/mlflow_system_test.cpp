// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_messages.hpp"

#include "mlflow/mlflow_cursor.hpp"
#include "support/catch.hpp"
#include "support/sampled_run.hpp"

#include <cstddef>
#include <map>
#include <string>

using namespace takt_test;
using takt::Quantity;
using takt::Sensor;
using takt::detail::mlflow_system_metrics;
using takt::detail::SystemMetric;

namespace {

/// Returns the resulting value under each name.
std::map<std::string, double> reported(const Sensor& sensor, const std::map<Quantity, double>& values) {
  std::map<std::string, double> found;
  for (const SystemMetric& each : mlflow_system_metrics(sensor)) {
    found[each.name] = values.at(each.quantity) * each.scale;
  }
  return found;
}

void check(const std::map<std::string, double>& found, const std::map<std::string, double>& wanted) {
  CHECK(found.size() == wanted.size());
  for (const auto& [name, value] : wanted) {
    INFO(name);
    REQUIRE(found.count(name) == 1);
    CHECK(found.at(name) == Approx(value));
  }
}

const std::map<Quantity, double> kOfGpu = {
    {Quantity::utilization, 870}, {Quantity::power, 300'000}, {Quantity::memory, 42.5e9}};

}  // namespace

TEST_CASE("MLflow system metrics: an NVIDIA GPU has the names and units of MLflow's own client") {
  Sensor gpu = sampled_gpu("cuda 0", 1);
  gpu.number = 3;  // in the machine
  check(reported(gpu, kOfGpu), {{"system/gpu_3_utilization_percentage", 87},
                                {"system/gpu_3_power_usage_watts", 300},
                                {"system/gpu_3_power_usage_percentage", 300.0 / 7},
                                {"system/gpu_3_memory_usage_megabytes", 42'500},
                                {"system/gpu_3_memory_usage_percentage", 50}});
  gpu.power_limit_mw.reset();
  gpu.memory_bytes.reset();
  CHECK(reported(gpu, kOfGpu).size() == 3);
}

TEST_CASE("MLflow system metrics: a MIG instance has the metrics of the whole GPU") {
  Sensor gpu = sampled_gpu("cuda 0", 1);
  gpu.caveat = "a MIG slice";
  check(reported(gpu, kOfGpu), {{"system/gpu_0_utilization_percentage", 87},
                                {"system/gpu_0_power_usage_watts", 300},
                                {"system/gpu_0_power_usage_percentage", 300.0 / 7}});
}

TEST_CASE("MLflow system metrics: an AMD GPU has its memory in gigabytes and no power percentage") {
  check(reported(sampled_gpu("hip 0", 1), kOfGpu), {{"system/gpu_0_utilization_percentage", 87},
                                                    {"system/gpu_0_power_usage_watts", 300},
                                                    {"system/gpu_0_memory_usage_gigabytes", 42.5},
                                                    {"system/gpu_0_memory_usage_percentage", 50}});
}

TEST_CASE("MLflow system metrics: the machine has three, process and CPUs have none") {
  for (const Sensor& sensor : sampled_system(1)) {
    const auto found = reported(sensor, {{Quantity::cpu_time, 2}, {Quantity::memory, 16e9}});
    if (sensor.kind != Sensor::Kind::machine) {
      CHECK(found.empty());
      continue;
    }
    // 2 of 8 CPUs were busy: 2 ns of CPU time per ns.
    check(found, {{"system/cpu_utilization_percentage", 25},
                  {"system/system_memory_usage_megabytes", 16'000},
                  {"system/system_memory_usage_percentage", 25}});
  }
}

TEST_CASE("MLflow system metrics: a cursor stores their progress, and an older one has none") {
  takt::detail::MlflowCursor cursor;
  cursor.first_sample = 7;
  cursor.settled[static_cast<std::size_t>(takt::detail::MetricPoint::Source::sample)].add(2, 5);
  std::string text = takt::detail::format_cursor(cursor);
  takt::detail::MlflowCursor read;
  REQUIRE(takt::detail::parse_cursor(text, read));
  CHECK(read.first_sample == 7);
  CHECK(takt::detail::format_cursor(read) == text);
  for (const std::string gone : {R"("first_sample":7,)", R"("sample":[[2,5]],)"}) {
    INFO(text);
    const std::size_t at = text.find(gone);
    REQUIRE(at != std::string::npos);
    text.erase(at, gone.size());
  }
  takt::detail::MlflowCursor old;
  REQUIRE(takt::detail::parse_cursor(text, old));
  CHECK(old.first_sample == 0);
  CHECK(old.settled[static_cast<std::size_t>(takt::detail::MetricPoint::Source::sample)].count() == 0);
}
