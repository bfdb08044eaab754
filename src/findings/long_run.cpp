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

}  // namespace

LongRun long_run_of(const std::vector<double>& residuals, double fitted) {
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
  const double wider = (1 + run.correlation) / (1 - run.correlation);
  run.deviation = std::sqrt(squares / (n - fitted) * wider);
  run.independent = n / wider;
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
  if (scatter.independent < kFewestIndependentWindows) { return result; }
  result.known = true;
  result.half = student_t_quantile(0.975, scatter.independent - 1) * scatter.deviation *
                std::sqrt(static_cast<double>(parts.size())) / whole;
  return result;
}

}  // namespace detail
TAKT_END_NAMESPACE
