// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "ranks/step_times.hpp"

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a group of ranks waits for whoever is slowest in each step.
struct Imbalance {
  double ns = 0;                  ///< sum over steps of the largest busy time less the median one
  double noise_ns = 0;            ///< about what that would be if ranks differed by noise alone, and it were lognormal
  double busy_ns = 0;             ///< sum over steps of the median busy time
  double job_ns = 0;              ///< StepTimes::job_ns()
  std::size_t slowest = 0;        ///< place of the rank that is slowest in most steps
  std::size_t slowest_steps = 0;  ///< in so many

  /// By more than noise explains.
  bool exceeds_noise() const noexcept;
};

/// Of the ranks at these places. REQUIRES: two ranks or more, and kLeastSteps.
Imbalance imbalance_of(const StepTimes& times, const std::vector<std::size_t>& group);

}  // namespace detail
TAKT_END_NAMESPACE
