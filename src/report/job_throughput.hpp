// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the ranks of a job do together at one Batch path: items of all over the time of the slowest, which the others
/// wait for.
struct JobThroughput {
  std::uint32_t path = 0;
  std::size_t series = 0;   ///< that have a throughput
  std::size_t slowest = 0;  ///< index into Snapshot::series
  Throughput throughput;    ///< of all; steps, windows and the width of the interval are those of the slowest
};

/// One a Batch path that has a throughput on some rank. `sum` is of several ranks. Any thread.
std::vector<JobThroughput> job_throughputs(const Snapshot& sum);

}  // namespace detail
TAKT_END_NAMESPACE
