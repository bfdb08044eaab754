// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include <array>
#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Combined trials of several ranks.
struct JobTrials {
  TrialResults sum;       ///< items of all ranks over the time of the slowest one, with its interval
  std::size_t ranks = 0;  ///< ranks that ran trials
  /// By TrialKind: time in which all ranks ran measured trials, as a share of the time in which any did.
  std::array<double, kTrialKinds> at_once = {};
};

/// REQUIRES: at least one rank. Any thread.
JobTrials job_trials(const std::vector<TrialResults>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
