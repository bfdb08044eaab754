// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/job_efficiency.hpp"
#include "ranks/scaling.hpp"
#include "report/text_table.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <optional>
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
  std::optional<JobEfficiency> efficiency;  ///< with steps that all ranks have

  detail::ScalingRun figures() const noexcept {
    return {ranks, throughput.steps, static_cast<double>(throughput.items), static_cast<double>(throughput.period_ns)};
  }
};

/// The runs of one call.
struct JobRuns {
  std::vector<JobRun> runs;
  bool all = true;  ///< false: a rank was not readable
};

/// The runs that these directories mean, each once, in this order. Remarks go to stderr: ranks that are missing, of
/// earlier
/// attempts, or not readable.
/// \throws takt::Error where a directory holds no run, or a run counts no items.
JobRuns read_job_runs(const std::vector<std::string>& given);

/// A run of the same size, in which something is left out.
struct RunWithout {
  std::string id;
  double items_per_s = 0;
};

/// A run beside the smallest one, and beside those of its size in which something is left out.
struct ScalingLine {
  JobRun run;
  detail::ScalingRow row;
  std::optional<RunWithout> without_loader;
  std::optional<RunWithout> without_communication;
};

/// Runs of different sizes beside each other.
struct ScalingReport {
  detail::Scaling scaling = detail::Scaling::unclear;
  std::vector<ScalingLine> lines;     ///< by ranks; of equal ones as they were named
  std::vector<std::string> warnings;  ///< what has to be known beside the figures, a sentence each
};

/// What `takt scaling` compares.
struct ScalingRuns {
  std::vector<JobRun> runs;
  std::vector<JobRun> without_loader;
  std::vector<JobRun> without_communication;
  detail::Scaling wanted = detail::Scaling::unclear;  ///< as the user says; unclear: the items a step tell
};

/// docs/ranks.md has the formulas.
/// \throws takt::Error where there is nothing to compare.
ScalingReport scaling_report_of(ScalingRuns runs);

/// For people, by lines.
std::string scaling_table(const ScalingReport& report, detail::Page page);
/// A line for each run. What is not known is empty.
std::string scaling_csv(const ScalingReport& report);
/// By schema "takt-scaling/1", docs/command.md.
std::string scaling_json(const ScalingReport& report);

}  // namespace cli
TAKT_END_NAMESPACE
