// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/measured_times.hpp"

#include <takt/snapshot.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

double time_at(const std::vector<std::int64_t>& ordered, std::size_t place) {
  return static_cast<double>(ordered[place]);
}

void add_moments(const std::vector<std::int64_t>& values, MeasuredTimes& times) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const std::int64_t each : values) { sum += static_cast<double>(each); }
  times.mean_ns = sum / count;
  double squares = 0;
  for (const std::int64_t each : values) {
    const double off = static_cast<double>(each) - times.mean_ns;
    squares += off * off;
  }
  times.stdev_ns = values.size() < 2 ? 0 : std::sqrt(squares / (count - 1));
}

}  // namespace

MeasuredTimes measured_times(std::vector<std::int64_t> times_ns) {
  MeasuredTimes times;
  const std::size_t n = times_ns.size();
  times.n = n;
  if (n == 0) { return times; }
  add_moments(times_ns, times);
  std::sort(times_ns.begin(), times_ns.end());
  times.min_ns = time_at(times_ns, 0);
  times.max_ns = time_at(times_ns, n - 1);
  times.median_ns = (time_at(times_ns, (n - 1) / 2) + time_at(times_ns, n / 2)) / 2;
  if (const std::uint64_t rank = rank_of_median_end(n)) {
    times.has_interval = true;
    times.low_ns = time_at(times_ns, static_cast<std::size_t>(rank - 1));
    times.high_ns = time_at(times_ns, n - static_cast<std::size_t>(rank));
  }
  for (std::size_t at = 0; at < times.percentiles_ns.size(); ++at) {
    const double share = MeasuredTimes::kPercentiles[at];
    if (!has_percentile(n, share)) { continue; }
    const double rank = std::ceil(share * static_cast<double>(n) - 1e-9);  // 0.95 * 20 is 19
    times.percentiles_ns[at] = time_at(times_ns, static_cast<std::size_t>(rank) - 1);
  }
  return times;
}

