// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/sample.hpp>

#include "sample/energy_points.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the samples of one meter come to: its figures, and its energy over time. A value; one thread at a time.
class MeterBooks {
 public:
  /// \param meter whose identity counts; its figures are passed over.
  explicit MeterBooks(const Meter& meter);

  /// The next sample of this meter. One with another number of values, or of an earlier time, is passed over.
  void add(const Sample& sample);
  /// Nothing more will come.
  void end() noexcept;
  /// Fills in the figures.
  void tell(Meter& meter) const;

  /// By the device's counter where it has one, else by its power; nullptr: it tells neither.
  const EnergyPoints* energy() const noexcept;

 private:
  struct Column {
    double integral = 0;  // of the value over time
    std::int64_t ns = 0;  // of that
    std::int64_t last = Sample::kAbsent;
    std::int64_t last_ns = 0;
    std::int64_t first = Sample::kAbsent;
    std::int64_t least = 0;
    std::int64_t most = 0;
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

}  // namespace detail
TAKT_END_NAMESPACE
