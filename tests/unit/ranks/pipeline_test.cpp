// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/job_efficiency.hpp"

#include "ranks/gathered_ranks.hpp"
#include "ranks/verdict.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/simulated_pipeline.hpp"

#include <cstdint>
#include <string>
#include <vector>

using takt::Kind;
using takt::Pipeline;
using takt::Snapshot;
using takt::detail::group_label;
using takt::detail::ideal_bubble;
using takt::detail::JobRank;
using takt::detail::RanksAre;
using takt::detail::RankVerdict;
using takt::detail::StepTimes;
using takt::detail::verdicts_of;
using takt_test::simulate_1f1b;
using takt_test::StageTimes;

namespace {

/// Returns the ranks of a job with `ranks_a_stage` ranks per stage, each in the groups "stage" and "data".
std::vector<Snapshot> ranks_of(std::size_t stages, std::size_t ranks_a_stage, const std::string& micro_batches) {
  std::vector<Snapshot> ranks;
  for (std::size_t rank = 0; rank < stages * ranks_a_stage; ++rank) {
    Snapshot snapshot;
    snapshot.run.rank = static_cast<int>(rank);
    snapshot.run.groups = {{"stage", static_cast<int>(rank / ranks_a_stage)}};
    if (!micro_batches.empty()) { snapshot.params["micro_batches"] = micro_batches; }
    ranks.push_back(snapshot);
  }
  return ranks;
}

Pipeline pipeline_among(const StepTimes& times, const std::vector<Snapshot>& ranks) {
  std::vector<JobRank> all;
  all.reserve(ranks.size());
  for (const Snapshot& each : ranks) { all.push_back(takt::detail::job_rank_of(each)); }
  return takt::detail::pipeline_of(times, all);
}

constexpr std::size_t kNobody = ~std::size_t{0};

/// Simulates 60 steps of the schedule 1F1B; the rank `slow` takes 30 % longer. Noise of 1 % lengthens steps.
StepTimes run_1f1b(const std::vector<StageTimes>& stages, std::size_t micro_batches, const std::vector<Snapshot>& ranks,
                   bool noise = false, std::size_t slow = kNobody) {
  constexpr std::size_t kSteps = 60;
  std::vector<JobRank> who;
  who.reserve(ranks.size());
  for (const Snapshot& each : ranks) { who.push_back(takt::detail::job_rank_of(each)); }
  StepTimes times(who, {{"Work", Kind::compute}, {"Receive", Kind::wait}}, kSteps);
  const double whole = simulate_1f1b(stages, micro_batches) * (noise ? 1.5 : 1);
  takt_test::Random random(7);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const StageTimes& stage = stages[static_cast<std::size_t>(ranks[rank].run.groups.at(0).second)];
    const double busy = static_cast<double>(micro_batches) * (stage.forward_ns + stage.backward_ns);
    for (std::size_t step = 0; step < kSteps; ++step) {
      const double factor = (noise ? 0.995 + 0.01 * random.uniform() : 1) * (rank == slow ? 1.3 : 1);
      times.step_ns(rank, step) = static_cast<std::uint64_t>(whole);
      times.region_ns(0, rank, step) = static_cast<std::uint64_t>(busy * factor);
      times.region_ns(1, rank, step) = times.step_ns(rank, step) - times.region_ns(0, rank, step);
    }
  }
  return times;
}

/// Removes all groups.
StepTimes without_groups(const StepTimes& times) {
  std::vector<JobRank> who = times.ranks();
  for (JobRank& each : who) { each.group.clear(); }
  StepTimes copy(who, times.regions(), times.steps());
  for (std::size_t rank = 0; rank < who.size(); ++rank) {
    for (std::size_t step = 0; step < times.steps(); ++step) {
      copy.step_ns(rank, step) = times.step_ns(rank, step);
      for (std::size_t region = 0; region < times.regions().size(); ++region) {
        copy.region_ns(region, rank, step) = times.region_ns(region, rank, step);
      }
    }
  }
  return copy;
}

}  // namespace

