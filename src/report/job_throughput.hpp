// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One a Batch path that has a throughput on some rank. `sum` is of several ranks, and paths are its own. Any thread.
std::vector<JobThroughput> job_throughputs(const Snapshot& sum);

}  // namespace detail
TAKT_END_NAMESPACE
