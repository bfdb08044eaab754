// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_heat.hpp"

#include "base/statistics.hpp"
#include "ranks/rank_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::size_t parts_of(std::size_t whole, std::size_t a_part) noexcept { return (whole + a_part - 1) / a_part; }

double share_above(double value, double usual) noexcept { return usual > 0 ? value / usual - 1 : 0; }

/// Returns the busy time of each rank in the steps [begin, end).
std::vector<double> busy_between(const StepTimes& times, std::size_t begin, std::size_t end) {
  std::vector<double> busy(times.ranks().size());
  for (std::size_t rank = 0; rank < busy.size(); ++rank) {
    for (std::size_t step = begin; step < end; ++step) { busy[rank] += static_cast<double>(times.busy_ns(rank, step)); }
  }
  return busy;
}

/// Returns each rank's relative excess over the median of its group.
std::vector<double> excess_in_groups(const std::vector<double>& busy,
                                     const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<double> excess(busy.size());
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<double> values;
    values.reserve(group.size());
    for (const std::size_t rank : group) { values.push_back(busy[rank]); }
    const double usual = median(std::move(values));
    for (const std::size_t rank : group) { excess[rank] = share_above(busy[rank], usual); }
  }
  return excess;
}

int in_thousandths(double share) noexcept {
  constexpr double kMax = 99'999;
  return static_cast<int>(std::lround(std::min(1000 * share, kMax)));
}

void add_ranks(const StepTimes& times, const std::vector<std::vector<std::size_t>>& groups, RankHeat& heat) {
  std::vector<double> usual;
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) { usual.push_back(median(times.busy_by_step(rank))); }
  const std::vector<double> excess = excess_in_groups(usual, groups);
  for (std::size_t rank = 0; rank < usual.size(); ++rank) {
    heat.ranks.push_back({times.ranks()[rank], usual[rank], excess[rank]});
  }
}

}  // namespace

RankHeat heat_of(const StepTimes& times, const std::vector<std::int64_t>& numbers) {
  RankHeat heat;
  const std::size_t ranks = times.ranks().size();
  if (ranks < 2 || times.steps() == 0 || numbers.size() != times.steps()) { return heat; }
  const std::vector<std::vector<std::size_t>> groups = groups_of(times);
  add_ranks(times, groups, heat);
  heat.ranks_a_row = parts_of(ranks, RankHeat::kMaxRows);
  const std::size_t rows = parts_of(ranks, heat.ranks_a_row);
  const std::size_t a_column = parts_of(times.steps(), std::min(RankHeat::kMaxColumns, RankHeat::kMaxCells / rows));
  const std::size_t columns = parts_of(times.steps(), a_column);
  heat.cells.resize(rows * columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * a_column;
    heat.first_steps.push_back(numbers[begin]);
    const std::vector<double> excess =
        excess_in_groups(busy_between(times, begin, std::min(begin + a_column, times.steps())), groups);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      int& cell = heat.cells[rank / heat.ranks_a_row * columns + column];
      const int here = in_thousandths(excess[rank]);
      if (std::abs(here) > std::abs(cell)) { cell = here; }
    }
  }
  heat.last_step = numbers.back();
  return heat;
}

}  // namespace detail
TAKT_END_NAMESPACE
