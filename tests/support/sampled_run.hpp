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

inline constexpr std::int64_t kSampleNs = 100'000'000;  // between two samples

inline takt::Meter meter_of(takt::Meter::Kind kind, const std::string& name, std::vector<takt::Quantity> quantities) {
  takt::Meter meter;
  meter.kind = kind;
  meter.name = name;
  meter.id = name + " of here";
  meter.quantities = std::move(quantities);
  meter.interval_ns = kSampleNs;
  return meter;
}

/// A GPU that drew 300 W for `seconds`, was slowed down for a tenth of them, and was sampled ten times a second.
inline takt::Meter sampled_gpu(const std::string& name, std::int64_t seconds) {
  using takt::Quantity;
  takt::Meter meter = meter_of(takt::Meter::Kind::device, name,
                               {Quantity::energy, Quantity::power, Quantity::memory, Quantity::utilization,
                                Quantity::clock, Quantity::slowdowns, Quantity::temperature});
  meter.model = "NVIDIA H100 80GB HBM3";
  meter.id = "GPU-" + name;
  meter.memory_bytes = 85'000'000'000;
  meter.power_limit_mw = 700'000;
  meter.samples = static_cast<std::uint64_t>(seconds * 10 + 1);
  meter.last_ns = seconds * 1'000'000'000;
  meter.figures = {{0, 0, seconds * 300'000'000, seconds * 300'000'000},
                   {300'000, 290'000, 310'000, 10'000},
                   {30e9, 1'000'000'000, 40'200'000'000, 0},
                   {870, 0, 1000, 0},
                   {1800, 1200, 1980, 0},
                   {0, 0, 1, 0},
                   {65'000, 40'000, 71'000, 0}};
  meter.energy = {takt::MeterEnergy::Source::counter, static_cast<double>(seconds) * 300,
                  static_cast<double>(seconds) * 298, kSampleNs};
  meter.slowed = {{takt::Slowdown::power_cap, seconds * 80'000'000}, {takt::Slowdown::heat, seconds * 30'000'000}};
  meter.slowed_ns = seconds * 100'000'000;
  return meter;
}

/// The processors, the process and the machine, for `seconds`.
inline std::vector<takt::Meter> sampled_system(std::int64_t seconds) {
  using takt::Quantity;
  std::vector<takt::Meter> meters = {
      meter_of(takt::Meter::Kind::processors, "processors", {Quantity::energy}),
      meter_of(takt::Meter::Kind::process, "process",
               {Quantity::cpu_time, Quantity::memory, Quantity::peak_memory, Quantity::major_faults,
                Quantity::forced_switches, Quantity::storage_read, Quantity::storage_written}),
      meter_of(takt::Meter::Kind::machine, "machine", {Quantity::cpu_time, Quantity::memory})};
  for (takt::Meter& each : meters) {
    each.samples = static_cast<std::uint64_t>(seconds * 10 + 1);
    each.last_ns = seconds * 1'000'000'000;
  }
  meters[0].figures = {{0, 0, seconds * 75'000'000, seconds * 75'000'000}};
  meters[0].energy = {takt::MeterEnergy::Source::counter, static_cast<double>(seconds) * 75, std::nullopt, kSampleNs};
  meters[1].figures = {{0, 0, 0, seconds * 2'000'000'000},
                       {1e9, 0, 1'500'000'000, 0},
                       {2e9, 0, 3'200'000'000, 0},
                       {0, 0, 0, 120},
                       {0, 0, 0, 3400},
                       {0, 0, 0, 12'000'000'000},
                       {0, 0, 0, 1'000'000}};
  meters[2].figures = {{0, 0, 0, seconds * 3'440'000'000}, {10e9, 0, 12'000'000'000, 0}};
  meters[2].memory_bytes = 64'000'000'000;
  meters[2].processors = 8;
  return meters;
}

/// A run of one series of `steps` steps that was sampled for `seconds`, with one GPU.
inline takt::Snapshot sampled_snapshot(std::int64_t seconds = 4, std::uint64_t steps = 600) {
  takt::Snapshot snapshot = sample_snapshot();
  snapshot.wall_ns = seconds * 1'000'000'000;
  snapshot.meters = sampled_system(seconds);
  snapshot.meters.insert(snapshot.meters.begin(), sampled_gpu("cuda 0", seconds));
  snapshot.unsampled = {{"AMD GPUs", "librocm_smi64.so.7 cannot be loaded"}};
  takt::StepEnergy energy;
  energy.steps = steps;
  energy.items = steps * 64;
  energy.time_ns = seconds * 1'000'000'000;
  energy.joules = static_cast<double>(seconds) * 300;
  energy.error_joules = 36;
  snapshot.step_energies.push_back(energy);
  energy.meter = 1;
  energy.joules = static_cast<double>(seconds) * 75;
  energy.error_joules = 15;
  snapshot.step_energies.push_back(energy);
  snapshot.region_energies = {{"Validation", 0, 3, 1'500'000'000, 450, 60},
                              {"Validation", 1, 3, 1'500'000'000, 110, 15}};
  return snapshot;
}

/// A sample of the GPU of sampled_gpu(), `number` intervals after the start.
inline takt::Sample gpu_sample(std::uint64_t number, std::uint32_t meter = 0) {
  takt::Sample sample;
  sample.sequence = number;
  sample.meter = meter;
  const auto count = static_cast<std::int64_t>(number);
  sample.time_ns = count * kSampleNs;
  sample.values = {count * 30'000'000, 300'000, 40'000'000'000 + count, 870, 1800, count % 2, 65'000};
  return sample;
}

/// What add_sample() says at that second: of what counts up 2 s of processor time a second, or 2 000 000 000 of
/// something else; of all else the last digit of the second, times 1 000.
inline std::int64_t sampled_value(takt::Quantity quantity, std::int64_t second) {
  return takt::form_of(quantity).counts ? second * 2'000'000'000 : second % 10 * 1000;
}

/// A sample of a meter in the middle of that second.
inline void add_sample(takt::Snapshot& snapshot, std::uint32_t meter, std::int64_t second, std::uint64_t sequence) {
  takt::Sample sample;
  sample.sequence = sequence;
  sample.meter = meter;
  sample.time_ns = second * 1'000'000'000 + 500'000'000;
  for (const takt::Quantity quantity : snapshot.meters[meter].quantities) {
    sample.values.push_back(sampled_value(quantity, second));
  }
  snapshot.samples.push_back(sample);
}

/// One GPU, the processors, the process and the machine, each sampled in that second, in this order.
inline void sample_second(takt::Snapshot& snapshot, std::int64_t second) {
  snapshot.meters = sampled_system(1);
  snapshot.meters.insert(snapshot.meters.begin(), sampled_gpu("cuda 0", 1));
  const auto count = static_cast<std::uint32_t>(snapshot.meters.size());
  for (std::uint32_t meter = 0; meter < count; ++meter) {
    add_sample(snapshot, meter, second, static_cast<std::uint64_t>(second) * count + meter);
  }
}

}  // namespace takt_test
