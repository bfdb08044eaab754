// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/counter_tracks.hpp"

#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// How a quantity looks on a time line. What is not here has no track.
struct Track {
  Quantity quantity;
  const char* name;
  const char* unit;
  double scale;  ///< of a value, or of what it counts up by in a nanosecond
};
constexpr double kPerSecond = 1e9;
constexpr Track kTracks[] = {
    {Quantity::energy, "power by the counter", "W", 1e-6 * kPerSecond},
    {Quantity::power, "power", "W", 1e-3},
    {Quantity::memory, "memory", "MB", 1e-6},
    {Quantity::utilization, "busy", "%", 1e-1},
    {Quantity::clock, "clock", "MHz", 1},
    {Quantity::temperature, "temperature", "\u00B0C", 1e-3},
    {Quantity::cpu_time, "processors busy", "processors", 1},
    {Quantity::major_faults, "page faults that wait for storage", "1/s", kPerSecond},
    {Quantity::forced_switches, "forced context switches", "1/s", kPerSecond},
    {Quantity::storage_read, "read from storage", "MB/s", 1e-6 * kPerSecond},
    {Quantity::storage_written, "written to storage", "MB/s", 1e-6 * kPerSecond},
};

const Track* counter_track_of(Quantity quantity) {
  for (const Track& each : kTracks) {
    if (each.quantity == quantity) { return &each; }
  }
  return nullptr;
}

/// A curve for each reason that holds would be four that are mostly 0.
constexpr const char* kSlowed = "slowed down";

}  // namespace

std::vector<CounterValue> CounterTracks::values(const Snapshot& snapshot, const Sample& sample) {
  std::vector<CounterValue> values;
  if (sample.meter >= snapshot.meters.size()) { return values; }
  const Meter& meter = snapshot.meters[sample.meter];
  if (sample.values.size() != meter.quantities.size()) { return values; }
  const auto found = last_.find(sample.meter);
  const Sample* const last =
      found == last_.end() || found->second.values.size() != sample.values.size() ? nullptr : &found->second;
  for (std::size_t place = 0; place < sample.values.size(); ++place) {
    const Quantity quantity = meter.quantities[place];
    const std::int64_t value = sample.values[place];
    if (value == Sample::kAbsent) { continue; }
    if (quantity == Quantity::slowdowns) { values.push_back({meter.name + " " + kSlowed, "", value == 0 ? 0.0 : 1.0}); }
    const Track* const track = counter_track_of(quantity);
    if (track == nullptr) { continue; }
    auto number = static_cast<double>(value);
    if (form_of(quantity).counts) {
      const bool known = last != nullptr && last->values[place] != Sample::kAbsent && sample.time_ns > last->time_ns;
      if (!known) { continue; }
      const double passed = static_cast<double>(sample.time_ns) - static_cast<double>(last->time_ns);
      number = (number - static_cast<double>(last->values[place])) / passed;
    }
    values.push_back({meter.name + " " + track->name, track->unit, number * track->scale});
  }
  last_[sample.meter] = sample;
  return values;
}

}  // namespace detail
TAKT_END_NAMESPACE
