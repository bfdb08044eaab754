// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include <array>
#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the trials of several ranks gave together.
struct JobTrials {
  TrialResults sum;       ///< items of all ranks over the time of the slowest one, whose interval it has, too
  std::size_t ranks = 0;  ///< that ran trials
  /// By TrialKind: the time in which all ranks were in their measured trials, as a share of that in which some were.
  std::array<double, kTrialKinds> at_once = {};
};

/// REQUIRES: one or more. Any thread.
JobTrials job_trials(const std::vector<TrialResults>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
