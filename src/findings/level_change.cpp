// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/level_change.hpp"

#include "base/student_t.hpp"
#include "findings/long_run.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double mean_of(const std::vector<double>& values, std::size_t first, std::size_t last) {
  const auto begin = values.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last), 0.0) /
         static_cast<double>(last - first);
}

double squares_of(const std::vector<double>& residuals) {
  return std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
}

}  // namespace

LevelShift find_shift(const std::vector<double>& values) {
  LevelShift shift;
  shift.critical = kNever;
  const std::size_t n = values.size();
  if (n < 2 * kFewestWindowsASide + 3) { return shift; }
  const double mean = mean_of(values, 0, n);
  double sum = 0;
  double farthest = 0;
  for (std::size_t at = 1; at + kFewestWindowsASide <= n; ++at) {
    sum += values[at - 1] - mean;
    if (at < kFewestWindowsASide || std::fabs(sum) <= farthest) { continue; }
    farthest = std::fabs(sum);
    shift.at = at;
  }
  if (shift.at == 0) { return shift; }
  shift.before = mean_of(values, 0, shift.at);
  shift.after = mean_of(values, shift.at, n);
  std::vector<double> residuals(n);
  for (std::size_t at = 0; at < n; ++at) { residuals[at] = values[at] - (at < shift.at ? shift.before : shift.after); }
  shift.squares = squares_of(residuals);
  const LongRun scatter = long_run_of(residuals, 3);
  const auto count = static_cast<double>(n);
  shift.statistic = scatter.deviation > 0 ? farthest / (scatter.deviation * std::sqrt(count)) : kNever;
  if (scatter.independent < kFewestIndependentOverTime) { return shift; }
  shift.critical = kShiftCritical * (1 + kShiftFew / scatter.independent);
  const auto left = static_cast<double>(shift.at);
  const double error = scatter.deviation * std::sqrt(1 / left + 1 / (count - left));
  shift.half = student_t_quantile(0.975, std::max(scatter.independent - 2, 1.0)) * error;
  // 97.5 % quantile of where a two-sided random walk that drifts down has its top (Yao 1987, Bai 1997).
  constexpr double kPlace = 11;
  const double signal = scatter.deviation > 0 ? (shift.after - shift.before) / scatter.deviation : kNever;
  shift.near = kPlace / (signal * signal) + 1;
  return shift;
}

LevelSlope find_slope(const std::vector<double>& values) {
  LevelSlope line;
  line.critical = kNever;
  const std::size_t n = values.size();
  if (n < 2 * kFewestWindowsASide + 3) { return line; }
  const auto count = static_cast<double>(n);
  const double middle = (count - 1) / 2;
  const double mean = mean_of(values, 0, n);
  double products = 0;
  for (std::size_t at = 0; at < n; ++at) { products += (static_cast<double>(at) - middle) * (values[at] - mean); }
  const double spread = count * (count * count - 1) / 12;
  line.slope = products / spread;
  line.begin = mean - middle * line.slope;
  std::vector<double> residuals(n);
  for (std::size_t at = 0; at < n; ++at) {
    residuals[at] = values[at] - line.begin - line.slope * static_cast<double>(at);
  }
  line.squares = squares_of(residuals);
  const LongRun scatter = long_run_of(residuals, 2);
  const double error = scatter.deviation / std::sqrt(spread);
  line.statistic = error > 0 ? std::fabs(line.slope) / error : kNever;
  if (scatter.independent < kFewestIndependentOverTime) { return line; }
  const double degrees = std::max(scatter.independent - 2, 1.0);
  line.critical = student_t_quantile(kSlopeSure, degrees);
  line.half = student_t_quantile(0.975, degrees) * error;
  return line;
}

}  // namespace detail
TAKT_END_NAMESPACE
