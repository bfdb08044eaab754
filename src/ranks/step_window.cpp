// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/step_window.hpp"

#include "base/median.hpp"

#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<double> window_medians(const std::vector<double>& by_step) {
  std::vector<double> medians;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, by_step.size());
    const auto begin = by_step.begin() + static_cast<std::ptrdiff_t>(steps.first);
    medians.push_back(median({begin, begin + static_cast<std::ptrdiff_t>(steps.steps())}));
  }
  return medians;
}

std::vector<double> window_distances(const std::vector<double>& by_step) {
  const std::vector<double> medians = window_medians(by_step);
  std::vector<double> distances;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, by_step.size());
    const auto n = static_cast<double>(steps.steps());
    const double wider = std::sqrt(n / (n - 1));
    for (std::size_t step = steps.first; step < steps.last; ++step) {
      distances.push_back(wider * std::fabs(by_step[step] - medians[window]));
    }
  }
  return distances;
}

}  // namespace detail
TAKT_END_NAMESPACE
