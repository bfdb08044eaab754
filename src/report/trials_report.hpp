// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure/job_trials.hpp"

#include <takt/snapshot.hpp>
#include <takt/trial_results.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Formats trials for people: a line for each kind, the finding, and the conditions. Any thread.
/// \param width in columns.
std::string format_trials(const RunInfo& run, const TrialResults& results, int width, bool color);
/// Formats the trials of several ranks combined.
std::string format_job_trials(const RunInfo& run, const JobTrials& job, int width, bool color);

/// Returns trials.json by schema takt-trials/1 (docs/files.md). Any thread.
std::string trials_json(const RunInfo& run, const TrialResults& results);

}  // namespace detail
TAKT_END_NAMESPACE
