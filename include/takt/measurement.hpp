// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/sample.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// One measured call of a function, and what went on meanwhile. Clock, slow-downs and the load of other processes are
/// those of the samples from the last one before the run to the first one behind it.
struct MeasuredRun {
  std::int64_t begin_ns = 0;              ///< since the start of the run of the program
  std::int64_t host_ns = 0;               ///< from the call until its work on streams was done
  std::optional<std::int64_t> stream_ns;  ///< the stream span; nothing without a stream, or if it could not be timed
  std::optional<std::int64_t> clock_mhz;  ///< the lowest clock of a sampled device
  std::uint32_t slowdowns = 0;            ///< bits of Slowdown, of all sampled devices
  std::uint32_t forced_switches = 0;      ///< how often the thread lost its processor and would have gone on
  std::optional<double> others_busy;      ///< share of the machine's processors that other processes kept busy, 0 to 1
};

/// What the times of the measured runs come to, in ns.
struct MeasuredTimes {
  static constexpr std::array<double, 4> kPercentiles = {0.9, 0.95, 0.99, 0.999};

  std::uint64_t n = 0;  ///< runs that have such a time; 0: all others are 0
  double mean_ns = 0;
  double stdev_ns = 0;  ///< over n - 1; 0 of one
  double min_ns = 0;
  double max_ns = 0;
  double median_ns = 0;
  /// Interval that holds the median in 95 of 100 cases at least, whatever the times are distributed like, as long as
  /// they are independent: two of the times themselves, by their order (David and Nagaraja, Order Statistics, 3rd
  /// edition, section 7.1). From six runs on.
  bool has_interval = false;
  double low_ns = 0;
  double high_ns = 0;
  /// Of kPercentiles, the time that such a share of the runs does not pass; nothing if it could not be told from
  /// the longest one (takt::has_percentile).
  std::array<std::optional<double>, kPercentiles.size()> percentiles_ns;
};

/// What the notes on the measured runs come to.
struct MeasuredNotes {
  std::uint64_t slowed_runs = 0;  ///< in which a device was slowed down
  std::uint32_t slowdowns = 0;    ///< bits of Slowdown, of all of these
  std::optional<std::int64_t> min_clock_mhz;
  std::optional<std::int64_t> max_clock_mhz;  ///< of the lowest clocks in the runs
  std::uint64_t switched_runs = 0;            ///< in which the thread lost its processor
  std::optional<double> others_busy;          ///< most that other processes kept busy, as in MeasuredRun
};

/// What one meter told of the time of the measured runs.
struct MeasuredSensor {
  std::string name;  ///< "cuda 0", "processors"
  Sensor::Kind kind = Sensor::Kind::device;
  std::uint64_t samples = 0;                 ///< in this time
  std::optional<std::int64_t> memory_bytes;  ///< of a device: most in use, by all processes
  std::optional<double> joules;              ///< of all measured runs, and of what lies between them
  double error_joules = 0;                   ///< at most, by how far samples lie apart
  std::string no_energy;                     ///< why there is no energy; empty if there is
};

/// Why a measurement ended.
enum class MeasureEnd : std::uint8_t {
  runs,      ///< it had as many runs as asked for
  interval,  ///< the interval of the median was as narrow as asked for
  seconds,   ///< the time was up
  max_runs   ///< it had 100 000 runs, and the interval was not as narrow as asked for
};

/// "runs", "interval", "seconds" or "max_runs".
constexpr const char* to_string(MeasureEnd end) noexcept {
  constexpr const char* kNames[] = {"runs", "interval", "seconds", "most_runs"};
  return kNames[static_cast<unsigned>(end) % 4];
}

/// What takt::measure() found. A value.
struct Measurement {
  std::string name;
  MeasuredTimes host;         ///< from a call until its work on streams was done
  MeasuredTimes stream;       ///< stream spans
  std::int64_t first_ns = 0;  ///< host time of the very first call; with a warm-up it is in no other figure
  std::int64_t items = 1;     ///< in a run
  std::uint64_t warmup = 0;   ///< calls before the measured ones
  MeasureEnd end = MeasureEnd::runs;
  std::int64_t took_ns = 0;        ///< all calls together
  std::uint64_t failed_waits = 0;  ///< for streams: such runs may lack work of the device

  std::optional<std::int64_t> memory_bytes;     ///< most device memory: by the program's hook, else by a device's meter
  std::string memory_of;                        ///< "allocator", or the device with most of it; empty: not known
  std::optional<std::int64_t> host_peak_bytes;  ///< most that was ever resident of the process, up to the end

  std::optional<double> joules;  ///< of one run: of all devices together, or of the processors if no device tells any
  double error_joules = 0;       ///< at most, likewise
  std::string energy_of;         ///< "cuda 0 + cuda 1"; empty: not known
  std::string no_energy;         ///< why it is not known; empty: it is

  MeasuredNotes notes;                  ///< no run is left out for what they say
  std::vector<MeasuredSensor> sensors;  ///< that were sampled meanwhile
  std::vector<MeasuredRun> runs;        ///< in their order
  std::uint64_t runs_left_out = 0;      ///< not in `runs`, for want of room (docs/models.md); they count in all figures

  /// Items by the mean host time; 0 without runs.
  double items_per_s() const noexcept { return host.mean_ns > 0 ? static_cast<double>(items) * 1e9 / host.mean_ns : 0; }
};

TAKT_END_NAMESPACE
