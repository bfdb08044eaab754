// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/long_run.hpp"

#include "base/student_t.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kMostCorrelation = 0.95;
// With fewer of them their means tell nothing.
constexpr std::size_t kFewestPairs = 12;

double root_mean_square(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
                   static_cast<double>(values.size()));
}

/// If neighbours are alike, and nothing else is.
LongRun as_first_order(const std::vector<double>& residuals, double fitted) {
  double squares = 0;
  double neighbours = 0;
  double before = 0;
  for (const double each : residuals) {
    squares += each * each;
    neighbours += each * before;
    before = each;
  }
  const auto n = static_cast<double>(residuals.size());
  LongRun run;
  const double found = squares > 0 ? neighbours / squares : 0;
  run.correlation = std::clamp(found + (fitted + (fitted + 2) * std::max(found, 0.0)) / n, 0.0, kMostCorrelation);
  run.deviation = std::sqrt(squares / (n - fitted) * (1 + run.correlation) / (1 - run.correlation));
  return run;
}

std::vector<double> means_of_pairs(const std::vector<double>& values) {
  std::vector<double> means(values.size() / 2);
  for (std::size_t at = 0; at < means.size(); ++at) { means[at] = (values[2 * at] + values[2 * at + 1]) / 2; }
  return means;
}

}  // namespace

LongRun long_run_of(const std::vector<double>& residuals, double fitted) {
  LongRun run = as_first_order(residuals, fitted);
  const double alone = root_mean_square(residuals);
  if (residuals.size() >= 2 * kFewestPairs) {
    run.deviation = std::max(run.deviation, std::sqrt(2) * as_first_order(means_of_pairs(residuals), fitted).deviation);
  }
  const double wider = alone > 0 ? run.deviation / alone : 1;
  run.independent = static_cast<double>(residuals.size()) / (wider * wider);
  return run;
}

RatioOfSums ratio_of_sums(const std::vector<double>& parts, const std::vector<double>& wholes) {
  const double part = std::accumulate(parts.begin(), parts.end(), 0.0);
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  RatioOfSums result;
  if (parts.size() < kFewestRunWindows || whole <= 0) { return result; }
  result.ratio = part / whole;
  std::vector<double> beside(parts.size());
  for (std::size_t at = 0; at < parts.size(); ++at) { beside[at] = parts[at] - result.ratio * wholes[at]; }
  const LongRun scatter = long_run_of(beside, 1);
  const auto n = static_cast<double>(parts.size());
  result.known = true;
  result.half = student_t_quantile(0.975, n - 1) * scatter.deviation * std::sqrt(n) / whole;
  return result;
}

}  // namespace detail
TAKT_END_NAMESPACE
