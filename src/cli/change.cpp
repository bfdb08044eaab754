// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/change.hpp"

#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kPower = 0.95;
constexpr double kUpperEnd = 0.841621;  // normal quantile: one-sided upper 80 % bound of the scatter
constexpr double kClearly = 0.999;      // confidence for "faster" that needs no further runs

/// Logarithms of one side, or of the ratios of pairs.
struct Logs {
  double n = 0;
  double mean = 0;
  double between = 0;     // variance
  double resolution = 0;  // variance of one value's resolution
  double variance() const noexcept { return std::max(between, resolution); }
  double standard_error() const noexcept { return std::sqrt(variance() / n); }
};

Logs logs_of(const std::vector<double>& values, double resolution) {
  Logs logs;
  logs.n = static_cast<double>(values.size());
  logs.resolution = resolution;
  for (const double each : values) { logs.mean += each / logs.n; }
  for (const double each : values) {
    logs.between += (each - logs.mean) * (each - logs.mean) / std::max(logs.n - 1, 1.0);
  }
  return logs;
}

double mean_resolution(const std::vector<RunFigure>& runs) {
  double sum = 0;
  for (const RunFigure& each : runs) { sum += each.resolution * each.resolution; }
  return sum / static_cast<double>(runs.size());
}

Logs side_of(const std::vector<RunFigure>& runs) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunFigure& each : runs) { values.push_back(std::log(each.value)); }
  return logs_of(values, mean_resolution(runs));
}

Logs ratios_of(const std::vector<RunFigure>& base, const std::vector<RunFigure>& now, const RunPairs& pairs) {
  std::vector<double> values;
  values.reserve(pairs.size());
  for (const auto& [before, after] : pairs) { values.push_back(std::log(now[after].value / base[before].value)); }
  return logs_of(values, mean_resolution(base) + mean_resolution(now));
}

/// Returns the upper confidence bound of a standard deviation as a multiple of the measured one, from the chi-square
/// quantile of Wilson and Hilferty (Abramowitz and Stegun 26.4.17).
double upper_end(double degrees) noexcept {
  const double part = 2 / (9 * degrees);
  const double root = 1 - part - kUpperEnd * std::sqrt(part);
  return root <= 0.1 ? 30 : 1 / std::sqrt(root * root * root);
}

/// Returns the number of standard errors between a threshold and a change that is detected beyond it.
double errors_to_find(double degrees, double level) noexcept {
  return student_t_quantile((1 + level) / 2, degrees) + student_t_quantile(kPower, degrees);
}

/// Returns the degrees of freedom. With equal numbers of runs both scatters are pooled: that is hardly less accurate if
/// one side scatters more, and detects far more with three runs. Otherwise uses Welch's formula.
double degrees_of(const Logs& a, const Logs& b) noexcept {
  if (a.n == b.n) { return a.n + b.n - 2; }
  const double part_a = a.variance() / a.n;
  const double part_b = b.variance() / b.n;
  const double spread = part_a * part_a / (a.n - 1) + part_b * part_b / (b.n - 1);
  return spread > 0 ? (part_a + part_b) * (part_a + part_b) / spread : a.n + b.n - 2;
}

/// Predicts the result of a change with more runs of the same kind.
class MoreRuns {
 public:
  MoreRuns(const Change& change, const Gate& gate) noexcept
      : scatter_(change.standard_error * std::sqrt(static_cast<double>(change.runs))),
        degrees_a_run_(change.degrees / (static_cast<double>(change.runs) - 1)),
        space_(std::log1p(2 * gate.threshold) - std::log1p(gate.threshold)),
        level_(change.level) {}

  /// Returns true if so many runs would detect twice the threshold and pass an unchanged side.
  bool enough(std::size_t runs) const noexcept {
    const auto n = static_cast<double>(runs);
    const double degrees = degrees_a_run_ * (n - 1);
    return errors_to_find(degrees, level_) * scatter_ * upper_end(degrees) / std::sqrt(n) <= space_;
  }

  /// Returns the runs needed on each side; kMaxRunsNeeded + 1: more than that.
  std::size_t needed() const noexcept {
    std::size_t runs = kRunsForScatter;
    while (runs <= kMaxRunsNeeded && !enough(runs)) { ++runs; }
    return runs;
  }

 private:
  double scatter_;        // standard error times the root of the runs
  double degrees_a_run_;  // 1 for pairs, up to 2 for sides
  double space_;          // log distance from the threshold to twice it; no change is farther away
  double level_;
};

/// Judges by the user's noise if the runs do not show how much unchanged runs differ.
GateAnswer judge_by_noise(const Change& change, const Gate& gate) {
  GateAnswer said;
  if (gate.noise < 0) { return said; }
  const bool has_interval = change.basis != Basis::none;
  const double low = std::log1p(has_interval ? change.low : change.change);
  const double high = std::log1p(has_interval ? change.high : change.change);
  const double threshold = std::log1p(gate.threshold);
  const double noise = std::log1p(gate.noise);
  said.detectable = std::expm1(
      threshold + noise + (has_interval ? errors_to_find(change.degrees, change.level) * change.standard_error : 0));
  if (low > threshold + noise) { said.answer = Answer::regression; }
  if (high < threshold - noise) { said.answer = Answer::no_regression; }
  return said;
}

}  // namespace

Change change_of(const std::vector<RunFigure>& base, const std::vector<RunFigure>& now, const RunPairs& pairs,
                 double level) {
  const Logs a = side_of(base);
  const Logs b = side_of(now);
  const double mean = b.mean - a.mean;
  Change change;
  change.change = std::expm1(mean);
  change.low = change.high = change.change;
  change.runs = std::min(base.size(), now.size());
  if (change.runs < kRunsForScatter) { return change; }
  const auto half_of = [](const Change& each) {
    return student_t_quantile((1 + each.level) / 2, each.degrees) * each.standard_error;
  };
  change.basis = Basis::runs;
  change.level = pairs.empty() ? level : (1 + level) / 2;
  change.degrees = degrees_of(a, b);
  change.standard_error = std::sqrt(a.variance() / a.n + b.variance() / b.n);
  change.scatter = std::sqrt(((a.n - 1) * a.between + (b.n - 1) * b.between) / (a.n + b.n - 2));
  if (!pairs.empty()) {
    const Logs ratios = ratios_of(base, now, pairs);
    Change of_pairs = change;
    of_pairs.basis = Basis::pairs;
    of_pairs.degrees = ratios.n - 1;
    of_pairs.standard_error = ratios.standard_error();
    of_pairs.scatter = std::sqrt(ratios.between);
    if (half_of(of_pairs) < half_of(change)) { change = of_pairs; }
  }
  const double half = half_of(change);
  change.low = std::expm1(mean - half);
  change.high = std::expm1(mean + half);
  return change;
}

GateAnswer judge(const Change& change, const Gate& gate) {
  if (change.basis == Basis::none || !gate.in_turn) { return judge_by_noise(change, gate); }
  GateAnswer said;
  const MoreRuns runs(change, gate);
  said.detectable =
      std::expm1(std::log1p(gate.threshold) + errors_to_find(change.degrees, change.level) * change.standard_error);
  said.runs_needed = runs.needed();
  if (change.low > gate.threshold) { said.answer = Answer::regression; }
  // A clearly faster side passes without further runs.
  const double max = std::log1p(change.change) + student_t_quantile(kClearly, change.degrees) * change.standard_error;
  if (max < 0 || (change.high < gate.threshold && runs.enough(change.runs))) { said.answer = Answer::no_regression; }
  return said;
}

}  // namespace detail
TAKT_END_NAMESPACE
