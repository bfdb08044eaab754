// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_heat.hpp"

#include "support/catch.hpp"
#include "support/simulated_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

using takt::detail::heat_of;
using takt::detail::RankHeat;
using takt::detail::StepTimes;
using takt_test::SimulatedJob;

namespace {

std::vector<std::int64_t> numbers_of(const StepTimes& times) {
  std::vector<std::int64_t> numbers(times.steps());
  std::iota(numbers.begin(), numbers.end(), std::int64_t{100});
  return numbers;
}

}  // namespace

TEST_CASE("Rank heat: a slow rank stands out in each column by its excess") {
  SimulatedJob job;
  job.ranks = 8;
  job.steps = 1000;
  job.bursts = job.shared_bursts = 0;
  job.slow = {3};
  job.slower = 0.2;
  const StepTimes times = takt_test::simulate(job, 5);
  const RankHeat heat = heat_of(times, numbers_of(times));
  REQUIRE(heat.ranks.size() == 8);
  CHECK(heat.ranks_a_row == 1);
  CHECK(heat.ranks[3].excess == Approx(0.2).margin(0.02));
  CHECK(heat.ranks[3].busy_ns == Approx(1.2 * SimulatedJob::kBusyNs).epsilon(0.02));
  const std::size_t columns = heat.first_steps.size();
  CHECK(columns <= RankHeat::kMaxColumns);
  CHECK(heat.cells.size() == 8 * columns);
  CHECK(heat.first_steps.front() == 100);
  CHECK(heat.last_step == 1099);
  CHECK(std::is_sorted(heat.first_steps.begin(), heat.first_steps.end()));
  for (std::size_t column = 0; column < columns; ++column) {
    CHECK(heat.cells[3 * columns + column] > 50);
    CHECK(std::abs(heat.cells[column]) < 150);
  }
}

TEST_CASE("Rank heat: with very many ranks neighbours share a row, which shows the largest deviation") {
  std::vector<takt::detail::JobRank> ranks;
  for (std::uint32_t rank = 0; rank < 1000; ++rank) { ranks.push_back({rank, "", ""}); }
  StepTimes times(std::move(ranks), {}, 2000);
  for (std::size_t rank = 0; rank < 1000; ++rank) {
    for (std::size_t step = 0; step < 2000; ++step) { times.step_ns(rank, step) = rank == 514 ? 1500 : 1000; }
  }
  const RankHeat heat = heat_of(times, numbers_of(times));
  CHECK(heat.ranks.size() == 1000);
  CHECK(heat.ranks_a_row == 4);
  const std::size_t columns = heat.first_steps.size();
  CHECK(heat.cells.size() == 250 * columns);
  CHECK(heat.cells.size() <= RankHeat::kMaxCells);
  for (std::size_t row = 0; row < 250; ++row) { CHECK(heat.cells[row * columns] == (row == 514 / 4 ? 500 : 0)); }
}

TEST_CASE("Rank heat: compares ranks within their group") {
  StepTimes times({{0, "", "stage 0"}, {1, "", "stage 0"}, {2, "", "stage 1"}, {3, "", "stage 1"}}, {}, 10);
  for (std::size_t step = 0; step < 10; ++step) {
    times.step_ns(0, step) = times.step_ns(1, step) = 100;
    times.step_ns(2, step) = times.step_ns(3, step) = 900;
  }
  const RankHeat heat = heat_of(times, numbers_of(times));
  CHECK(std::all_of(heat.cells.begin(), heat.cells.end(), [](int each) { return each == 0; }));
}

TEST_CASE("Rank heat: is empty without data to compare") {
  CHECK(heat_of(StepTimes({{0, "", ""}}, {}, 5), {0, 1, 2, 3, 4}).cells.empty());
  CHECK(heat_of(StepTimes({{0, "", ""}, {1, "", ""}}, {}, 0), {}).cells.empty());
  const RankHeat idle = heat_of(StepTimes({{0, "", ""}, {1, "", ""}}, {}, 1), {7});  // with steps of zero time
  CHECK(idle.cells == std::vector<int>{0, 0});
}
