// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A step that took much longer than its neighbours.
struct SlowStep {
  std::uint64_t place = 0;  ///< its number among all steps of the series
  std::int64_t step = 0;
  std::uint64_t excess_ns = 0;  ///< by how much it was longer than the median of its neighbours
  double ratio = 0;             ///< its length by that median
  bool after_break = false;     ///< the pace breaks in front of it: an Epoch ends, or another Batch lies between
};

/// Those of a series that are slow because of one region. A value; one thread at a time.
class SlowSteps {
 public:
  static constexpr std::size_t kMostGaps = 64;

  /// Adds the next one; their places ascend.
  void add(const SlowStep& step);

  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t after_breaks() const noexcept { return after_breaks_; }
  std::uint64_t excess_ns() const noexcept { return excess_ns_; }
  /// The sum of the squares of what each was longer, in ns squared.
  double excess_squares() const noexcept { return excess_squares_; }
  /// Their mean length, by the median of their neighbours.
  double mean_ratio() const noexcept { return steps_ == 0 ? 0 : ratios_ / static_cast<double>(steps_); }
  std::int64_t first_step() const noexcept { return first_step_; }
  std::int64_t last_step() const noexcept { return last_step_; }
  /// The number of the one that was longer by most, and by how much.
  std::int64_t worst_step() const noexcept { return worst_step_; }
  std::uint64_t worst_excess_ns() const noexcept { return worst_excess_ns_; }
  /// How often so many steps lay between one and the next, from the one to the other. Of at most kMostGaps lengths.
  const std::map<std::uint64_t, std::uint64_t>& gaps() const noexcept { return gaps_; }

 private:
  std::uint64_t steps_ = 0;
  std::uint64_t after_breaks_ = 0;
  std::uint64_t excess_ns_ = 0;
  double excess_squares_ = 0;
  double ratios_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t last_step_ = 0;
  std::uint64_t last_place_ = 0;
  std::int64_t worst_step_ = 0;
  std::uint64_t worst_excess_ns_ = 0;
  std::map<std::uint64_t, std::uint64_t> gaps_;
};

}  // namespace detail
TAKT_END_NAMESPACE
