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

/// A rank and the alignment of its times to the clock of the first rank's host.
struct AlignedRank {
  Rank rank;
  detail::RankAlignment alignment;  ///< its clock is unknown for the first rank, and if alignment failed
  bool by_answers = false;          ///< aligned by clock readings of takt::mpi, not by collectives
  bool is_common = false;           ///< its host's clock is the common one

  /// Converts ns since the start of the rank's run to ns since 1970 on the common clock; on its own clock if unaligned.
  std::int64_t common_ns(std::int64_t ns_of_run) const noexcept;
  /// Maximum error of common_ns() over the run, in ns. 0 if the clock is not aligned.
  std::int64_t error_ns() const noexcept;
};

/// Ranks of one run. The first one has the lowest number; its clock is the common one.
struct AlignedRanks {
  std::vector<AlignedRank> ranks;
  std::uint64_t missing = 0;  ///< ranks without a journal
  bool all = true;            ///< false: some data was not readable
};

/// Reads the journals in these directories, of the latest run among them, and aligns the clocks. Warnings go to stderr.
/// \param rank only this one; -1: all.
/// \throws takt::Error if none is readable, or the rank does not exist.
AlignedRanks read_aligned(const std::vector<RankDirectory>& directories, int rank = -1);

/// Prints the quality of each clock's alignment to stderr.
void report_alignment(const AlignedRanks& run);

}  // namespace cli
TAKT_END_NAMESPACE
