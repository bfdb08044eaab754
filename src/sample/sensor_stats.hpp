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

/// What one meter tells of a stretch of time, such as a measured run.
struct SensorWindow {
  std::uint32_t sensor = 0;
  Sensor figures;  ///< its identity, and figures of the samples in the window
  bool has_energy = false;
  WindowEnergy energy;  ///< between the two ends, which lie between samples
};

/// Of each meter that was sampled between the two times. A pure function. Any thread.
/// \param samples in the order of their numbers, with those of each meter before and behind the window: without them
///        its energy cannot be told.
std::vector<SensorWindow> sensor_windows(const std::vector<Sensor>& sensors, const std::vector<Sample>& samples,
                                         std::int64_t begin_ns, std::int64_t end_ns);

/// What the samples of one meter come to: its figures, and its energy over time. A value; one thread at a time.
class SensorStats {
 public:
  /// \param meter whose identity counts; its figures are passed over.
  explicit SensorStats(const Sensor& sensor);

  /// The next sample of this meter. One with another number of values, or of an earlier time, is passed over.
  void add(const Sample& sample);
  /// Nothing more will come.
  void end() noexcept;
  /// Fills in the figures.
  void report(Sensor& sensor) const;

  /// By the device's counter where it has one, else by its power; nullptr: it tells neither.
  const EnergyPoints* energy() const noexcept;

 private:
  struct Column {
    double integral = 0;  // of the value over time
    std::int64_t ns = 0;  // of that
    std::int64_t last = Sample::kAbsent;
    std::int64_t last_ns = 0;
    std::int64_t first = Sample::kAbsent;
    std::int64_t min = 0;
    std::int64_t max = 0;
  };
  static constexpr std::size_t kReasons = 8;  // bits that a Slowdown may be

  static void add(Column& column, std::int64_t value, std::int64_t time_ns);
  static QuantityFigures figures_of(const Column& column);
  void add_slowdowns(std::int64_t bits, std::int64_t since_ns);
  void add_power(std::int64_t milliwatts, std::int64_t time_ns);
  std::int64_t value_of(const Sample& sample, std::size_t place) const;

  std::vector<Column> columns_;
  std::size_t energy_at_;  // places among the values; columns_.size(): it has none
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
  std::int64_t power_mw_ = Sample::kAbsent;  // the last one
  std::int64_t power_ns_ = 0;
};

/// What the samples of a run come to: its meters with their figures, the energy of steps and regions, and the newest
/// samples. One thread at a time.
class SampleStats {
 public:
  /// \param interval_ns between two samples.
  /// \param most_recent samples that are kept for between().
  SampleStats(std::int64_t interval_ns, std::size_t most_recent);

  /// Takes what threads have left; its samples get their numbers. Returns the meters that are lost from now on.
  std::vector<std::uint32_t> take(SampleQueue::News& news);
  /// What was recorded meanwhile. \param traced spans are there, and Batches are among them.
  void add(const std::vector<Row>& rows, const std::vector<Span>& spans, bool traced);
  /// Shares energy out. \param end nothing more will come.
  void settle(bool end);

  /// Fills in meters, and energies; of the snapshot it uses series and paths.
  void report(Snapshot& snapshot) const;
  /// Appends what is counted as lost.
  void report_losses(std::vector<Loss>& losses) const;
  const std::vector<Sensor>& sensors() const noexcept { return sensors_; }

  /// The samples from the last before `begin_ns` to the first behind `end_ns` of each meter, as far back as they are
  /// kept.
  std::vector<Sample> between(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  std::size_t most_recent_;
  std::vector<Sensor> sensors_;
  std::vector<Unsampled> unsampled_;
  std::vector<SensorStats> stats_;  // by meter
  EnergyStats energy_;
  std::deque<Sample> recent_;
  std::uint64_t next_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
