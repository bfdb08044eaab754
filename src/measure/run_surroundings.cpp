// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/run_surroundings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// What a meter told of one quantity, and when.
struct TimedValue {
  std::int64_t time_ns;
  std::int64_t value;
};
using TimedValues = std::vector<TimedValue>;

TimedValues readings_of(const std::vector<Meter>& meters, std::uint32_t meter, const std::vector<Sample>& samples,
                        Quantity quantity) {
  TimedValues readings;
  const std::size_t place = meters[meter].place_of(quantity);
  for (const Sample& each : samples) {
    if (each.meter != meter || place >= each.values.size() || each.values[place] == Sample::kAbsent) { continue; }
    readings.push_back({each.time_ns, each.values[place]});
  }
  return readings;
}

/// The values around a time: from the last one before it to the first one behind it.
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
  each_around(clocks, runs, [](MeasuredRun& run, std::int64_t mhz) {
    run.clock_mhz = run.clock_mhz == MeasuredRun::kUnknown ? mhz : std::min(run.clock_mhz, mhz);
  });
  each_around(slowdowns, runs,
              [](MeasuredRun& run, std::int64_t bits) { run.slowdowns |= static_cast<std::uint32_t>(bits); });
}

/// What counts up, at a time between two readings. REQUIRES: one timed or more.
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

/// Processor time of all on the machine, less that of this process.
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

void note_surroundings(const std::vector<Meter>& meters, const std::vector<Sample>& samples,
                       std::vector<MeasuredRun>& runs) {
  TimedValues machine;
  TimedValues process;
  std::uint32_t processors = 0;
  for (std::uint32_t meter = 0; meter < meters.size(); ++meter) {
    const auto of = [&](Quantity quantity) { return readings_of(meters, meter, samples, quantity); };
    switch (meters[meter].kind) {
      case Meter::Kind::device:
        note_device(of(Quantity::clock), of(Quantity::slowdowns), runs);
        break;
      case Meter::Kind::process:
        process = of(Quantity::cpu_time);
        break;
      case Meter::Kind::machine:
        machine = of(Quantity::cpu_time);
        processors = meters[meter].processors;
        break;
      case Meter::Kind::processors:
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
    if (run.clock_mhz == MeasuredRun::kUnknown) { continue; }
    const bool first = notes.least_clock_mhz == MeasuredNotes::kUnknown;
    notes.least_clock_mhz = first ? run.clock_mhz : std::min(notes.least_clock_mhz, run.clock_mhz);
    notes.most_clock_mhz = std::max(notes.most_clock_mhz, run.clock_mhz);
  }
  return notes;
}

}  // namespace detail
TAKT_END_NAMESPACE
