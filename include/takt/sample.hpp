// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// A quantity that a sensor reports. Journals store these numbers.
enum class Quantity : std::uint8_t {
  energy = 0,            ///< uJ since the first sample; counts up
  power = 1,             ///< mW
  memory = 2,            ///< bytes in use: of a device by all processes; resident ones of the process
  peak_memory = 3,       ///< bytes: peak resident memory so far
  utilization = 4,       ///< thousandths of the time in which the device was busy
  clock = 5,             ///< MHz, of a device's multiprocessors
  slowdowns = 6,         ///< bits of Slowdown: reasons for a reduced clock
  temperature = 7,       ///< thousandths of a degree Celsius
  cpu_time = 8,          ///< ns of processor time: of the process, or of all on the machine; counts up
  minor_faults = 9,      ///< page faults without a read; counts up
  major_faults = 10,     ///< page faults that waited for storage; counts up
  switches = 11,         ///< voluntary context switches; counts up
  forced_switches = 12,  ///< involuntary context switches; counts up
  storage_read = 13,     ///< bytes fetched from storage; counts up
  storage_written = 14,  ///< bytes sent to storage; counts up
};

/// Presentation of a quantity in reports.
struct QuantityForm {
  const char* name;  ///< in summary.json: "power_w"
  const char* unit;  ///< "W"; empty: dimensionless
  double scale;      ///< value * scale is in `unit`
  bool counts;       ///< it counts up: reports show a difference, not a mean
};

/// Number of Quantities.
inline constexpr std::uint8_t kQuantities = 15;

/// Returns the presentation of a quantity. Any thread.
constexpr QuantityForm form_of(Quantity quantity) noexcept {
  constexpr QuantityForm kForms[kQuantities] = {
      {"energy_j", "J", 1e-6, true},
      {"power_w", "W", 1e-3, false},
      {"memory_bytes", "B", 1, false},
      {"peak_memory_bytes", "B", 1, false},
      {"utilization_percent", "%", 1e-1, false},
      {"clock_mhz", "MHz", 1, false},
      {"slowdowns", "", 1, false},
      {"temperature_c", "\u00B0C", 1e-3, false},
      {"cpu_time_s", "s", 1e-9, true},
      {"minor_faults", "", 1, true},
      {"major_faults", "", 1, true},
      {"switches", "", 1, true},
      {"forced_switches", "", 1, true},
      {"storage_read_bytes", "B", 1, true},
      {"storage_written_bytes", "B", 1, true},
  };
  return kForms[static_cast<std::uint8_t>(quantity) % kQuantities];
}

/// Reasons for a reduced device clock, one bit each. A user's own clock setting and idling are not included.
enum class Slowdown : std::uint8_t {
  power_cap = 1,    ///< power limit reached
  heat = 2,         ///< temperature limit reached
  power_brake = 4,  ///< requested by the power supply
  hardware = 8,     ///< lowered by the hardware, reason unknown
};

/// One reading of a sensor.
struct Sample {
  /// An unreadable value in `values`: 8 bytes rather than the 16 of an optional. No quantity reaches this value.
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

  std::uint64_t sequence = 0;        ///< number of this sample in the run, from 0
  std::uint32_t sensor = 0;          ///< index into Snapshot::sensors
  std::int64_t time_ns = 0;          ///< since the start of the run
  std::vector<std::int64_t> values;  ///< values of Sensor::quantities, in their order, or kAbsent
};

/// Statistics of one quantity over the run so far, in its own units.
struct QuantityFigures {
  double mean = 0;  ///< over time
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t change = 0;  ///< from the first sample to the last: the amount, for quantities that count up
};

/// Time for which a device was slowed down.
struct SlowTime {
  Slowdown why = Slowdown::power_cap;
  std::int64_t ns = 0;
};

/// Energy from a sensor, between its first and its last sample.
struct SensorEnergy {
  /// Source of the energy figure.
  enum class Source : std::uint8_t {
    none,     ///< no energy reported
    counter,  ///< energy counter of the device
    power,    ///< power of the samples, integrated over time
  };

  Source source = Source::none;
  double joules = 0;
  std::optional<double> by_power_joules;  ///< integrated power, if the device reports both counter and power
  std::int64_t step_ns = 0;               ///< distance of two values: of samples, or of the counter's updates
};

/// A sensor: a device, the processors, the process, or the machine. Its figures cover the sampled time.
struct Sensor {
  /// Kind of thing that it samples.
  enum class Kind : std::uint8_t { device, processors, process, machine };

  Kind kind = Kind::device;
  std::uint32_t number = 0;  ///< device number on the machine
  std::string name;          ///< "cuda 0", as the program numbers its devices; "processors", "process", "machine"
  std::string model;         ///< "NVIDIA H100 80GB HBM3"; may be empty
  std::string id;            ///< same for all processes that sample the same thing: a UUID, or the host's name
  std::vector<Quantity> quantities;
  std::optional<std::uint64_t> memory_bytes;  ///< total memory
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::uint32_t> processors;  ///< logical processors that `cpu_time` covers
  std::int64_t interval_ns = 0;             ///< requested distance of samples
  /// Memory in use by the driver itself when sampling started, if known.
  std::optional<std::int64_t> reserved_bytes;
  std::string caveat;  ///< limits of its figures; may be empty
  std::string lost;    ///< reason why sampling stopped; empty: it continues

  std::uint64_t samples = 0;  // from here on: its figures
  std::int64_t first_ns = 0;  ///< time of the first sample since the start of the run
  std::int64_t last_ns = 0;
  std::vector<QuantityFigures> figures;  ///< figures of `quantities`, in their order; empty without samples
  SensorEnergy energy;
  std::vector<SlowTime> slowed;  ///< several reasons may hold at the same time
  std::int64_t slowed_ns = 0;    ///< time with any reason

  /// Returns the index of a quantity in `quantities`, or their number if it is absent. Any thread.
  std::size_t place_of(Quantity quantity) const noexcept {
    std::size_t place = 0;
    while (place < quantities.size() && quantities[place] != quantity) { ++place; }
    return place;
  }
  /// Returns the figures of a quantity; nullptr if it was not sampled. Any thread.
  const QuantityFigures* figures_of(Quantity quantity) const noexcept {
    const std::size_t place = place_of(quantity);
    return place < figures.size() ? &figures[place] : nullptr;
  }
};

/// Something that should be sampled and is not.
struct Unsampled {
  std::string what;  ///< "NVIDIA GPUs"
  std::string why;
};

/// Energy of the steps of one series that count for throughput, from one sensor. Includes the time between two such
/// steps. A consecutive run of steps counts if it has at least five samples.
struct StepEnergy {
  std::uint32_t series = 0;  ///< index into Snapshot::series
  std::uint32_t sensor = 0;  ///< index into Snapshot::sensors
  std::uint64_t steps = 0;
  std::uint64_t items = 0;  ///< items in these steps
  std::int64_t time_ns = 0;
  double joules = 0;
  double error_joules = 0;  ///< upper bound, from the distance between samples
};

/// Energy of regions of one key from one sensor; only regions that lasted for at least five samples. Covers Batches;
/// with tracing, every region.
struct RegionEnergy {
  std::string name;  ///< key name
  std::uint32_t sensor = 0;
  std::uint64_t calls = 0;
  std::int64_t time_ns = 0;
  double joules = 0;
  double error_joules = 0;  ///< upper bound, as above
};

TAKT_END_NAMESPACE
