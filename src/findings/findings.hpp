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

/// What the figures of a run say, and what they do not tell.
struct Conclusions {
  std::vector<Finding> findings;
  std::vector<SkippedRule> skipped_rules;
};

/// What stands out in the run of one process: mistakes that make its figures wrong, then what costs most; empty where
/// nothing does. Rules that rest on steps need `run.history`. docs/findings.md has the rules. Any thread.
Conclusions conclusions_of(const Snapshot& run);

/// Puts into the run what its figures say. \param history of its steps; nullptr: there is none. Any thread.
void conclude(Snapshot& run, std::shared_ptr<const StepHistory> history);

// What sentences of findings are made of. All: any thread.

/// "41 %", and below ten "4.1 %".
std::string share_text(double share);
/// "+6.0 %", "-41 %".
std::string change_text(double share);
/// "8.0 ×", "340 ×".
std::string times_text(double ratio);
/// "100th", "2nd".
std::string ordinal(std::uint64_t number);
/// "41 200"; of a negative one, too, as programs number their steps.
std::string step_text(std::int64_t step);
/// "IO", "IO and Decode", "IO, Decode and 2 more".
std::string list_text(const std::vector<std::string>& names);

/// {"what", "sentence", "evidence": [{"name", "value", "unit"}], "cost": {"ns", "low_ns", "high_ns", "share"},
/// "where"}; `cost`, `unit` and `where` are null where there are none. Any thread.
JsonText finding_json(const Finding& finding);
/// {"what", "why"}. Any thread.
JsonText skipped_rule_json(const SkippedRule& skipped_rule);

/// What stands out on one rank.
struct RankFindings {
  int rank = 0;
  std::vector<Finding> findings;
};

/// Findings of ranks as those of their job: what several ranks have, in the same region, is one finding, by the rank
/// whose cost is in the middle, and says on which ranks. \param of so many ranks. In the order of conclusions_of().
/// Any thread.
std::vector<Finding> findings_of_ranks(const std::vector<RankFindings>& ranks, std::size_t of);

/// Mistakes that make figures wrong, then what costs most. Any thread.
void sort_findings(std::vector<Finding>& findings);

}  // namespace detail
TAKT_END_NAMESPACE
