// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "ranks/rank_steps.hpp"

#include <cstddef>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Ranks that wait for each other have equally long steps. The late rank is visible only if comm or wait regions contain
// the waiting. Any thread.

/// Returns true if any rank (of the group) waited in such a region, or on a stream, in a compared step.
bool reports_waits(const StepTimes& times) noexcept;
bool reports_waits(const StepTimes& times, const std::vector<std::size_t>& group) noexcept;

/// A rank that takes longer in one region throughout the run, while the others spend that time in another one, so that
/// all are equally busy. The others may wait in there, as data-parallel training does inside Backward.
struct HiddenWait {
  std::size_t rank = 0;  ///< index
  std::string region;    ///< where the rank takes longer; empty: outside all regions
  double ns = 0;         ///< per step; 0 if there is none
  std::string others;    ///< where the others spend the most of that time
  double others_ns = 0;  ///< per step, at least half of `ns`
};

/// Returns the one with the largest `ns`. A difference counts if it is at least 3 % of the busy time, above 6 standard
/// errors over ten windows, and has the same sign in 8 of them. REQUIRES: at least two ranks and kMinComparedSteps.
HiddenWait hidden_wait_of(const StepTimes& times, const std::vector<std::size_t>& group);

}  // namespace detail
TAKT_END_NAMESPACE
