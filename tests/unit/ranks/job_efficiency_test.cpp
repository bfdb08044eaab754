// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/job_efficiency.hpp"

#include "support/catch.hpp"
#include "support/simulated_pipeline.hpp"

#include <string>
#include <utility>
#include <vector>

using takt::JobEfficiency;
using takt::Kind;
using takt::detail::efficiency_of;
using takt::detail::GroupWait;
using takt::detail::ideal_bubble;
using takt::detail::JobRank;
using takt::detail::StepTimes;
using takt::detail::waits_of;
using takt_test::simulate_1f1b;
using takt_test::StageTimes;

namespace {

/// Returns one step of a pipeline, with one rank per stage, in which all ranks end together.
StepTimes pipeline_step(const std::vector<StageTimes>& stages, std::size_t micro_batches) {
  std::vector<JobRank> ranks;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    ranks.push_back({static_cast<std::uint32_t>(stage), "node", "stage " + std::to_string(stage)});
  }
  StepTimes times(std::move(ranks), {{"Forward", Kind::compute}, {"Backward", Kind::compute}, {"Receive", Kind::wait}},
                  1);
  const auto step = static_cast<std::uint64_t>(simulate_1f1b(stages, micro_batches));
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    times.step_ns(stage, 0) = step;
    times.region_ns(0, stage, 0) = micro_batches * static_cast<std::uint64_t>(stages[stage].forward_ns);
    times.region_ns(1, stage, 0) = micro_batches * static_cast<std::uint64_t>(stages[stage].backward_ns);
    times.region_ns(2, stage, 0) = step - times.region_ns(0, stage, 0) - times.region_ns(1, stage, 0);
  }
  return times;
}

}  // namespace

TEST_CASE("Efficiency: matches three ranks computed by hand") {
  StepTimes times({{0, "", ""}, {1, "", ""}, {2, "", ""}}, {{"Work", Kind::compute}, {"Comm", Kind::comm}}, 2);
  for (std::size_t step = 0; step < 2; ++step) {
    for (const auto& [rank, busy] : {std::pair<std::size_t, std::uint64_t>{0, 60}, {1, 60}, {2, 90}}) {
      times.step_ns(rank, step) = 100;
      times.region_ns(0, rank, step) = busy;
      times.region_ns(1, rank, step) = 100 - busy;
    }
  }
  const JobEfficiency efficiency = efficiency_of(times).value();
  CHECK(efficiency.load_balance == Approx(70.0 / 90));
  CHECK(efficiency.communication == Approx(0.9));
  CHECK(efficiency.parallel == Approx(0.7));
}

TEST_CASE("Efficiency: is undefined for a job without time") {
  CHECK_FALSE(efficiency_of(StepTimes({{0, "", ""}}, {}, 1)));
}

TEST_CASE("Efficiency: each stage of a balanced 1F1B schedule waits for the ideal share") {
  for (const std::size_t stages : {1U, 2U, 4U, 8U}) {
    for (const std::size_t micro_batches : {1U, 2U, 7U, 32U}) {
      const std::vector<GroupWait> waits =
          waits_of(pipeline_step(std::vector<StageTimes>(stages, {1000, 2000}), micro_batches));
      REQUIRE(waits.size() == stages);
      for (const GroupWait& each : waits) {
        INFO(each.group << " of " << stages << ", " << micro_batches << " micro-batches");
        CHECK(each.ranks == 1);
        CHECK(each.share ==
              Approx(ideal_bubble(static_cast<unsigned>(stages), static_cast<unsigned>(micro_batches))).margin(1e-9));
      }
    }
  }
  CHECK(ideal_bubble(4, 8) == Approx(3.0 / 11));
}

TEST_CASE("Efficiency: with one micro-batch unequal stages wait while the others work") {
  const std::vector<GroupWait> waits = waits_of(pipeline_step({{1000, 1000}, {3000, 2000}, {500, 2500}}, 1));
  CHECK(waits.at(0).group == "stage 0");
  CHECK(waits.at(0).share == Approx(0.8));
  CHECK(waits.at(1).share == Approx(0.5));
  CHECK(waits.at(2).share == Approx(0.7));
}

TEST_CASE("Efficiency: in a long 1F1B schedule the longest stage hardly waits and the others wait for it") {
  const std::vector<GroupWait> waits = waits_of(pipeline_step({{1000, 2000}, {1500, 3000}, {1000, 2000}}, 300));
  CHECK(waits.at(1).share < 0.01);
  CHECK(waits.at(0).share == Approx(1.0 / 3).margin(0.01));
  CHECK(waits.at(2).share == Approx(1.0 / 3).margin(0.01));
}
