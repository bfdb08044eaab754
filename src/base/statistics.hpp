// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Factor from the median absolute deviation to the standard deviation, for normal values.
inline constexpr double kMadToDeviation = 1.4826;

/// Returns the middle value, or the mean of the two middle ones; 0 if empty. Any thread.
double median(std::vector<double> values) noexcept;
/// Returns the median distance from the median; 0 if empty. Any thread.
double median_deviation(std::vector<double> values);
/// Returns, for each value, the median of all others. REQUIRES: two or more values. Any thread.
std::vector<double> medians_of_others(const std::vector<double>& values);

/// Items and time of one window.
struct WindowShare {
  double items = 0;
  double ns = 0;
};

/// Scatter of the ratio of time to items over windows, linearised. A window's excess is its time minus the average time
/// of its items. A value type.
struct RatioScatter {
  double windows = 0;
  double items = 0;       ///< of all windows
  double ns_an_item = 0;  ///< time per item, in ns; 0 without items
  double squares = 0;     ///< sum of squared excesses, in ns squared
  double neighbours = 0;  ///< sum of products of consecutive excesses

  /// Returns the lag-1 correlation of windows, -1 to 1.
  double correlation() const noexcept { return squares > 0 ? neighbours / squares : 0; }
  /// Returns the factor by which the ratio's 95 % interval extends above and below. It is symmetric in the logarithm,
  /// so no limit is below 0. REQUIRES: two or more windows, with items.
  /// \param wider factor on the variance because windows are correlated; 1 if independent.
  double interval_factor(double wider) const noexcept;
};

/// Any thread.
RatioScatter scatter_of(const WindowShare* windows, std::uint64_t count) noexcept;

/// Returns the probability of a value of at most `t` in Student's t distribution: the incomplete beta function as a
/// continued fraction (Abramowitz and Stegun 26.7.1 and 26.5.8). REQUIRES: degrees > 0; need not be whole. Any thread.
double student_t_probability(double t, double degrees) noexcept;

/// Returns the value that is exceeded with probability 1 - `probability`, within 1e-9. REQUIRES: 0.5 <= probability < 1
/// and degrees >= 1. Any thread.
TAKT_EXPORT double student_t_quantile(double probability, double degrees) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
