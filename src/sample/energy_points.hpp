// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The energy that was used between two times.
struct WindowEnergy {
  double joules = 0;
  double error_joules = 0;  ///< at most: what was used between the values around both ends
  std::size_t values = 0;   ///< that lie in between
};

/// How much energy had been used at which time: values that grow, of which the newest kMost are kept. Between two
/// values it is taken to be used evenly. A value that does not grow tells nothing: the counters of devices move on ten
/// times a second, or less often, and are read more often. A value; one thread at a time.
class EnergyPoints {
 public:
  static constexpr std::size_t kMost = 4096;
  /// Without a new value for so many times the usual, none was used.
  static constexpr std::int64_t kFlat = 10;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  struct Edge {
    double joules = 0;
    double error_joules = 0;
  };

  /// Times ascend, and `joules` does not fall.
  void add(std::int64_t time_ns, double joules);
  /// Nothing more will come.
  void end() noexcept { ended_ = true; }

  /// What had been used at `time_ns`. False where that is not known: before the oldest value that is kept, or behind
  /// the newest.
  bool at(std::int64_t time_ns, Edge& edge) const;
  /// False where one of the two is not known.
  bool between(std::int64_t begin_ns, std::int64_t end_ns, WindowEnergy& energy) const;

  /// How many values lie behind `begin_ns`, up to `end_ns`.
  std::size_t values_between(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// Up to which time it is known; kNever: there is no value.
  std::int64_t known_ns() const noexcept;
  /// How far apart its values are; 0: there are none.
  std::int64_t step_ns() const noexcept;
  /// From the first value of all to the newest.
  double joules() const noexcept { return points_.empty() ? 0 : points_.back().joules - first_joules_; }

 private:
  struct Point {
    std::int64_t time_ns;
    double joules;
  };
  using Place = std::deque<Point>::const_iterator;
  Place behind(std::int64_t time_ns) const;

  std::deque<Point> points_;
  std::uint64_t added_ = 0;    // values that grew
  std::int64_t first_ns_ = 0;  // of the first of all
  double first_joules_ = 0;    // likewise
  std::int64_t covered_ns_ = kNever;
  bool ended_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
