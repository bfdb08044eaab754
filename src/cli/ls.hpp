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

/// A run added up, with the ranks that count.
struct RunReading {
  std::vector<Rank> ranks;             ///< in order
  std::size_t world_size = 0;          ///< ranks that it should have
  std::vector<std::string> warnings;   ///< who is left out and why
  Ending state = Ending::silent;       ///< the worst of its ranks'
  std::uint64_t steps = 0;             ///< of the rank that has most
  Snapshot sum;                        ///< of the ranks, without rows
  std::uint32_t step_path = kNoSteps;  ///< of the Batch in which the run spent most; index into sum.paths
  Throughput throughput;               ///< there, of all ranks together; empty without steps

  static constexpr std::uint32_t kNoSteps = 0xFFFFFFFF;
  bool readable() const noexcept { return !ranks.empty(); }
};

/// \param run one of the reader's. \param read as of RunReader::read(); it keeps what it wants to of the rows.
RunReading read_run(RunReader& reader, const RunProcesses& run, const RunReader::Read& read);

/// The worst of the ranks' endings. Of none: finished.
Ending state_of(const std::vector<Rank>& ranks) noexcept;

/// The most steps that a rank took at one Batch path, on all its threads together.
std::uint64_t max_steps(const std::vector<Rank>& ranks) noexcept;

/// Of the Batch in which the run spent most; without a Batch all 0. `sum` is of all ranks.
JobThroughput main_throughput(const Snapshot& sum);

/// "finished", "failed", "killed", "running", "died" or "silent".
const char* state_word(Ending ending) noexcept;

}  // namespace cli
TAKT_END_NAMESPACE
