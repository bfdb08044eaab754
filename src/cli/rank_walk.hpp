// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/attempts.hpp"
#include "cli/last_ranks.hpp"
#include "cli/ranks_ahead.hpp"
#include "cli/run_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What of some processes could not be read and why, and at which places these stand among those that were named.
using NotRead = std::vector<std::pair<std::size_t, std::string>>;

/// Says so on stderr, in the order in which they were named.
void tell_not_read(NotRead not_read);

/// What became of the processes of a run.
struct WalkedRun {
  std::uint64_t world = 0;            ///< how many there were, those without a journal included
  std::vector<std::string> remarks;   ///< who is left out and why
  std::vector<AttemptSpan> attempts;  ///< in order; the last one counts
  std::size_t first = 0;              ///< of those that were readable, the place of the one that was named first
  NotRead not_read;
};

/// Reads the journals of a run, a few at the same time.
/// \param read reads one of them, with whatever it wants to see of its rows; on any thread, several at the same time.
/// \param use is handed the ranks that count, in order; nothing keeps them but what it does with them.
WalkedRun walk_ranks(const RunPlan& plan, const RanksAhead::Read& read, const LastRanks::Use& use);

}  // namespace cli
TAKT_END_NAMESPACE
