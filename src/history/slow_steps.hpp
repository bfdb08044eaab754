// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The steps of a series that took twice as long as their neighbours, or longer, because of one region. A value; one
/// thread at a time.
class SlowSteps {
 public:
  static constexpr std::size_t kMostGaps = 64;

  /// Adds the next one. \param place its number among all steps of the series, ascending. \param excess_ns by how much
  /// it was longer than the median of its neighbours. \param ratio its length by that median.
  void add(std::uint64_t place, std::int64_t step, std::uint64_t excess_ns, double ratio);

  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t excess_ns() const noexcept { return excess_ns_; }
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
  std::uint64_t excess_ns_ = 0;
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
