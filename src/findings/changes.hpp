// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A level that changes at once.
struct LevelShift {
  std::size_t at = 0;  ///< the first value of the new level
  double before = 0;
  double after = 0;
  double half = 0;       ///< 95 % interval of after - before: -/+ this
  double near = 0;       ///< 95 % interval of the place: -/+ so many values
  double statistic = 0;  ///< what is compared with `critical`
  double critical = 0;
  double squares = 0;  ///< of what the two levels leave unexplained

  bool is_sure() const noexcept { return statistic > critical; }
};

/// A level that changes evenly.
struct LevelSlope {
  double begin = 0;  ///< the level in the middle of the first value
  double slope = 0;  ///< from a value to the next
  double half = 0;   ///< 95 % interval of it
  double statistic = 0;
  double critical = 0;
  double squares = 0;

  bool is_sure() const noexcept { return statistic > critical; }
};

/// By CUSUM over the long-run deviation: the values less the mean of all, added up from the first one on, lie farthest
/// from 0 where the level changes. How far they get without a change depends on how values scatter and on how alike
/// neighbours are, which is estimated from what both levels leave: the shift itself makes neighbours alike. Not sure
/// where there are too few values that are independent. Any thread.
LevelShift find_shift(const std::vector<double>& values);

/// By least squares; neighbours that are alike widen the interval. Not sure likewise. Any thread.
LevelSlope find_slope(const std::vector<double>& values);

}  // namespace detail
TAKT_END_NAMESPACE
