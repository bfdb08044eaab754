// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/rank.hpp"

#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The ranks of one run as they were at last.
struct LastRanks {
  std::vector<Rank> ranks;           ///< in order, each once
  std::uint64_t world = 0;           ///< how many there were, those without a journal included
  std::vector<std::string> remarks;  ///< who is left out and why, and that a world cannot be

  std::uint64_t missing() const noexcept { return world - ranks.size(); }
};

/// Of the processes of one run those of the newest attempt, with as many ranks as that one had; of several of one rank
/// the one that began last. A world that cannot be counts as the ranks that are there. REQUIRES: one or more, all
/// readable.
LastRanks last_ranks(std::vector<Rank> of_run);

/// Of which there is none, ascending.
std::vector<std::uint32_t> missing_ranks(const LastRanks& run);

/// Says the remarks on stderr.
void tell_left_out(const LastRanks& run);

}  // namespace cli
TAKT_END_NAMESPACE
