// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace takt_test {

inline constexpr std::int64_t kSampleNs = 100'000'000;  // sampling interval

inline takt::Sensor sensor_of(takt::Sensor::Kind kind, const std::string& name,
                              std::vector<takt::Quantity> quantities) {
  takt::Sensor sensor;
  sensor.kind = kind;
  sensor.name = name;
  sensor.id = name + " of here";
  sensor.quantities = std::move(quantities);
  sensor.interval_ns = kSampleNs;
  return sensor;
}

/// Returns a GPU that drew 300 W for `seconds`, was slowed down for a tenth of them, and was sampled ten times per
/// second.
inline takt::Sensor sampled_gpu(const std::string& name, std::int64_t seconds) {
  using takt::Quantity;
  takt::Sensor sensor = sensor_of(takt::Sensor::Kind::device, name,
                                  {Quantity::energy, Quantity::power, Quantity::memory, Quantity::utilization,
                                   Quantity::clock, Quantity::slowdowns, Quantity::temperature});
  sensor.model = "NVIDIA H100 80GB HBM3";
  sensor.id = "GPU-" + name;
  sensor.memory_bytes = 85'000'000'000;
  sensor.power_limit_mw = 700'000;
  sensor.samples = static_cast<std::uint64_t>(seconds * 10 + 1);
  sensor.last_ns = seconds * 1'000'000'000;
  sensor.figures = {{0, 0, seconds * 300'000'000, seconds * 300'000'000},
                    {300'000, 290'000, 310'000, 10'000},
                    {30e9, 1'000'000'000, 40'200'000'000, 0},
                    {870, 0, 1000, 0},
                    {1800, 1200, 1980, 0},
                    {0, 0, 1, 0},
                    {65'000, 40'000, 71'000, 0}};
  sensor.energy = {takt::SensorEnergy::Source::counter, static_cast<double>(seconds) * 300,
                   static_cast<double>(seconds) * 298, kSampleNs};
  sensor.slowed = {{takt::Slowdown::power_cap, seconds * 80'000'000}, {takt::Slowdown::heat, seconds * 30'000'000}};
  sensor.slowed_ns = seconds * 100'000'000;
  return sensor;
}

/// Returns the CPUs, the process and the machine, for `seconds`.
inline std::vector<takt::Sensor> sampled_system(std::int64_t seconds) {
  using takt::Quantity;
  std::vector<takt::Sensor> sensors = {
      sensor_of(takt::Sensor::Kind::processors, "processors", {Quantity::energy}),
      sensor_of(takt::Sensor::Kind::process, "process",
                {Quantity::cpu_time, Quantity::memory, Quantity::peak_memory, Quantity::major_faults,
                 Quantity::forced_switches, Quantity::storage_read, Quantity::storage_written}),
      sensor_of(takt::Sensor::Kind::machine, "machine", {Quantity::cpu_time, Quantity::memory})};
  for (takt::Sensor& each : sensors) {
    each.samples = static_cast<std::uint64_t>(seconds * 10 + 1);
    each.last_ns = seconds * 1'000'000'000;
  }
  sensors[0].figures = {{0, 0, seconds * 75'000'000, seconds * 75'000'000}};
  sensors[0].energy = {takt::SensorEnergy::Source::counter, static_cast<double>(seconds) * 75, std::nullopt, kSampleNs};
  sensors[1].figures = {{0, 0, 0, seconds * 2'000'000'000},
                        {1e9, 0, 1'500'000'000, 0},
                        {2e9, 0, 3'200'000'000, 0},
                        {0, 0, 0, 120},
                        {0, 0, 0, 3400},
                        {0, 0, 0, 12'000'000'000},
                        {0, 0, 0, 1'000'000}};
  sensors[2].figures = {{0, 0, 0, seconds * 3'440'000'000}, {10e9, 0, 12'000'000'000, 0}};
  sensors[2].memory_bytes = 64'000'000'000;
  sensors[2].processors = 8;
  return sensors;
}

/// Returns a run of one series of `steps` steps that was sampled for `seconds`, with one GPU.
inline takt::Snapshot sampled_snapshot(std::int64_t seconds = 4, std::uint64_t steps = 600) {
  takt::Snapshot snapshot = sample_snapshot();
  snapshot.wall_ns = seconds * 1'000'000'000;
  snapshot.sensors = sampled_system(seconds);
  snapshot.sensors.insert(snapshot.sensors.begin(), sampled_gpu("cuda 0", seconds));
  snapshot.unsampled = {{"AMD GPUs", "librocm_smi64.so.7 cannot be loaded"}};
  takt::StepEnergy energy;
  energy.steps = steps;
  energy.items = steps * 64;
  energy.time_ns = seconds * 1'000'000'000;
  energy.joules = static_cast<double>(seconds) * 300;
  energy.error_joules = 36;
  snapshot.step_energies.push_back(energy);
  energy.sensor = 1;
  energy.joules = static_cast<double>(seconds) * 75;
  energy.error_joules = 15;
  snapshot.step_energies.push_back(energy);
  snapshot.region_energies = {{"Validation", 0, 3, 1'500'000'000, 450, 60},
                              {"Validation", 1, 3, 1'500'000'000, 110, 15}};
  return snapshot;
}

/// Returns a sample of sampled_gpu(), `number` intervals after the start.
inline takt::Sample gpu_sample(std::uint64_t number, std::uint32_t sensor = 0) {
  takt::Sample sample;
  sample.sequence = number;
  sample.sensor = sensor;
  const auto count = static_cast<std::int64_t>(number);
  sample.time_ns = count * kSampleNs;
  sample.values = {count * 30'000'000, 300'000, 40'000'000'000 + count, 870, 1800, count % 2, 65'000};
  return sample;
}

/// Returns the value that add_sample() records at that second. Counters increase by 2 s of CPU time or by 2,000,000,000
/// per second. Other values are 1,000 times the last digit of the second.
inline std::int64_t sampled_value(takt::Quantity quantity, std::int64_t second) {
  return takt::form_of(quantity).counts ? second * 2'000'000'000 : second % 10 * 1000;
}

/// Adds a sample of a sensor in the middle of that second.
inline void add_sample(takt::Snapshot& snapshot, std::uint32_t sensor, std::int64_t second, std::uint64_t sequence) {
  takt::Sample sample;
  sample.sequence = sequence;
  sample.sensor = sensor;
  sample.time_ns = second * 1'000'000'000 + 500'000'000;
  for (const takt::Quantity quantity : snapshot.sensors[sensor].quantities) {
    sample.values.push_back(sampled_value(quantity, second));
  }
  snapshot.samples.push_back(sample);
}

/// Adds samples of one GPU, the CPUs, the process and the machine in that second, in this order.
inline void sample_second(takt::Snapshot& snapshot, std::int64_t second) {
  snapshot.sensors = sampled_system(1);
  snapshot.sensors.insert(snapshot.sensors.begin(), sampled_gpu("cuda 0", 1));
  const auto count = static_cast<std::uint32_t>(snapshot.sensors.size());
  for (std::uint32_t sensor = 0; sensor < count; ++sensor) {
    add_sample(snapshot, sensor, second, static_cast<std::uint64_t>(second) * count + sensor);
  }
}

}  // namespace takt_test
