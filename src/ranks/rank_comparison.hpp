// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"

#include <takt/config.hpp>
#include <takt/job.hpp>

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Compares the ranks of a job by their kept steps. Files and messages give the same result for the same steps if the
/// ranks are in the same order. Any thread.
RankComparison compare_ranks(const std::vector<RankOfJob>& ranks);

/// Excess of a rank's busy time over its group: per window, its median busy time divided by the median of the others'
/// medians, minus one.
struct RankExcess {
  double mean = 0;              ///< over windows
  double standard_error = 0;    ///< of the mean
  std::size_t positive = 0;     ///< number of windows with a positive excess
  double others_deviation = 0;  ///< 1.4826 x MAD of the other ranks' mean excesses
  bool slow = false;            ///< busier than noise explains, throughout the run, and one of the busiest
};

/// Returns groups of ranks to compare, as indices, in order of the groups' first appearance.
std::vector<std::vector<std::size_t>> groups_of(const StepTimes& times);

/// Returns the excess of each rank of `group`, in order. A rank is slow if its mean excess is above 3 %, above 6
/// standard errors and positive in 8 of 10 windows. With 8 or more ranks it must also be above 4 x 1.4826 x MAD of the
/// others' excesses. A rank with less than half the mean excess of another slow one is not slow: it waits itself.
/// REQUIRES: at least two ranks and kMinComparedSteps.
std::vector<RankExcess> excesses_of(const StepTimes& times, const std::vector<std::size_t>& group);

/// Time that a group of ranks waits for the slowest rank of each step.
struct Imbalance {
  double ns = 0;                  ///< sum over steps of (maximum - median) busy time
  double noise_ns = 0;            ///< estimate of `ns` from lognormal noise alone
  double busy_ns = 0;             ///< sum over steps of the median busy time
  double job_ns = 0;              ///< StepTimes::job_ns()
  std::size_t slowest = 0;        ///< index of the rank that is slowest in the most steps
  std::size_t slowest_steps = 0;  ///< number of steps in which it is slowest

  bool exceeds_noise() const noexcept;
};

/// Computes the imbalance of the ranks at these indices. REQUIRES: at least two ranks and kMinComparedSteps.
Imbalance imbalance_of(const StepTimes& times, const std::vector<std::size_t>& group);

}  // namespace detail
TAKT_END_NAMESPACE
