// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>

#include "ranks/rank_steps.hpp"

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Compares the ranks of a job by the steps that were kept of each. Files and messages give the same of the same steps,
/// as long as ranks come in the same order. Any thread.
RankComparison compare_ranks(const std::vector<RankOfJob>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
