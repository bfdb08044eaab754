// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// By so much of the slower of IO and SYNTHETIC, or more, FULL is bound by that one; below, loading and computing do
/// not overlap.
inline constexpr double kBound = 0.9;

/// Sets `finding`, or `untold`, by the three rates and their intervals (docs/trials.md has the rules). Any thread.
void conclude_trials(TrialResults& results);

/// Puts the finding of the trials of `run` first, if there is one. Any thread.
void add_finding_of_trials(Snapshot& run);

}  // namespace detail
TAKT_END_NAMESPACE