bool is_feature_name(std::string_view name) noexcept {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !name.empty() && name.size() <= kMaxFeatureBytes && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_narrow(const MeasuredTimes& times, double share) noexcept {
  return times.has_interval && times.high_ns - times.low_ns <= share * times.median_ns;
}

std::uint64_t rank_of_median_end(std::uint64_t n) noexcept {
  constexpr double kOutside = 0.025;  // on each side
  const auto count = static_cast<double>(n);
  // Uses logarithms: for large n the chance of no heads underflows to 0.
  double log_chance = -count * std::log(2.0);
  double below = std::exp(log_chance);
  std::uint64_t rank = 0;
  while (rank < n && below <= kOutside) {
    ++rank;
    const auto heads = static_cast<double>(rank);
    log_chance += std::log((count - heads + 1) / heads);
    below += std::exp(log_chance);
  }
  return rank;
}

namespace {

/// Takes the device with the most memory in use, because the function's device is unknown.
void conclude_memory(Measurement& measurement) {
  if (!measurement.memory_of.empty()) { return; }  // set by the hook
  for (const MeasuredSensor& each : measurement.sensors) {
    if (each.memory_bytes <= measurement.memory_bytes) { continue; }
    measurement.memory_bytes = each.memory_bytes;
    measurement.memory_of = each.name;
  }
}

/// Sums the energy of all sensors of one kind. Returns false if none has any.
bool add_energy(Measurement& measurement, Sensor::Kind kind) {
  double joules = 0;
  double error = 0;
  std::string names;
  for (const MeasuredSensor& each : measurement.sensors) {
    if (each.kind != kind || !each.joules) { continue; }
    joules += *each.joules;
    error += each.error_joules;
    names += (names.empty() ? "" : " + ") + each.name;
  }
  if (names.empty()) { return false; }
  const auto runs = static_cast<double>(measurement.host.n);
  measurement.joules = joules / runs;
  measurement.error_joules = error / runs;
  measurement.energy_of = names;
  measurement.no_energy.clear();
  return true;
}

}  // namespace

void conclude_costs(Measurement& measurement) {
  conclude_memory(measurement);
  if (measurement.host.n == 0) { return; }
  if (add_energy(measurement, Sensor::Kind::device) || add_energy(measurement, Sensor::Kind::processors)) { return; }
  for (const MeasuredSensor& each : measurement.sensors) {
    if (each.no_energy.empty()) { continue; }
    measurement.no_energy = each.no_energy;
    break;
  }
}

namespace {

/// Timestamped value of one quantity.
struct TimedValue {
  std::int64_t time_ns;
  std::int64_t value;
};
using TimedValues = std::vector<TimedValue>;

TimedValues readings_of(const std::vector<Sensor>& sensors, std::uint32_t sensor, const std::vector<Sample>& samples,
                        Quantity quantity) {
  TimedValues readings;
  const std::size_t place = sensors[sensor].place_of(quantity);
  for (const Sample& each : samples) {
    if (each.sensor != sensor || place >= each.values.size() || each.values[place] == Sample::kAbsent) { continue; }
    readings.push_back({each.time_ns, each.values[place]});
  }
  return readings;
}

/// Values from the last one before a time to the first one after it.
struct Around {
  TimedValues::const_iterator first;
  TimedValues::const_iterator end;
};
Around around(const TimedValues& readings, std::int64_t begin_ns, std::int64_t end_ns) {
  const auto later = [](std::int64_t time_ns, const TimedValue& timed) { return time_ns < timed.time_ns; };
  auto first = std::upper_bound(readings.begin(), readings.end(), begin_ns, later);
  if (first != readings.begin()) { --first; }
  auto end = std::lower_bound(readings.begin(), readings.end(), end_ns,
                              [](const TimedValue& timed, std::int64_t time_ns) { return timed.time_ns < time_ns; });
  if (end != readings.end()) { ++end; }
  return {first, std::max(first, end)};
}

template <class Use>
void each_around(const TimedValues& readings, std::vector<MeasuredRun>& runs, Use use) {
  for (MeasuredRun& run : runs) {
    const Around near = around(readings, run.begin_ns, run.begin_ns + run.host_ns);
    for (auto at = near.first; at != near.end; ++at) { use(run, at->value); }
  }
}

void note_device(const TimedValues& clocks, const TimedValues& slowdowns, std::vector<MeasuredRun>& runs) {
  each_around(clocks, runs,
              [](MeasuredRun& run, std::int64_t mhz) { run.clock_mhz = std::min(run.clock_mhz.value_or(mhz), mhz); });
  each_around(slowdowns, runs,
              [](MeasuredRun& run, std::int64_t bits) { run.slowdowns |= static_cast<std::uint32_t>(bits); });
}

/// Interpolates a counter between two readings. REQUIRES: at least one reading.
double value_at(const TimedValues& readings, std::int64_t time_ns) {
  const Around near = around(readings, time_ns, time_ns);
  const TimedValue& before = *near.first;
  const TimedValue& after = *(near.end - 1);
  if (after.time_ns <= before.time_ns) { return static_cast<double>(before.value); }
  const double share =
      static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after.time_ns - before.time_ns);
  return static_cast<double>(before.value) +
         std::clamp(share, 0.0, 1.0) * (static_cast<double>(after.value) - static_cast<double>(before.value));
}

/// Processor time of the whole machine minus that of this process.
void note_machine(const TimedValues& all, const TimedValues& own, std::uint32_t processors,
                  std::vector<MeasuredRun>& runs) {
  if (all.size() < 2 || own.empty() || processors == 0) { return; }
  for (MeasuredRun& run : runs) {
    const Around near = around(all, run.begin_ns, run.begin_ns + run.host_ns);
    if (near.end - near.first < 2) { continue; }
    const TimedValue& before = *near.first;
    const TimedValue& after = *(near.end - 1);
    const double used = static_cast<double>(after.value) - static_cast<double>(before.value) -
                        (value_at(own, after.time_ns) - value_at(own, before.time_ns));
    const double whole = static_cast<double>(after.time_ns - before.time_ns) * processors;
    if (whole > 0) { run.others_busy = std::clamp(used / whole, 0.0, 1.0); }
  }
}

}  // namespace

void note_surroundings(const std::vector<Sensor>& sensors, const std::vector<Sample>& samples,
                       std::vector<MeasuredRun>& runs) {
  TimedValues machine;
  TimedValues process;
  std::uint32_t processors = 0;
  for (std::uint32_t sensor = 0; sensor < sensors.size(); ++sensor) {
    const auto of = [&](Quantity quantity) { return readings_of(sensors, sensor, samples, quantity); };
    switch (sensors[sensor].kind) {
      case Sensor::Kind::device:
        note_device(of(Quantity::clock), of(Quantity::slowdowns), runs);
        break;
      case Sensor::Kind::process:
        process = of(Quantity::cpu_time);
        break;
      case Sensor::Kind::machine:
        machine = of(Quantity::cpu_time);
        processors = sensors[sensor].processors.value_or(0);
        break;
      case Sensor::Kind::processors:
        break;
    }
  }
  note_machine(machine, process, processors, runs);
}

MeasuredNotes notes_on(const std::vector<MeasuredRun>& runs) noexcept {
  MeasuredNotes notes;
  for (const MeasuredRun& run : runs) {
    notes.slowed_runs += run.slowdowns != 0 ? 1 : 0;
    notes.slowdowns |= run.slowdowns;
    notes.switched_runs += run.forced_switches != 0 ? 1 : 0;
    notes.others_busy = std::max(notes.others_busy, run.others_busy);
    if (!run.clock_mhz) { continue; }
    notes.min_clock_mhz = std::min(notes.min_clock_mhz.value_or(*run.clock_mhz), *run.clock_mhz);
    notes.max_clock_mhz = std::max(notes.max_clock_mhz, run.clock_mhz);
  }
  return notes;
}

}  // namespace detail
TAKT_END_NAMESPACE
