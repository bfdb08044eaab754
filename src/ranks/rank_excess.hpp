// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "ranks/step_times.hpp"

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// By how much a rank is busier than the others of its group: in each window its median busy time, divided by the
/// median of the others' medians, less one.
struct RankExcess {
  double mean = 0;              ///< over windows
  double standard_error = 0;    ///< of the mean
  std::size_t positive = 0;     ///< windows in which it is above 0
  double others_deviation = 0;  ///< 1.4826 x MAD of the other ranks' mean excesses
  bool slow = false;            ///< busier than noise makes one, and lastingly
};

/// The ranks, by their places, that are compared with each other, in the order in which groups come first.
std::vector<std::vector<std::size_t>> groups_of(const StepTimes& times);

/// The excess of each of `group`, in its order. A rank is slow if its mean excess is above 3 %, above 6 standard errors
/// and, from 8 ranks on, above 4 x 1.4826 x MAD of the others' excesses, and positive in 8 of 10 windows. REQUIRES: two
/// ranks or more, and kLeastSteps.
std::vector<RankExcess> excesses_of(const StepTimes& times, const std::vector<std::size_t>& group);

}  // namespace detail
TAKT_END_NAMESPACE
