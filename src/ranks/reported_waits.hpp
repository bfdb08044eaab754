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

// Ranks that wait for each other have steps of one length. Which of them is late can be seen only where regions of kind
// comm or wait hold the waiting. Any thread.

/// Whether any rank, or any of a group, has waited in such a region, or on a stream, in a step that is compared.
bool tells_waits(const StepTimes& times) noexcept;
bool tells_waits(const StepTimes& times, const std::vector<std::size_t>& group) noexcept;

/// A rank that lastingly takes longer than the others in one region, which they make up for in another one, so that all
/// are busy for as long: they may wait in there, as data-parallel training does inside Backward.
struct HiddenWait {
  std::size_t rank = 0;  ///< place
  std::string region;    ///< in which it takes longer; empty: outside all regions
  double ns = 0;         ///< in a step; 0: there is none
  std::string others;    ///< in which the others do, by most
  double others_ns = 0;  ///< in a step, half of `ns` or more
};

/// The one with the longest `ns`. A difference counts from 3 % of the busy time on, where it is above 6 standard errors
/// over ten windows and 8 of them have its sign. REQUIRES: two ranks or more, and kMinComparedSteps.
HiddenWait hidden_wait_of(const StepTimes& times, const std::vector<std::size_t>& group);

}  // namespace detail
TAKT_END_NAMESPACE