TEST_CASE("Groups: a label has all groups of a rank") {
  takt::RunInfo run;
  CHECK(group_label(run).empty());
  run.groups = {{"stage", 2}, {"tensor", 0}};
  CHECK(group_label(run) == "stage 2, tensor 0");
}

TEST_CASE("Groups: a stage with more work is not slow, but a slow rank inside a stage is named") {
  const std::vector<StageTimes> stages = {{1000, 2000}, {2000, 4000}};
  const std::vector<Snapshot> ranks = ranks_of(2, 4, "");
  for (const RankVerdict& each : verdicts_of(run_1f1b(stages, 8, ranks, true))) {
    CHECK(each.state == RanksAre::alike);
  }
  const std::vector<RankVerdict> verdicts = verdicts_of(run_1f1b(stages, 8, ranks, true, 2));
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0].state == RanksAre::slowed);
  CHECK(verdicts[0].group == "stage 0");
  CHECK(verdicts[0].slowdown.ranks == std::vector<std::size_t>{2});
  CHECK(verdicts[1].state == RanksAre::alike);
  std::vector<RankVerdict> without = verdicts_of(without_groups(run_1f1b(stages, 8, ranks, true)));
  REQUIRE(without.size() == 1);
  CHECK(without[0].state != RanksAre::alike);
}

TEST_CASE("Pipeline: each stage of a balanced 1F1B schedule waits for the ideal time") {
  const std::vector<Snapshot> ranks = ranks_of(4, 2, "8");
  const Pipeline pipeline = pipeline_among(run_1f1b(std::vector<StageTimes>(4, {1000, 2000}), 8, ranks), ranks);
  REQUIRE(pipeline.stages.size() == 4);
  CHECK(pipeline.micro_batches == 8);
  CHECK(pipeline.ideal.value() == Approx(3.0 / 11));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CHECK(pipeline.stages[stage].stage == static_cast<int>(stage));
    CHECK(pipeline.stages[stage].ranks == 2);
    CHECK(pipeline.stages[stage].share == Approx(pipeline.ideal.value()).margin(1e-6));
  }
}

TEST_CASE("Pipeline: the longest stage waits less than ideal and the others more") {
  const std::vector<Snapshot> ranks = ranks_of(3, 1, "300");
  const Pipeline pipeline = pipeline_among(run_1f1b({{1000, 2000}, {1500, 3000}, {1000, 2000}}, 300, ranks), ranks);
  REQUIRE(pipeline.stages.size() == 3);
  CHECK(pipeline.ideal.value() == Approx(ideal_bubble(3, 300)));
  CHECK(pipeline.stages[0].share == Approx(1.0 / 3).margin(0.01));
  CHECK(pipeline.stages[1].share < 0.01);
}

TEST_CASE("Pipeline: there is no ideal without stages or without equal micro-batches on all ranks") {
  const std::vector<StageTimes> even(2, {1000, 1000});
  for (const char* text : {"", "0", "-4", "4.5", "four", "4 ", "1000001", "99999999999999999999"}) {
    const std::vector<Snapshot> ranks = ranks_of(2, 1, text);
    const Pipeline pipeline = pipeline_among(run_1f1b(even, 4, ranks), ranks);
    INFO(text);
    CHECK(pipeline.stages.size() == 2);
    CHECK_FALSE(pipeline.micro_batches);
    CHECK_FALSE(pipeline.ideal);
  }
  std::vector<Snapshot> differ = ranks_of(2, 1, "4");
  differ[1].params["micro_batches"] = "8";
  CHECK_FALSE(pipeline_among(run_1f1b(even, 4, differ), differ).micro_batches);
  differ[1].params.clear();
  CHECK(pipeline_among(run_1f1b(even, 4, differ), differ).micro_batches == 4);
  const std::vector<Snapshot> one = ranks_of(1, 2, "4");
  CHECK(pipeline_among(run_1f1b({even[0]}, 4, one), one).stages.empty());
}
