// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A rank beside the others of its group.
struct BusyRank {
  JobRank who;
  double busy_ns = 0;  ///< in a step, by its median
  double excess = 0;   ///< by so much, as a share, it is busier than the median of its group
};

/// How busy ranks are, and when: ranks by steps. Of many ranks neighbours share a row, of many steps a column.
struct RankHeat {
  static constexpr std::size_t kMaxRows = 256;
  static constexpr std::size_t kMaxColumns = 400;
  static constexpr std::size_t kMaxCells = 24'000;

  std::vector<BusyRank> ranks;  ///< all of them, in their order
  std::size_t ranks_a_row = 1;
  std::vector<std::int64_t> first_steps;  ///< the number of the first step in each column
  std::int64_t last_step = 0;             ///< the number of the last one
  /// By so many thousandths a rank was busier than the median of its group in these steps, row by row. In a row of
  /// several ranks that of the one that lies farthest away from the median.
  std::vector<int> cells;
};

/// Empty where there are no steps, or fewer than two ranks. \param numbers of the steps, ascending. Any thread.
RankHeat heat_of(const StepTimes& times, const std::vector<std::int64_t>& numbers);

}  // namespace detail
TAKT_END_NAMESPACE
