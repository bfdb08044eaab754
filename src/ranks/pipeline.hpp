// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>

#include "ranks/step_times.hpp"

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// \param ranks of the job, those of `times` among them. Any thread.
Pipeline pipeline_of(const StepTimes& times, const std::vector<JobRank>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
