// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/step_times.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// "stage 2, tensor 0": those that are in the same groups are compared with each other. Empty: in none. Any thread.
std::string group_label(const RunInfo& run);

/// Who the rank is that the snapshot is of. Any thread.
JobRank job_rank_of(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
