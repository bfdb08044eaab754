// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/job_efficiency.hpp"
#include "ranks/scaling.hpp"
#include "report/text_table.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>
#include <takt/trial_results.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A run of any number of ranks, with the figures by which runs are compared.
struct JobRun {
  std::string id;
  std::uint64_t ranks = 0;                  ///< world size of the job
  std::uint64_t missing = 0;                ///< ranks without a journal: their items are not counted
  std::string path;                         ///< Batch whose items count: the longest of those with items
  Throughput throughput;                    ///< items of all ranks in that Batch over the time of the slowest rank
  std::optional<JobEfficiency> efficiency;  ///< set if all ranks have steps
  /// Rates of trials, by TrialKind, as the rate above. Without items there are none, or they count batches.
  std::array<Throughput, kTrialKinds> trials;
  std::uint64_t without_trials = 0;  ///< ranks without trials.json, if any rank has one

  detail::ScalingRun figures() const noexcept {
    return {ranks, throughput.steps, static_cast<double>(throughput.items), static_cast<double>(throughput.period_ns)};
  }
};

/// Runs of one call.
struct JobRuns {
  std::vector<JobRun> runs;
  bool all = true;  ///< false: a rank was not readable
};

/// Reads the runs that these directories name, each once, in this order. Warnings go to stderr: missing or unreadable
/// ranks, and ranks of earlier attempts.
/// \throws takt::Error if a directory contains no run, or a run counts no items, neither in its steps nor in trials.
JobRuns read_job_runs(const std::vector<std::string>& given);

/// A run of the same size without the loader or communication.
struct RunWithout {
  std::string id;
  double items_per_s = 0;
};

/// A run compared with the smallest one, and with runs of its size without loader or communication.
struct ScalingLine {
  JobRun run;
  detail::ScalingRow row;
  std::optional<RunWithout> without_loader;
  std::optional<RunWithout> without_communication;
};

/// Comparison of one figure of runs of different sizes: of the steps, or of one kind of trial.
struct ScalingComparison {
  detail::Scaling scaling = detail::Scaling::unclear;
  std::vector<ScalingLine> lines;  ///< by ranks; equal sizes in the order in which they were named
  bool is_trials = false;          ///< of one kind of trial
};

/// Comparison of runs of different sizes.
struct ScalingReport {
  ScalingComparison steps;                ///< without lines if only trials can be compared
  std::vector<ScalingComparison> trials;  ///< kinds of trials that can be compared, in the order of TrialKind
  std::vector<std::string> warnings;      ///< notes on the figures, a sentence each
};

/// Input of `takt scaling`.
struct ScalingRuns {
  std::vector<JobRun> runs;
  std::vector<JobRun> without_loader;
  std::vector<JobRun> without_communication;
  detail::Scaling wanted = detail::Scaling::unclear;  ///< set by the user; unclear: from the items a step
};

/// Compares the runs; docs/ranks.md has the formulas.
/// \throws takt::Error if there is nothing to compare.
ScalingReport scaling_report_of(ScalingRuns runs);

/// A table with its title and the lines below it, as the text and the page show it.
struct ScalingPart {
  std::string title;
  const char* name_head = "run";  ///< heading of the names
  std::vector<detail::TextColumn> columns;
  std::vector<detail::TextTable::Line> lines;
  std::vector<std::string> overheads;  ///< data stalls and costs of communication, a sentence each
};

/// Returns one part for steps and one for trials, if the report has them.
std::vector<ScalingPart> scaling_parts(const ScalingReport& report);
/// Returns the path of the Batch, or the kind of trial such as "FULL". REQUIRES: lines.
std::string scaling_name(const ScalingComparison& comparison);

/// Returns a table as text lines.
std::string scaling_table(const ScalingReport& report, detail::Page page);
/// Returns a CSV line for each run; unknown values are empty.
std::string scaling_csv(const ScalingReport& report);
/// Returns JSON with the schema "takt-scaling/1", docs/command.md.
std::string scaling_json(const ScalingReport& report);

}  // namespace cli
TAKT_END_NAMESPACE
