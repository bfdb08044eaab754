// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The steps of a run are cut into so many windows, one behind the other.
inline constexpr std::size_t kStepWindows = 10;
/// From so many steps on ranks are compared: below, a window has no median worth the name.
inline constexpr std::size_t kLeastSteps = 3 * kStepWindows;

/// The steps [first, last).
struct StepWindow {
  std::size_t first = 0;
  std::size_t last = 0;

  std::size_t steps() const noexcept { return last - first; }
};
/// Window `window`, from 0, of so many steps. Any thread.
constexpr StepWindow step_window(std::size_t window, std::size_t steps) noexcept {
  return {window * steps / kStepWindows, (window + 1) * steps / kStepWindows};
}

/// Of values by step, the median of each window. REQUIRES: kLeastSteps values. Any thread.
std::vector<double> window_medians(const std::vector<double>& by_step);
/// The distance of each value from the median of its window, widened by what the median of few values is too near to
/// them. What lasts for a window is in none of them. REQUIRES: kLeastSteps values. Any thread.
std::vector<double> window_distances(const std::vector<double>& by_step);

}  // namespace detail
TAKT_END_NAMESPACE
