// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/energy_stats.hpp"
#include "sample/sampler.hpp"

#include <takt/sample.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Values of one sensor in a time window, such as a measured run.
struct SensorWindow {
  std::uint32_t sensor = 0;
  Sensor figures;  ///< its identity, and figures of the samples in the window
  bool has_energy = false;
  WindowEnergy energy;  ///< energy in the window, interpolated at both ends
};

/// Returns a window for each sensor that was sampled between the two times. A pure function. Any thread.
/// \param samples in the order of their numbers, including those of each sensor before and after the window: without
/// them its energy is unknown.
std::vector<SensorWindow> sensor_windows(const std::vector<Sensor>& sensors, const std::vector<Sample>& samples,
                                         std::int64_t begin_ns, std::int64_t end_ns);

/// Statistics of one sensor's samples: its figures, and its energy over time. A value type. Not thread-safe.
class SensorStats {
 public:
  /// \param sensor its identity is used; its figures are ignored.
  explicit SensorStats(const Sensor& sensor);

  /// Adds the next sample of this sensor. Ignores samples with a wrong number of values or an earlier time.
  void add(const Sample& sample);
  /// Declares that no samples follow.
  void end() noexcept;
  /// Fills in the figures.
  void report(Sensor& sensor) const;

  /// Returns the energy by the device's counter if it has one, else by its power; nullptr if it reports neither.
  const EnergyPoints* energy() const noexcept;

 private:
  struct Column {
    double integral = 0;  // integral of the value over time
    std::int64_t ns = 0;  // time covered by the integral
    std::int64_t last = Sample::kAbsent;
    std::int64_t last_ns = 0;
    std::int64_t first = Sample::kAbsent;
    std::int64_t min = 0;
    std::int64_t max = 0;
  };
  static constexpr std::size_t kReasons = 8;  // number of Slowdown bits

  static void add(Column& column, std::int64_t value, std::int64_t time_ns);
  static QuantityFigures figures_of(const Column& column);
  void add_slowdowns(std::int64_t bits, std::int64_t since_ns);
  void add_power(std::int64_t milliwatts, std::int64_t time_ns);
  std::int64_t value_of(const Sample& sample, std::size_t place) const;

  std::vector<Column> columns_;
  std::size_t energy_at_;  // indices of the values; columns_.size(): none
  std::size_t power_at_;
  std::size_t slowdowns_at_;
  std::uint64_t samples_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t slowed_ns_ = 0;
  std::int64_t reason_ns_[kReasons] = {};
  EnergyPoints counted_;
  EnergyPoints by_power_;
  double power_joules_ = 0;
  std::int64_t power_mw_ = Sample::kAbsent;  // last power
  std::int64_t power_ns_ = 0;
};

/// Statistics of a run's samples: its sensors with their figures, the energy of steps and regions, and the newest
/// samples. Not thread-safe.
class SampleStats {
 public:
  /// \param interval_ns sampling interval.
  /// \param most_recent number of samples kept for between().
  SampleStats(std::int64_t interval_ns, std::size_t most_recent);

  /// Takes new data and numbers its samples. Returns the sensors lost since the last call.
  std::vector<std::uint32_t> take(SampleQueue::News& news);
  /// Adds new rows and spans.
  /// \param traced true: spans are recorded, including Batches.
  void add(const std::vector<Row>& rows, const std::vector<Span>& spans, bool traced);
  /// Attributes energy to steps and regions.
  /// \param end true: no samples follow.
  void settle(bool end);

  /// Fills in sensors and energies, using the snapshot's series and paths.
  void report(Snapshot& snapshot) const;
  /// Appends the counts of dropped energies.
  void report_losses(std::vector<Loss>& losses) const;
  const std::vector<Sensor>& sensors() const noexcept { return sensors_; }

  /// Returns each sensor's kept samples from the last one at or before `begin_ns` to the first at or after `end_ns`.
  std::vector<Sample> between(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  std::size_t most_recent_;
  std::vector<Sensor> sensors_;
  std::vector<Unsampled> unsampled_;
  std::vector<SensorStats> stats_;  // by sensor
  EnergyStats energy_;
  std::deque<Sample> recent_;
  std::uint64_t next_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
