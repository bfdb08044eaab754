// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/json_text.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Findings of a run, and the rules that lacked data.
struct Conclusions {
  std::vector<Finding> findings;
  std::vector<SkippedRule> skipped_rules;
};

/// Returns the findings of one process's run: misuse that makes its figures wrong first, then by cost. Rules about
/// steps need `run.history`. docs/findings.md has the rules. Any thread.
Conclusions conclusions_of(const Snapshot& run);

/// Stores the findings in `run`, that of its trials first. Any thread.
/// \param history of its steps; nullptr if there is none.
void conclude(Snapshot& run, std::shared_ptr<const StepHistory> history);

// Text helpers for the sentences of findings. All: any thread.

/// "41 %"; below ten "4.1 %".
std::string share_text(double share);
/// "+6.0 %", "-41 %".
std::string change_text(double share);
/// "8.0 ×", "340 ×".
std::string times_text(double ratio);
/// "100th", "2nd".
std::string ordinal(std::uint64_t number);
/// "41 200"; negative numbers are allowed.
std::string step_text(std::int64_t step);
/// "IO", "IO and Decode", "IO, Decode and 2 more".
std::string list_text(const std::vector<std::string>& names);

/// {"what", "sentence", "evidence": [{"name", "value", "unit"}], "cost": {"ns", "low_ns", "high_ns", "share"},
/// "where"}; `cost`, `unit` and `where` are null if absent. Any thread.
JsonText finding_json(const Finding& finding);
/// {"what", "why"}. Any thread.
JsonText skipped_rule_json(const SkippedRule& skipped_rule);

/// Findings of one rank.
struct RankFindings {
  int rank = 0;
  std::vector<Finding> findings;
};

/// Merges the findings of ranks into those of the job. If several ranks have the same finding in the same region, the
/// one with the median cost represents them and its sentence names the ranks. \param of total number of ranks. Same
/// order as conclusions_of(). Any thread.
std::vector<Finding> findings_of_ranks(const std::vector<RankFindings>& ranks, std::size_t of);

/// Sorts misuse that makes figures wrong first, then by cost. Any thread.
void sort_findings(std::vector<Finding>& findings);

}  // namespace detail
TAKT_END_NAMESPACE
