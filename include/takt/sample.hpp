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

/// What a meter tells. Journals have these numbers.
enum class Quantity : std::uint8_t {
  energy = 0,            ///< uJ since the first sample; counts up
  power = 1,             ///< mW
  memory = 2,            ///< bytes in use: of a device by all processes, of the process those that are resident
  peak_memory = 3,       ///< bytes: the most that was resident so far
  utilization = 4,       ///< thousandths of the time in which the device had work
  clock = 5,             ///< MHz, of a device's multiprocessors
  slowdowns = 6,         ///< bits of Slowdown: why the clock is lower than it could be
  temperature = 7,       ///< thousandths of a degree Celsius
  cpu_time = 8,          ///< ns of processor time: of the process, or of all on the machine; counts up
  minor_faults = 9,      ///< page faults that read nothing; counts up
  major_faults = 10,     ///< page faults that waited for storage; counts up
  switches = 11,         ///< context switches of threads that had to wait; counts up
  forced_switches = 12,  ///< context switches of threads that would have gone on; counts up
  storage_read = 13,     ///< bytes fetched from storage; counts up
  storage_written = 14,  ///< bytes sent to storage; counts up
};

/// How a quantity is told.
struct QuantityForm {
  const char* name;  ///< in summary.json: "power_w"
  const char* unit;  ///< "W"; empty: a number of its own
  double scale;      ///< a value times this is in `unit`
  bool counts;       ///< it counts up, so that a difference is told, and not a mean
};

/// How many Quantities there are.
inline constexpr std::uint8_t kQuantities = 15;

/// Any thread.
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

/// Why a device lowers its clock: a bit each. A user's own setting, and having nothing to do, are none of them.
enum class Slowdown : std::uint8_t {
  power_cap = 1,    ///< it takes as much power as it may
  heat = 2,         ///< it is too hot
  power_brake = 4,  ///< the power supply asks for it
  hardware = 8,     ///< the hardware does it, and says no more
};

/// One reading of a meter.
struct Sample {
  /// Stands in `values` for one that could not be read: 8 bytes, where an optional takes 16. No quantity reaches it.
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

  std::uint64_t sequence = 0;        ///< number of this sample in the run, from 0
  std::uint32_t sensor = 0;          ///< index into Snapshot::meters
  std::int64_t time_ns = 0;          ///< since the start of the run
  std::vector<std::int64_t> values;  ///< of Meter::quantities, in their order, or kAbsent
};

/// What the samples say of one quantity, over the run so far, in its own units.
struct QuantityFigures {
  double mean = 0;  ///< over time
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t change = 0;  ///< from the first sample to the last: what was counted, of those that count up
};

/// How long a device was slowed down.
struct SlowTime {
  Slowdown why = Slowdown::power_cap;
  std::int64_t ns = 0;
};

/// The energy that a meter tells of the time between its first and its last sample.
struct SensorEnergy {
  /// Where its figure comes from.
  enum class Source : std::uint8_t {
    none,     ///< it tells none
    counter,  ///< the device counts it
    power,    ///< the power of the samples, summed up over time
  };

  Source source = Source::none;
  double joules = 0;
  std::optional<double> by_power_joules;  ///< if the device counts and tells its power, what that comes to
  std::int64_t step_ns = 0;               ///< how far apart two values are: as samples are, or as the counter moves on
};

/// What is sampled: a device, the processors, the process, or the machine. Its figures are of the time that was
/// sampled.
struct Sensor {
  /// What it is a meter of.
  enum class Kind : std::uint8_t { device, processors, process, machine };

  Kind kind = Kind::device;
  std::uint32_t number = 0;  ///< of a device, among those of the machine
  std::string name;          ///< "cuda 0", as the program numbers its devices; "processors", "process", "machine"
  std::string model;         ///< "NVIDIA H100 80GB HBM3"; may be empty
  std::string id;            ///< the same for all processes that sample the same thing: a UUID, or the host's name
  std::vector<Quantity> quantities;
  std::optional<std::uint64_t> memory_bytes;  ///< in all
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::uint32_t> processors;  ///< logical ones, that `cpu_time` is of
  std::int64_t interval_ns = 0;             ///< between two samples, as asked for
  /// Of the memory in use, what the driver kept for itself when sampling began, if it tells.
  std::optional<std::int64_t> reserved_bytes;
  std::string caveat;  ///< what its figures have to be read with, may be empty
  std::string lost;    ///< why there are no more samples of it; empty: there are

  std::uint64_t samples = 0;  // from here on: its figures
  std::int64_t first_ns = 0;  ///< when the first was taken, since the start of the run
  std::int64_t last_ns = 0;
  std::vector<QuantityFigures> figures;  ///< of `quantities`, in their order; empty without samples
  SensorEnergy energy;
  std::vector<SlowTime> slowed;  ///< reasons may hold at the same time
  std::int64_t slowed_ns = 0;    ///< in which there was any

  /// The place of a quantity in `quantities`; their number: it is not there. Any thread.
  std::size_t place_of(Quantity quantity) const noexcept {
    std::size_t place = 0;
    while (place < quantities.size() && quantities[place] != quantity) { ++place; }
    return place;
  }
  /// nullptr: it was not sampled. Any thread.
  const QuantityFigures* figures_of(Quantity quantity) const noexcept {
    const std::size_t place = place_of(quantity);
    return place < figures.size() ? &figures[place] : nullptr;
  }
};

/// What was to be sampled, and is not.
struct Unsampled {
  std::string what;  ///< "NVIDIA GPUs"
  std::string why;
};

/// The energy of the steps of one series that count for throughput, by one meter. What lies between two of them is in
/// it. A stretch of steps without a break is in it from five samples on.
struct StepEnergy {
  std::uint32_t series = 0;  ///< index into Snapshot::series
  std::uint32_t sensor = 0;  ///< index into Snapshot::meters
  std::uint64_t steps = 0;
  std::uint64_t items = 0;  ///< in these
  std::int64_t time_ns = 0;
  double joules = 0;
  double error_joules = 0;  ///< at most, by how far samples lie apart
};

/// The energy of regions of one key by one meter: of those that lasted for five samples or more. Of Batches; of every
/// region with tracing on.
struct RegionEnergy {
  std::string name;  ///< of the key
  std::uint32_t sensor = 0;
  std::uint64_t calls = 0;
  std::int64_t time_ns = 0;
  double joules = 0;
  double error_joules = 0;  ///< at most, likewise
};

TAKT_END_NAMESPACE
