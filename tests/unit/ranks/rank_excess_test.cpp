// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_comparison.hpp"

#include "base/statistics.hpp"
#include "ranks/rank_steps.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using takt::detail::excesses_of;
using takt::detail::groups_of;
using takt::detail::JobRank;
using takt::detail::median;
using takt::detail::median_deviation;
using takt::detail::medians_of_others;
using takt::detail::RankExcess;
using takt::detail::StepTimes;
using takt::detail::StepWindow;
using takt::detail::window_distances;
using takt::detail::window_medians;

namespace {

/// Returns the excesses over 40 steps in which each rank takes the given us and never waits. \param scatter in us,
/// alternating with a period that no window has.
std::vector<RankExcess> excesses(const std::vector<double>& busy_us, double scatter = 0) {
  StepTimes times(std::vector<JobRank>(busy_us.size()), {{"Work", takt::Kind::compute}}, 40);
  for (std::size_t rank = 0; rank < busy_us.size(); ++rank) {
    for (std::size_t step = 0; step < times.steps(); ++step) {
      const double off = rank == 0 ? scatter * std::sin(static_cast<double>(step / 4) * 2.0) : 0;
      times.step_ns(rank, step) = static_cast<std::uint64_t>(1000 * (busy_us[rank] + off));
    }
  }
  const std::vector<std::vector<std::size_t>> groups = groups_of(times);
  REQUIRE(groups.size() == 1);
  return excesses_of(times, groups.front());
}

}  // namespace

TEST_CASE("Rank excess: computes medians") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median_deviation({1, 2, 3, 4, 100}) == 1);
  CHECK(medians_of_others({1, 2}) == std::vector<double>{2, 1});
  CHECK(medians_of_others({5, 1, 3}) == std::vector<double>{2, 4, 3});
  CHECK(medians_of_others({5, 1, 3, 3}) == std::vector<double>{3, 3, 3, 3});
  CHECK(medians_of_others({4, 1, 2, 8}) == std::vector<double>{2, 4, 4, 2});
}

TEST_CASE("Rank excess: windows contain each step once") {
  for (const std::size_t steps : {30U, 37U, 60U, 1001U}) {
    std::size_t next = 0;
    for (std::size_t window = 0; window < takt::detail::kStepWindows; ++window) {
      const StepWindow here = takt::detail::step_window(window, steps);
      CHECK(here.first == next);
      CHECK(here.steps() >= steps / takt::detail::kStepWindows);
      next = here.last;
    }
    CHECK(next == steps);
  }
  std::vector<double> values(30, 5);
  values[1] = 9;  // in a window of three
  CHECK(window_medians(values) == std::vector<double>(10, 5));
  const std::vector<double> distances = window_distances(values);
  CHECK(distances[1] == Approx(4 * std::sqrt(1.5)));
  CHECK(std::count(distances.begin(), distances.end(), 0.0) == 29);
}

TEST_CASE("Rank excess: is the excess over the median of the others") {
  const std::vector<RankExcess> found = excesses({1000, 1100, 1200});
  CHECK(found[0].mean == Approx(1000.0 / 1150 - 1));
  CHECK(found[1].mean == Approx(0).margin(1e-12));
  CHECK(found[2].mean == Approx(1200.0 / 1050 - 1));
  CHECK(found[2].standard_error == Approx(0).margin(1e-12));
  CHECK(found[2].positive == 10);
  CHECK(found[2].slow);
  CHECK_FALSE(found[1].slow);
  CHECK_FALSE(found[0].slow);
}

TEST_CASE("Rank excess: up to 3 % no rank is slow") {
  CHECK_FALSE(excesses({1029, 1000, 1000})[0].slow);
  CHECK(excesses({1031, 1000, 1000})[0].slow);
}

TEST_CASE("Rank excess: within six standard errors no rank is slow") {
  // The sine moves windows by +/- 0.7 of the scatter, which gives a standard error of 0.24 of it.
  const RankExcess narrow = excesses({1100, 1000, 1000}, 55)[0];
  const RankExcess wide = excesses({1100, 1000, 1000}, 90)[0];
  CHECK(narrow.mean == Approx(0.1).margin(0.01));
  CHECK(narrow.mean > 6 * narrow.standard_error);
  CHECK(narrow.slow);
  CHECK(wide.mean == Approx(0.1).margin(0.01));
  CHECK(wide.positive >= 8);
  CHECK(wide.mean < 6 * wide.standard_error);
  CHECK_FALSE(wide.slow);
}

TEST_CASE("Rank excess: from eight ranks on the threshold depends on the scatter of the others") {
  // The others are 2 % above and below their median: 4 x 1.4826 x MAD is about 12 %.
  const std::vector<double> seven = {1100, 980, 1020, 980, 1020, 980, 1020};
  CHECK(excesses(seven)[0].slow);
  std::vector<double> eight = seven;
  eight.push_back(1000);
  const RankExcess held = excesses(eight)[0];
  CHECK(held.others_deviation == Approx(1.4826 * 0.02).epsilon(0.1));
  CHECK_FALSE(held.slow);
  eight[0] = 1150;
  CHECK(excesses(eight)[0].slow);
}

TEST_CASE("Rank excess: a rank with less than half the excess of another is not slow") {
  const std::vector<RankExcess> less = excesses({1095, 1000, 1200, 1000});
  CHECK(less[0].mean == Approx(0.095));
  CHECK_FALSE(less[0].slow);
  CHECK(less[2].slow);
  const std::vector<RankExcess> more = excesses({1105, 1000, 1200, 1000});
  CHECK(more[0].slow);
  CHECK(more[2].slow);
}

TEST_CASE("Rank excess: noise on another rank does not hide a slow one") {
  const std::vector<RankExcess> found = excesses({1300, 1000, 1100, 1000}, 400);
  CHECK(found[0].mean > 2 * found[2].mean);
  CHECK_FALSE(found[0].slow);
  CHECK(found[2].slow);
}

TEST_CASE("Rank excess: ranks without time have none") {
  const std::vector<RankExcess> found = excesses({0, 0});
  CHECK(found[0].mean == 0);
  CHECK_FALSE(found[0].slow);
}
