// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A rank compared with its group.
struct BusyRank {
  JobRank who;
  double busy_ns = 0;  ///< median per step
  double excess = 0;   ///< relative excess over the group's median
};

/// Busy times of ranks over steps. Neighbouring ranks share a row and neighbouring steps a column if there are many.
struct RankHeat {
  static constexpr std::size_t kMaxRows = 256;
  static constexpr std::size_t kMaxColumns = 400;
  static constexpr std::size_t kMaxCells = 24'000;

  std::vector<BusyRank> ranks;  ///< all of them, in order
  std::size_t ranks_a_row = 1;
  std::vector<std::int64_t> first_steps;  ///< number of the first step in each column
  std::int64_t last_step = 0;             ///< number of the last step
  /// Excess over the group's median, in thousandths, row by row. A row of several ranks has the value farthest from the
  /// median.
  std::vector<int> cells;
};

/// Returns an empty RankHeat if there are no steps or fewer than two ranks. \param numbers of the steps, ascending. Any
/// thread.
RankHeat heat_of(const StepTimes& times, const std::vector<std::int64_t>& numbers);

}  // namespace detail
TAKT_END_NAMESPACE
