// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "cli/rank_folder.hpp"

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A process whose journal is to be read, as a look at that tells of it.
struct PlannedRank {
  RankFolder folder;
  std::size_t place = 0;  ///< among those that were named
  bool has_run = false;   ///< else `run` is empty
  RunInfo run;            ///< without its groups
};

/// Whose journals are to be read, by rank, and the processes of a rank as they began. So ranks are added up in order,
/// whatever the order of their folders, and which of them count is known before they are read.
using RunPlan = std::vector<PlannedRank>;

/// Of the processes in these folders, by run id: the run of the folder that was named first comes first.
std::vector<RunPlan> plan_runs(const std::vector<RankFolder>& folders);

/// Whether the second one began later, by attempt and clock.
bool began_before(const RunInfo& a, const RunInfo& b) noexcept;

/// Of those of the newest attempt the one that began last, among those that tell. REQUIRES: !plan.empty().
const PlannedRank& newest_of(const RunPlan& plan) noexcept;

}  // namespace cli
TAKT_END_NAMESPACE
