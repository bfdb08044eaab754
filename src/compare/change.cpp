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
constexpr double kDoubt = 0.2;              // level of the test of whether one scatter stands for both sides
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

/// Whether one scatter stands for both sides, which have as many runs and so the degrees of both: that finds more with
/// three. An F test of so many degrees each is one of Student's t (Cacoullos, 1965).
bool are_alike(const LogSide& a, const LogSide& b) noexcept {
  const double less = std::sqrt(std::min(a.variance(), b.variance()));
  const double more = std::sqrt(std::max(a.variance(), b.variance()));
  if (more <= 0) { return true; }
  if (less <= 0) { return false; }
  const double t = std::sqrt(a.n - 1) / 2 * (more / less - less / more);
  return t <= student_t_quantile(1 - kDoubt / 2, a.n - 1);
}

/// Of freedom: by Welch, where each side has a scatter of its own.
double degrees_of(const LogSide& a, const LogSide& b) noexcept {
  if (a.n == b.n && are_alike(a, b)) { return a.n + b.n - 2; }
  const double part_a = a.variance() / a.n;
  const double part_b = b.variance() / b.n;
  const double spread = part_a * part_a / (a.n - 1) + part_b * part_b / (b.n - 1);
  return spread > 0 ? (part_a + part_b) * (part_a + part_b) / spread : a.n + b.n - 2;
}

/// What runs like those of a change would tell if there were more of them.
class MoreRuns {
 public:
  /// \param threshold of the gate, \param level of its interval.
  MoreRuns(const Change& change, double threshold, double level) noexcept
      : scatter_(change.standard_error * std::sqrt(static_cast<double>(change.runs) / 2)),
        // Sides of which one scatters more keep so much of the degrees of both.
        degrees_share_(std::min(change.degrees / (2 * static_cast<double>(change.runs) - 2), 1.0)),
        room_(std::log1p(2 * threshold) - std::log1p(threshold)),
        level_(level) {}

  /// Whether twice the threshold would be found, and no change be passed.
  bool enough(std::size_t runs) const noexcept {
    const auto n = static_cast<double>(runs);
    const double degrees = degrees_share_ * (2 * n - 2);
    return errors_to_find(degrees, level_) * scatter_ * upper_end(degrees) * std::sqrt(2 / n) <= room_;
  }

  /// On each side; kMostRunsNeeded + 1: more than that.
  std::size_t needed() const noexcept {
    std::size_t runs = kRunsForScatter;
    while (runs <= kMostRunsNeeded && !enough(runs)) { ++runs; }
    return runs;
  }

 private:
  double scatter_;
  double degrees_share_;
  double room_;  // in logarithms; from no change to the threshold there is more
  double level_;
};

GateAnswer judge_within(const Change& change, double threshold, double noise) {
  GateAnswer gate;
  if (change.basis == Basis::none || noise < 0) { return gate; }
  const double beyond = std::log1p(threshold) + std::log1p(noise);
  gate.detectable = std::expm1(beyond + errors_to_find(change.degrees, 0.95) * change.standard_error);
  if (std::log1p(change.low) > beyond) { gate.answer = Answer::regression; }
  if (std::log1p(change.high) < std::log1p(threshold) - std::log1p(noise)) { gate.answer = Answer::no_regression; }
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
    change.degrees = degrees_of(a, b);
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
  const MoreRuns runs(change, threshold, level);
  gate.detectable = std::expm1(std::log1p(threshold) + errors_to_find(change.degrees, level) * change.standard_error);
  gate.runs_needed = runs.needed();
  if (change.low > threshold) { gate.answer = Answer::regression; }
  // What is clearly faster needs no more runs to be no slower.
  const double most = std::log1p(change.change) + student_t_quantile(kClearly, change.degrees) * change.standard_error;
  if (most < 0 || (change.high < threshold && runs.enough(change.runs))) { gate.answer = Answer::no_regression; }
  return gate;
}

}  // namespace detail
TAKT_END_NAMESPACE
