// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include "trials/job_trials.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What trials gave, for people: a line for each kind, what they say, and what the figures rest on. Any thread.
/// \param width in columns.
std::string format_trials(const RunInfo& run, const TrialResults& results, int width, bool color);
/// The same of several ranks together.
std::string format_job_trials(const RunInfo& run, const JobTrials& job, int width, bool color);

}  // namespace detail
TAKT_END_NAMESPACE
