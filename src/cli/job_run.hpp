// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/job_efficiency.hpp"
#include "ranks/scaling.hpp"

#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A run of any number of ranks, in the figures by which runs are compared.
struct JobRun {
  std::string id;
  std::uint64_t ranks = 0;    ///< of the job
  std::uint64_t missing = 0;  ///< of these, without a journal: their items are not counted
  std::string path;           ///< the Batch whose items count: of those with items the one that took longest
  Throughput throughput;      ///< there, of all ranks: items of all over the time of the slowest
  JobEfficiency efficiency;   ///< 0 without steps that all ranks have

  detail::ScalingRun figures() const noexcept {
    return {ranks, throughput.steps, static_cast<double>(throughput.items), static_cast<double>(throughput.period_ns)};
  }
};

struct JobRuns {
  std::vector<JobRun> runs;
  bool all = true;  ///< false: a rank was not readable
};

/// The runs that these folders mean, each once, in this order. Remarks go to stderr: ranks that are missing, of earlier
/// attempts, or not readable.
/// \throws takt::Error where a folder holds no run, or a run counts no items.
JobRuns read_job_runs(const std::vector<std::string>& given);

}  // namespace cli
TAKT_END_NAMESPACE
