// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/rank.hpp"
#include "cli/run_reader.hpp"
#include "report/job_report.hpp"

#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Sum of a run, with the ranks that count.
struct RunReading {
  std::vector<Rank> ranks;             ///< in order
  std::size_t world_size = 0;          ///< expected number of ranks
  std::vector<std::string> warnings;   ///< excluded ranks and the reasons
  Ending state = Ending::silent;       ///< worst state of its ranks
  std::uint64_t steps = 0;             ///< maximum of all ranks
  Snapshot sum;                        ///< sum of the ranks, without rows
  std::uint32_t step_path = kNoSteps;  ///< Batch with the largest total time; index into sum.paths
  Throughput throughput;               ///< throughput of that Batch, all ranks together; empty without steps

  static constexpr std::uint32_t kNoSteps = 0xFFFFFFFF;
  bool readable() const noexcept { return !ranks.empty(); }
};

/// Adds up a run. \param run one of the reader's. \param read see RunReader::read(); it keeps the rows that it needs.
RunReading read_run(RunReader& reader, const RunProcesses& run, const RunReader::Read& read);

/// Returns the worst of the ranks' endings; `finished` if there are none.
Ending state_of(const std::vector<Rank>& ranks) noexcept;

/// Returns the maximum number of steps of a rank at one Batch path, over all its threads.
std::uint64_t max_steps(const std::vector<Rank>& ranks) noexcept;

/// Returns the throughput of the Batch with the largest total time; all 0 without one. `sum` is over all ranks.
JobThroughput main_throughput(const Snapshot& sum);

/// Returns "finished", "failed", "killed", "running", "died" or "silent".
const char* state_word(Ending ending) noexcept;

}  // namespace cli
TAKT_END_NAMESPACE
