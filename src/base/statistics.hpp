// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What makes the median absolute deviation of normal values their standard deviation.
inline constexpr double kMadToDeviation = 1.4826;

/// The middle value, or the mean of the two middle ones; 0 of none. Any thread.
double median(std::vector<double> values) noexcept;
/// The median of the distances from the median; 0 of none. Any thread.
double median_deviation(std::vector<double> values);
/// For each value the median of all the others. REQUIRES: two values or more. Any thread.
std::vector<double> medians_of_others(const std::vector<double>& values);

/// What one window took, and how much it did.
struct WindowShare {
  double items = 0;
  double ns = 0;
};

/// What windows say of the ratio of items and time, linearised: by how much each took longer than its items take on
/// average. A value.
struct RatioScatter {
  double windows = 0;
  double items = 0;       ///< of all windows
  double ns_an_item = 0;  ///< likewise; 0 without items
  double squares = 0;     ///< sum of the squares of what windows took longer, in ns squared
  double neighbours = 0;  ///< sum of the products of what one and the next took longer

  /// How alike neighbours are: -1 to 1.
  double correlation() const noexcept { return squares > 0 ? neighbours / squares : 0; }
  /// By which factor the ratio's 95 % interval reaches above and below: it is even in the logarithm, so that no end is
  /// below 0. REQUIRES: two windows or more, with items.
  /// \param wider by what the square of the deviation is larger than of windows of which none tells of another.
  double interval_factor(double wider) const noexcept;
};

/// Any thread.
RatioScatter scatter_of(const WindowShare* windows, std::uint64_t count) noexcept;

/// The probability of a value of at most `t` by Student's t distribution: the incomplete beta function as a continued
/// fraction (Abramowitz and Stegun 26.7.1 and 26.5.8). REQUIRES: degrees > 0, which need not be whole. Any thread.
double student_t_probability(double t, double degrees) noexcept;

/// The value that is exceeded with probability 1 - `probability`, within 1e-9. REQUIRES: 0.5 <= probability < 1 and
/// degrees >= 1. Any thread.
TAKT_EXPORT double student_t_quantile(double probability, double degrees) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
