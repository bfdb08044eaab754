// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A sudden change of level.
struct LevelShift {
  std::size_t at = 0;  ///< index of the first value at the new level
  double before = 0;
  double after = 0;
  double half = 0;       ///< 95 % interval of after - before: -/+ half
  double near = 0;       ///< 95 % interval of `at`: -/+ near values
  double statistic = 0;  ///< compared with `critical`
  double critical = 0;
  double squares = 0;  ///< sum of squares that the two levels leave unexplained

  bool is_sure() const noexcept { return statistic > critical; }
};

/// A steady change of level.
struct LevelSlope {
  double begin = 0;  ///< level at the middle of the first value
  double slope = 0;  ///< change from one value to the next
  double half = 0;   ///< 95 % interval of the slope: -/+ half
  double statistic = 0;
  double critical = 0;
  double squares = 0;

  bool is_sure() const noexcept { return statistic > critical; }
};

/// Finds the shift by CUSUM over the long-run deviation: the running sum of (value - mean) is farthest from 0 at the
/// shift. The critical value allows for the scatter and autocorrelation of the residuals around both levels, because
/// the shift itself correlates neighbours. Never sure if there are too few independent values. Any thread.
LevelShift find_shift(const std::vector<double>& values);

/// Fits a line by least squares; autocorrelation widens the interval. Never sure if there are too few independent
/// values. Any thread.
LevelSlope find_slope(const std::vector<double>& values);

}  // namespace detail
TAKT_END_NAMESPACE
