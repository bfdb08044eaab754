// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/median.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

TAKT_BEGIN_NAMESPACE
namespace detail {

double median(std::vector<double> values) noexcept {
  if (values.empty()) { return 0; }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) { return *middle; }
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double median_deviation(std::vector<double> values) {
  const double middle = median(values);
  for (double& each : values) { each = std::fabs(each - middle); }
  return median(std::move(values));
}

std::vector<double> medians_of_others(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const std::size_t others = values.size() - 1;
  std::vector<double> medians(values.size());
  for (std::size_t left_out = 0; left_out < order.size(); ++left_out) {
    // In the order, whatever stands behind the one that is left out moves up by one.
    const auto other = [&](std::size_t at) { return values[order[at + (at >= left_out ? 1 : 0)]]; };
    medians[order[left_out]] = (other((others - 1) / 2) + other(others / 2)) / 2;
  }
  return medians;
}

}  // namespace detail
TAKT_END_NAMESPACE
