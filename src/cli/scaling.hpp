// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/sync.hpp"
#include "ranks/scaling.hpp"
#include "report/text_table.hpp"

#include <takt/config.hpp>

#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

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
  std::vector<ScalingLine> lines;    ///< by ranks; of equal ones as they were named
  std::vector<std::string> remarks;  ///< what has to be known beside the figures, a sentence each
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

}  // namespace cli
namespace cli {

/// For people, by lines.
std::string scaling_table(const ScalingReport& report, detail::Page page);
/// A line for each run. What is not known is empty.
std::string scaling_csv(const ScalingReport& report);
/// By schema "takt-scaling/1", docs/command.md.
std::string scaling_json(const ScalingReport& report);

}  // namespace cli
TAKT_END_NAMESPACE
