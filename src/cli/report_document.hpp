// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "cli/attempts.hpp"
#include "cli/rank.hpp"
#include "report/job_report.hpp"
#include "trials/job_trials.hpp"

#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Some ranks of one run, and what they add up to.
struct RunReport {
  std::vector<Rank> ranks;                  ///< in order; of each, its last attempt
  std::vector<AttemptSpan> attempts;        ///< of the run, in order; the last one is reported
  std::vector<std::uint32_t> missing;       ///< ranks of which there is no journal
  detail::JobReport job;                    ///< of one rank its sum alone
  std::optional<detail::JobTrials> trials;  ///< of those ranks that ran some
};

/// By schema "takt-report/2", docs/command.md.
std::string report_json(const std::vector<RunReport>& runs);
/// A line for each path.
std::string report_csv(const std::vector<RunReport>& runs);

}  // namespace cli
TAKT_END_NAMESPACE
