// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure/job_trials.hpp"

#include <takt/measurement.hpp>
#include <takt/snapshot.hpp>
#include <takt/trial_results.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Formats measurements for people: a line for each, and the conditions. Any thread.
/// \param whose for example "rank 0 of 4".
/// \param width in columns.
std::string format_measurements(const RunInfo& run, const std::string& whose,
                                const std::vector<std::shared_ptr<const Measurement>>& measurements, int width,
                                bool color);

/// Formats trials for people: a line for each kind, the finding, and the conditions. Any thread.
/// \param width in columns.
std::string format_trials(const RunInfo& run, const TrialResults& results, int width, bool color);
/// Formats the trials of several ranks combined.
std::string format_job_trials(const RunInfo& run, const JobTrials& job, int width, bool color);

}  // namespace detail
TAKT_END_NAMESPACE
