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
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Numbers that describe what is measured, by name: {"batch", 16}, {"resolution", 224}.
using MeasuredFeatures = std::vector<std::pair<std::string, double>>;

/// One measured call of a function, and the state of the machine during it. Clock, slow-downs and the load of other
/// processes are from the samples between the last one before the run and the first one after it.
struct MeasuredRun {
  std::int64_t begin_ns = 0;              ///< since the start of the program's run
  std::int64_t host_ns = 0;               ///< from the call until its work on streams was done
  std::optional<std::int64_t> stream_ns;  ///< stream span; empty without a stream, or if it could not be timed
  std::optional<std::int64_t> clock_mhz;  ///< lowest clock of a sampled device
  std::uint32_t slowdowns = 0;            ///< bits of Slowdown, of all sampled devices
  std::uint32_t forced_switches = 0;      ///< involuntary context switches of the thread
  std::optional<double> others_busy;      ///< share of the machine's processors that other processes kept busy, 0 to 1
};

/// Statistics of the measured runs' times, in ns.
struct MeasuredTimes {
  static constexpr std::array<double, 4> kPercentiles = {0.9, 0.95, 0.99, 0.999};

  std::uint64_t n = 0;  ///< runs that have such a time; 0: all others are 0
  double mean_ns = 0;
  double stdev_ns = 0;  ///< over n - 1; 0 for one run
  double min_ns = 0;
  double max_ns = 0;
  double median_ns = 0;
  /// Interval that holds the median in at least 95 of 100 cases, for any distribution of independent times. Its ends
  /// are two of the times, chosen by their order (David and Nagaraja, Order Statistics, 3rd edition, section 7.1).
  /// Needs six runs.
  bool has_interval = false;
  double low_ns = 0;
  double high_ns = 0;
  /// Times at kPercentiles; empty if too few runs distinguish them from the maximum (takt::has_percentile).
  std::array<std::optional<double>, kPercentiles.size()> percentiles_ns;
};

/// Notes on the measured runs, summed up.
struct MeasuredNotes {
  std::uint64_t slowed_runs = 0;  ///< runs in which a device was slowed down
  std::uint32_t slowdowns = 0;    ///< bits of Slowdown, of all these runs
  std::optional<std::int64_t> min_clock_mhz;
  std::optional<std::int64_t> max_clock_mhz;  ///< both: of the lowest clocks in the runs
  std::uint64_t switched_runs = 0;            ///< runs in which the thread lost its processor
  std::optional<double> others_busy;          ///< maximum that other processes kept busy, as in MeasuredRun
};

/// One sensor's readings during the measured runs.
struct MeasuredSensor {
  std::string name;  ///< "cuda 0", "processors"
  Sensor::Kind kind = Sensor::Kind::device;
  std::uint64_t samples = 0;                 ///< number of samples in this time
  std::optional<std::int64_t> memory_bytes;  ///< device only: maximum in use, by all processes
  std::optional<double> joules;              ///< energy of all measured runs and the time between them
  double error_joules = 0;                   ///< upper bound, from the distance between samples
  std::string no_energy;                     ///< reason why energy is missing; empty if it is known
};

/// Reason why a measurement ended.
enum class MeasureEnd : std::uint8_t {
  runs,      ///< it had the requested number of runs
  interval,  ///< the interval of the median was as narrow as requested
  seconds,   ///< the time limit was reached
  max_runs   ///< it reached 100,000 runs before the interval was narrow enough
};

/// Returns "runs", "interval", "seconds" or "most_runs".
constexpr const char* to_string(MeasureEnd end) noexcept {
  constexpr const char* kNames[] = {"runs", "interval", "seconds", "most_runs"};
  return kNames[static_cast<unsigned>(end) % 4];
}

/// Result of takt::measure(). A value.
struct Measurement {
  std::string name;
  MeasuredFeatures features;  ///< as in MeasureOptions
  MeasuredTimes host;         ///< from a call until its work on streams was done
  MeasuredTimes stream;       ///< stream spans
  std::int64_t first_ns = 0;  ///< host time of the very first call; with a warm-up it is in no other figure
  std::int64_t items = 1;     ///< per run
  std::uint64_t warmup = 0;   ///< calls before the measured ones
  MeasureEnd end = MeasureEnd::runs;
  std::int64_t took_ns = 0;        ///< duration of all calls together
  std::uint64_t failed_waits = 0;  ///< failed waits for streams: such runs may lack device work

  std::optional<std::int64_t>
      memory_bytes;       ///< peak device memory: from the program's hook, else from a device's sensor
  std::string memory_of;  ///< "allocator", or the device that uses most of it; empty: unknown
  /// Device of `memory_bytes` in takt::mig_devices(); empty: unknown, or none of them.
  std::string mig_device;
  std::optional<std::int64_t> host_peak_bytes;  ///< peak resident memory of the process, up to the end

  std::optional<double> joules;  ///< per run: of all devices together, or of the processors if no device reports energy
  double error_joules = 0;       ///< upper bound of the error, per run
  std::string energy_of;         ///< "cuda 0 + cuda 1"; empty: unknown
  std::string no_energy;         ///< reason why it is unknown; empty: it is known

  MeasuredNotes notes;                  ///< no run is excluded because of them
  std::vector<MeasuredSensor> sensors;  ///< sensors that were sampled meanwhile
  std::vector<MeasuredRun> runs;        ///< in order
  std::uint64_t runs_left_out = 0;  ///< runs not kept, beyond 100,000 in all (docs/models.md); all figures count them

  /// Returns items per mean host time; 0 without runs.
  double items_per_s() const noexcept { return host.mean_ns > 0 ? static_cast<double>(items) * 1e9 / host.mean_ns : 0; }
};

TAKT_END_NAMESPACE
