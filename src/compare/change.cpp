// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/change.hpp"

#include "base/student_t.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kPower = 0.95;
constexpr double kUpperEnd = 0.841621;      // of what runs say of their scatter: one side, 80 %
constexpr double kClearly = 0.999;          // faster, where few runs would not do for another answer
constexpr double kManyDegrees = 1'000'000;  // as good as a normal distribution

/// One side, in logarithms.
struct LogSide {
  double n = 0;
  double mean = 0;
  double between = 0;  // variance
  double within = 0;   // mean variance that steps leave
  double resolution = 0;
  double variance() const noexcept { return std::max({between, within, resolution}); }
};

LogSide side_of(const std::vector<RunFigure>& runs) {
  LogSide side;
  side.n = static_cast<double>(runs.size());
  for (const RunFigure& each : runs) {
    side.mean += std::log(each.value) / side.n;
    side.within += each.within * each.within / side.n;
    side.resolution += each.resolution * each.resolution / side.n;
  }
  if (runs.size() < 2) { return side; }
  for (const RunFigure& each : runs) {
    const double distance = std::log(each.value) - side.mean;
    side.between += distance * distance / (side.n - 1);
  }
  return side;
}

double share(double variance, double other, const LogSide& base, const LogSide& now) noexcept {
  const double degrees = base.n + now.n - 2;
  return degrees <= 0 ? 0 : std::sqrt(((base.n - 1) * variance + (now.n - 1) * other) / degrees);
}

/// By the upper end of the interval for a standard deviation, how many times the one that was measured: the chi square
/// quantile of Wilson and Hilferty (Abramowitz and Stegun 26.4.17).
double upper_end(double degrees) noexcept {
  const double part = 2 / (9 * degrees);
  const double root = 1 - part - kUpperEnd * std::sqrt(part);
  return root <= 0.1 ? 30 : 1 / std::sqrt(root * root * root);
}

/// Standard errors between a threshold and a change that is found beyond it.
double errors_to_find(double degrees, double level) noexcept {
  return student_t_quantile((1 + level) / 2, degrees) + student_t_quantile(kPower, degrees);
}

bool enough(double scatter, std::size_t runs, double threshold, double level) noexcept {
  const auto n = static_cast<double>(runs);
  const double degrees = 2 * n - 2;
  return errors_to_find(degrees, level) * scatter * upper_end(degrees) * std::sqrt(2 / n) <= threshold;
}

std::size_t needed(double scatter, double threshold, double level) {
  for (std::size_t runs = kRunsForScatter; runs <= kMostRunsNeeded; ++runs) {
    if (enough(scatter, runs, threshold, level)) { return runs; }
  }
  return kMostRunsNeeded + 1;
}

GateAnswer judge_within(const Change& change, double threshold, double noise) {
  GateAnswer gate;
  if (change.basis == Basis::none || noise < 0) { return gate; }
  gate.detectable = threshold + noise + errors_to_find(change.degrees, 0.95) * change.standard_error;
  if (change.low > threshold + noise) { gate.answer = Answer::regression; }
  if (change.high < threshold - noise) { gate.answer = Answer::no_regression; }
  return gate;
}

}  // namespace

Change change_of(const std::vector<RunFigure>& base, const std::vector<RunFigure>& now, double level) {
  const LogSide a = side_of(base);
  const LogSide b = side_of(now);
  Change change;
  change.change = std::expm1(b.mean - a.mean);
  change.runs = std::min(base.size(), now.size());
  change.between = share(a.between, b.between, a, b);
  change.within = std::sqrt((a.within + b.within) / 2);
  const double part_a = (change.runs < kRunsForScatter ? a.within : a.variance()) / a.n;
  const double part_b = (change.runs < kRunsForScatter ? b.within : b.variance()) / b.n;
  if (change.runs >= kRunsForScatter) {
    change.basis = Basis::runs;
    const double both = part_a + part_b;
    const double spread = part_a * part_a / (a.n - 1) + part_b * part_b / (b.n - 1);
    // Sides with as many runs each stand for one scatter, which has the degrees of both: that finds more with three.
    const bool alike = base.size() == now.size() || spread <= 0;
    change.degrees = alike ? a.n + b.n - 2 : both * both / spread;
  } else {
    const auto is_known = [](const RunFigure& each) { return each.within > 0; };
    const bool known = std::all_of(base.begin(), base.end(), is_known) && std::all_of(now.begin(), now.end(), is_known);
    change.basis = known ? Basis::within : Basis::none;
    change.degrees = kManyDegrees;
  }
  change.standard_error = std::sqrt(part_a + part_b);
  const double half = student_t_quantile((1 + level) / 2, change.degrees) * change.standard_error;
  change.low = std::expm1(b.mean - a.mean - half);
  change.high = std::expm1(b.mean - a.mean + half);
  return change;
}

GateAnswer judge(const Change& change, double threshold, double noise, double level) {
  if (change.basis != Basis::runs) { return judge_within(change, threshold, noise); }
  GateAnswer gate;
  const auto n = static_cast<double>(change.runs);
  const double scatter = change.standard_error / std::sqrt(2 / n);
  gate.detectable = threshold + errors_to_find(change.degrees, level) * change.standard_error;
  gate.runs_needed = needed(scatter, threshold, level);
  if (change.low > threshold) { gate.answer = Answer::regression; }
  // What is clearly faster needs no more runs to be no slower.
  const double most = std::log1p(change.change) + student_t_quantile(kClearly, change.degrees) * change.standard_error;
  if (most < 0 || (change.high < threshold && enough(scatter, change.runs, threshold, level))) {
    gate.answer = Answer::no_regression;
  }
  return gate;
}

}  // namespace detail
TAKT_END_NAMESPACE
