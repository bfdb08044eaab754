// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
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

}  // namespace detail
TAKT_END_NAMESPACE
