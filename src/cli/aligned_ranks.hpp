// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "ranks/clock_alignment.hpp"

#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A rank whose times are told by the clock of the host of the job's first rank.
struct AlignedRank {
  Rank rank;
  detail::RankAlignment alignment;  ///< its clock is not known of the first rank, and where it could not be aligned
  bool by_answers = false;          ///< not by collectives: by what takt::mpi has read of the clocks
  bool is_common = false;           ///< its host's clock is the one that counts

  /// In ns since 1970, of a time since the start of the rank's run. Where the clock is not known, by its own.
  std::int64_t common_ns(std::int64_t ns_of_run) const noexcept;
  /// By how much that may be off at worst, from the start of the run to its end. 0 where the clock is not known.
  std::int64_t error_ns() const noexcept;
};

/// The ranks of one run, the one with the lowest number first: its clock counts.
struct AlignedRanks {
  std::vector<AlignedRank> ranks;
  std::uint64_t missing = 0;  ///< without a journal
  bool all = true;            ///< false: something was not readable
};

/// Reads the journals in these directories, of the newest run among them, and aligns the clocks. Remarks go to stderr.
/// \param rank of this one alone; -1: of all.
/// \throws takt::Error where none is readable, or the rank is not there.
AlignedRanks read_aligned(const std::vector<RankDirectory>& directories, int rank = -1);

/// Says on stderr how well each clock is aligned.
void report_alignment(const AlignedRanks& run);

}  // namespace cli
TAKT_END_NAMESPACE
