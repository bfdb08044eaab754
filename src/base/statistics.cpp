// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <math.h>  // lgamma_r(), from POSIX

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
    // Removing one element shifts later ones down by one.
    const auto other = [&](std::size_t at) { return values[order[at + (at >= left_out ? 1 : 0)]]; };
    medians[order[left_out]] = (other((others - 1) / 2) + other(others / 2)) / 2;
  }
  return medians;
}

double RatioScatter::interval_factor(double wider) const noexcept {
  const double deviation = std::sqrt(squares * windows / (windows - 1) * wider) / items / ns_an_item;
  return std::exp(student_t_quantile(0.975, static_cast<double>(windows) - 1) * deviation);
}

RatioScatter scatter_of(const WindowShare* windows, std::uint64_t count) noexcept {
  RatioScatter scatter;
  scatter.windows = static_cast<double>(count);
  double ns = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    scatter.items += windows[at].items;
    ns += windows[at].ns;
  }
  if (scatter.items <= 0) { return scatter; }
  scatter.ns_an_item = ns / scatter.items;
  double before = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    const double longer = windows[at].ns - scatter.ns_an_item * windows[at].items;
    scatter.squares += longer * longer;
    scatter.neighbours += longer * before;
    before = longer;
  }
  return scatter;
}

namespace {

/// Evaluates the continued fraction of the incomplete beta function by Lentz's method. Fast for x < (a+1) / (a+b+2).
double beta_fraction(double a, double b, double x) noexcept {
  constexpr double kTiny = 1e-300;
  constexpr int kMaxTerms = 10'000;
  const auto kept = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / kept(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 / kept(1 + term * d);
      c = kept(1 + term / c);
      change = c * d;
      fraction *= change;
    }
    if (std::fabs(change - 1) < 1e-15) { break; }
  }
  return fraction;
}

/// Avoids std::lgamma(), which writes the sign to a global variable that the program may use.
double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// Returns the regularised incomplete beta function.
double incomplete_beta(double a, double b, double x) noexcept {
  if (x <= 0 || x >= 1) { return x <= 0 ? 0 : 1; }
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) { return front * beta_fraction(a, b, x) / a; }
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_probability(double t, double degrees) noexcept {
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t < 0 ? tail : 1 - tail;
}

double student_t_quantile(double probability, double degrees) noexcept {
  double low = 0;
  double high = 1;
  while (student_t_probability(high, degrees) < probability && high < 1e12) { high *= 2; }
  while (high - low > 1e-9 * std::max(1.0, high)) {
    const double middle = (low + high) / 2;
    (student_t_probability(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace detail
TAKT_END_NAMESPACE
