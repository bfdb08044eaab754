// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/console.hpp>
#include <takt/snapshot.hpp>

#include "cli/attempts.hpp"
#include "cli/rank.hpp"
#include "cli/rank_sum.hpp"
#include "report/job_report.hpp"
#include "trials/job_trials.hpp"

#include <cstdint>
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

/// Adds the ranks of a run up as they come. Of several the steps that they kept are compared. One thread at a time.
class ReportBuilder {
 public:
  /// \param keeps_figures else the figures of each rank are in the sum alone.
  explicit ReportBuilder(bool keeps_figures) : keeps_figures_(keeps_figures) {}

  /// The next rank that counts, in order.
  void add(Rank&& rank);
  /// REQUIRES: one rank or more. Nothing is left here.
  RunReport finish(std::vector<AttemptSpan> attempts, std::uint64_t world);

 private:
  bool keeps_figures_;
  RankSum sum_;
  RunReport report_;
};

/// With the figures of each rank. REQUIRES: one or more ranks, all readable, of one run.
RunReport report_of(std::vector<Rank> attempts);

/// Adds what the page draws of several ranks: how busy they are, and when.
void add_heat(RunReport& run);

/// How each rank stands, as far as that is worth a line. Those come first that need a look.
std::vector<std::string> endings_of(const RunReport& run);

/// The table, below it how ranks stand, their trials, and what was measured. \param width in columns.
std::string report_text(const RunReport& run, int width, bool color);

}  // namespace cli
TAKT_END_NAMESPACE
