// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/verdict.hpp"

#include "ranks/job_efficiency.hpp"
#include "ranks/rank_steps.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/sentence_numbers.hpp"
#include "support/simulated_pipeline.hpp"
#include "support/simulated_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

using takt::Kind;
using takt::detail::JobRank;
using takt::detail::kMinComparedSteps;
using takt::detail::RanksAre;
using takt::detail::RankVerdict;
using takt::detail::StepTimes;
using takt::detail::verdicts_of;
using takt_test::check_golden;
using takt_test::mentions;
using takt_test::Random;
using takt_test::simulate;
using takt_test::SimulatedJob;

namespace {

constexpr std::uint64_t kVerdictUs = 1000;

/// Returns four ranks on two hosts with 5.5 ms of work per step. Rank 2 takes 20.3 ms longer in Backward, except in two
/// steps.
StepTimes by_hand() {
  StepTimes times({{0, "n0122", ""}, {1, "n0122", ""}, {2, "n0123", ""}, {3, "n0124", ""}},
                  {{"Forward", Kind::compute}, {"Backward", Kind::compute}, {"Comm", Kind::comm}}, 60);
  for (std::size_t step = 0; step < 60; ++step) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const bool longer = rank == 2 && step != 7 && step != 33;
      times.step_ns(rank, step) = 26'000 * kVerdictUs;
      times.region_ns(0, rank, step) = 2'000 * kVerdictUs;
      times.region_ns(1, rank, step) = (longer ? 23'800 : 3'500) * kVerdictUs;
      times.region_ns(2, rank, step) =
          times.step_ns(rank, step) - times.region_ns(0, rank, step) - times.region_ns(1, rank, step);
    }
  }
  return times;
}

double evidence(const RankVerdict& verdict, const std::string& name) {
  for (const takt::Evidence& each : verdict.finding.evidence) {
    if (each.name == name) { return each.value; }
  }
  FAIL("no evidence called " << name);
  return 0;
}

/// Returns the only verdict of a job without groups.
RankVerdict only_verdict(const StepTimes& times) {
  const std::vector<RankVerdict> verdicts = verdicts_of(times);
  REQUIRE(verdicts.size() == 1);
  return verdicts.front();
}

/// Returns two stages of four ranks each; the first stage has half as much work again.
/// \param slow rank whose work takes a quarter longer.
StepTimes pipeline(bool grouped, int slow = -1) {
  constexpr std::size_t kReplicas = 4;
  constexpr std::size_t kMicroBatches = 8;
  constexpr double kStage[] = {1.5e6, 1e6};
  std::vector<JobRank> ranks;
  for (std::uint32_t rank = 0; rank < 2 * kReplicas; ++rank) {
    ranks.push_back({rank, "node", grouped ? "stage " + std::to_string(rank / kReplicas) : ""});
  }
  StepTimes times(std::move(ranks), {{"Compute", Kind::compute}, {"Receive", Kind::wait}}, 60);
  Random random(7);
  for (std::size_t step = 0; step < 60; ++step) {
    double longest = 0;
    for (std::size_t replica = 0; replica < kReplicas; ++replica) {
      std::vector<takt_test::StageTimes> stages;
      for (const std::size_t stage : {0U, 1U}) {
        const std::size_t rank = stage * kReplicas + replica;
        const double factor = std::exp(0.03 * takt_test::normal(random)) * (static_cast<int>(rank) == slow ? 1.25 : 1);
        stages.push_back({kStage[stage] * factor, 2 * kStage[stage] * factor});
        times.region_ns(0, rank, step) = static_cast<std::uint64_t>(kMicroBatches * 3 * kStage[stage] * factor);
      }
      longest = std::max(longest, takt_test::simulate_1f1b(stages, kMicroBatches));
    }
    for (std::size_t rank = 0; rank < 2 * kReplicas; ++rank) {
      times.step_ns(rank, step) = static_cast<std::uint64_t>(longest);
      times.region_ns(1, rank, step) = times.step_ns(rank, step) - times.region_ns(0, rank, step);
    }
  }
  return times;
}

int repeats() {
  const char* text = std::getenv("TAKT_TEST_REPEATS");
  return text != nullptr ? std::atoi(text) : takt_test::kSanitized ? 2 : 20;
}

}  // namespace

TEST_CASE("Verdict: the slow rank, its region and its cost match those computed by hand") {
  const RankVerdict verdict = only_verdict(by_hand());
  CHECK(verdict.state == RanksAre::slowed);
  CHECK(verdict.finding.what == "slow_rank");
  CHECK(mentions(verdict.finding.sentence,
                 {"rank 2", "n0123", "Backward", "20.3 ms", "58", "60", "1.18 s", "1.56 s", "Comm"}));
  REQUIRE(verdict.finding.cost);
  CHECK(verdict.finding.cost->ns == Approx(58 * 20.3e6));
  CHECK(verdict.finding.cost->share == Approx(58 * 20.3 / 1560));
  CHECK(verdict.finding.cost->low_ns < verdict.finding.cost->ns);
  CHECK(evidence(verdict, "rank") == 2);
  CHECK(evidence(verdict, "mean_excess") == Approx(20.3 / 5.5));
  CHECK(evidence(verdict, "positive_windows") == 10);
  CHECK(evidence(verdict, "longer_steps") == 58);
  CHECK(evidence(verdict, "steps") == 60);
}

TEST_CASE("Verdict: a rank that is longer only in Comm makes no rank wait") {
  StepTimes times = by_hand();
  for (std::size_t step = 0; step < times.steps(); ++step) {
    times.region_ns(1, 2, step) = 3'500 * kVerdictUs;
    times.region_ns(2, 2, step) = 20'500 * kVerdictUs;
    for (const std::size_t other : {0U, 1U, 3U}) {
      times.step_ns(other, step) = 7'500 * kVerdictUs;
      times.region_ns(2, other, step) = 2'000 * kVerdictUs;
    }
  }
  const RankVerdict verdict = only_verdict(times);
  CHECK(verdict.state == RanksAre::alike);
  CHECK_FALSE(verdict.finding.cost);
}

TEST_CASE("Verdict: a slightly busier rank is not named, and does not change the figures") {
  StepTimes times = by_hand();
  for (std::size_t step = 0; step < times.steps(); ++step) {
    times.region_ns(1, 0, step) += 500 * kVerdictUs;
    times.region_ns(2, 0, step) -= 500 * kVerdictUs;
  }
  const RankVerdict verdict = only_verdict(times);
  CHECK(evidence(verdict, "rank") == 2);
  CHECK(verdict.slowdown.ranks == std::vector<std::size_t>{2});
  CHECK(verdict.slowdown.longer_ns == Approx(20.3e6));
  REQUIRE(verdict.finding.cost);
  CHECK(verdict.finding.cost->ns == Approx(58 * 20.3e6));
}

TEST_CASE("Verdict: does not name a rank that is faster than the others") {
  StepTimes times = by_hand();
  for (std::size_t step = 0; step < times.steps(); ++step) {
    times.region_ns(1, 2, step) = 500 * kVerdictUs;
    times.region_ns(2, 2, step) = 23'500 * kVerdictUs;
  }
  CHECK(only_verdict(times).state == RanksAre::alike);
}

TEST_CASE("Verdict: reports time outside all regions as such") {
  StepTimes times = by_hand();
  for (std::size_t step = 0; step < times.steps(); ++step) { times.region_ns(1, 2, step) = 3'500 * kVerdictUs; }
  const RankVerdict verdict = only_verdict(times);
  REQUIRE(verdict.state == RanksAre::slowed);
  CHECK(verdict.slowdown.region.empty());
  CHECK(mentions(verdict.finding.sentence, {"outside regions", "20.3 ms"}));
}

TEST_CASE("Verdict: does not attribute time outside regions to a slightly longer region") {
  StepTimes times = by_hand();
  for (std::size_t step = 0; step < times.steps(); ++step) { times.region_ns(1, 2, step) = 4'500 * kVerdictUs; }
  const RankVerdict verdict = only_verdict(times);
  REQUIRE(verdict.state == RanksAre::slowed);
  CHECK(verdict.slowdown.region.empty());
}

TEST_CASE("Verdict: a rank's excess is its work, and other ranks' excess is waiting") {
  StepTimes times = by_hand();
  for (std::size_t step = 0; step < times.steps(); ++step) {
    times.step_ns(2, step) += 50'000 * kVerdictUs;  // rank 2 is longest in Comm, and the others in Forward
    times.region_ns(2, 2, step) += 50'000 * kVerdictUs;
    for (const std::size_t other : {0U, 1U, 3U}) {
      times.step_ns(other, step) += 2'000 * kVerdictUs;
      times.region_ns(0, other, step) += 2'000 * kVerdictUs;
    }
  }
  const RankVerdict verdict = only_verdict(times);
  REQUIRE(verdict.slowdown.ranks == std::vector<std::size_t>{2});
  CHECK(verdict.slowdown.region == "Backward");
  CHECK(verdict.slowdown.others_wait_in.empty());
}

TEST_CASE("Verdict: names from other ranks cannot control the terminal") {
  StepTimes sample = by_hand();
  std::vector<JobRank> ranks = sample.ranks();
  ranks[2].host = "n\x1b[31m";
  StepTimes times(ranks, {{"F", Kind::compute}, {"B\n", Kind::compute}, {"C", Kind::comm}}, 60);
  for (std::size_t step = 0; step < 60; ++step) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      times.step_ns(rank, step) = sample.step_ns(rank, step);
      for (const std::size_t region : {0U, 1U, 2U}) {
        times.region_ns(region, rank, step) = sample.region_ns(region, rank, step);
      }
    }
  }
  CHECK(mentions(only_verdict(times).finding.sentence, {"rank 2", "n?[31m", "B?"}));
}

TEST_CASE("Verdict: names the host if several of its ranks are slow") {
  SimulatedJob job;
  job.ranks = 16;
  job.ranks_per_host = 4;
  job.slow = {4, 5, 6, 7};
  job.slower = 0.2;
  const RankVerdict verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.finding.what == "slow_host");
  CHECK(verdict.slowdown.ranks == job.slow);
  CHECK(mentions(verdict.finding.sentence, {"node1", "4, 5, 6 and 7", "Backward"}));
  CHECK(verdict.finding.cost->ns == Approx(60 * 20e6).epsilon(0.1));  // once, not once per rank
}

TEST_CASE("Verdict: names ranks if slow ones are on several hosts, or few on one host") {
  SimulatedJob job;
  job.ranks = 16;
  job.slower = 0.2;
  job.slow = {1, 9};
  RankVerdict verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.finding.what == "slow_ranks");
  CHECK(mentions(verdict.finding.sentence, {"1 and 9"}));
  job.slow = {1, 2};  // of the eight on their host
  verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.finding.what == "slow_ranks");
  job.ranks = 3;  // there is only one host
  job.slow = {1, 2};
  verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.finding.what == "slow_ranks");
}

TEST_CASE("Verdict: blames no rank if slow ranks alternate") {
  SimulatedJob job;
  job.ranks = 4;
  job.bursts = job.shared_bursts = 0;
  job.taking_turns = true;
  const RankVerdict verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.state == RanksAre::imbalanced);
  CHECK(verdict.slowdown.ranks.empty());
  CHECK_FALSE(verdict.finding.cost);
  CHECK(verdict.imbalance.ns == Approx(60 * 50e6).epsilon(0.1));
  CHECK(evidence(verdict, "imbalance_of_noise") < 0.5 * verdict.imbalance.ns);
}

TEST_CASE("Verdict: predicts the waiting caused by noise") {
  for (const std::size_t ranks : {2U, 4U, 16U, 64U}) {
    SimulatedJob job;
    job.ranks = ranks;
    job.steps = 1000;
    job.bursts = 0;
    const RankVerdict verdict = only_verdict(simulate(job, 3));
    INFO(ranks << " ranks");
    CHECK(verdict.state == RanksAre::alike);
    CHECK(verdict.imbalance.noise_ns == Approx(verdict.imbalance.ns).epsilon(0.15));
  }
}

TEST_CASE("Verdict: equal ranks are alike") {
  SimulatedJob job;
  job.ranks = 4;
  job.bursts = 0;
  const RankVerdict verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.finding.what == "ranks_alike");
  CHECK(mentions(verdict.finding.sentence, {"60"}));
}

/// Returns three ranks whose all-reduce is inside Backward: rank 1 computes 6 ms longer in Forward, and the others wait
/// for it.
/// \param reported the all-reduce has a region.
StepTimes data_parallel(bool reported) {
  StepTimes times({{0, "n0", ""}, {1, "n0", ""}, {2, "n0", ""}},
                  {{"Forward", Kind::compute}, {"Backward", Kind::compute}, {"Comm", Kind::comm}}, 60);
  Random random(3);
  for (std::size_t step = 0; step < 60; ++step) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto work = [&](double us) {
        return static_cast<std::uint64_t>(us * kVerdictUs * std::exp(0.02 * takt_test::normal(random)));
      };
      times.step_ns(rank, step) = 22'000 * kVerdictUs;
      times.region_ns(0, rank, step) = work(rank == 1 ? 11'000 : 5'000);
      const std::uint64_t backward = work(10'000);
      const std::uint64_t rest = times.step_ns(rank, step) - times.region_ns(0, rank, step);
      times.region_ns(1, rank, step) = reported ? std::min(backward, rest) : rest;
      times.region_ns(2, rank, step) = reported ? rest - std::min(backward, rest) : 0;
    }
  }
  return times;
}

TEST_CASE("Verdict: gives no result for steps of equal length if no region contains the waiting") {
  const RankVerdict reported = only_verdict(data_parallel(true));
  CHECK(reported.slowdown.ranks == std::vector<std::size_t>{1});
  CHECK(mentions(reported.finding.sentence, {"rank 1", "wait", "Forward"}));
  CHECK(takt::detail::efficiency_of(data_parallel(true)).value().parallel == Approx(0.77).margin(0.03));
  StepTimes times = data_parallel(false);
  const RankVerdict verdict = only_verdict(times);
  CHECK(verdict.state == RanksAre::unreported);
  CHECK(verdict.finding.what == "waits_untold");
  CHECK(mentions(verdict.finding.sentence, {"unknown", "takt::Comm"}));
  CHECK_FALSE(takt::detail::efficiency_of(times));
  // A region of another wait says nothing about this one: ranks differ, but in equal total time.
  for (std::size_t step = 0; step < times.steps(); ++step) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      times.region_ns(2, rank, step) = 100 * kVerdictUs;
      times.step_ns(rank, step) += 100 * kVerdictUs;
    }
  }
  const RankVerdict hidden = only_verdict(times);
  CHECK(hidden.state == RanksAre::unreported);
  CHECK(mentions(hidden.finding.sentence, {"unknown", "Forward", "6.02 ms", "rank 1", "Backward", "takt::Comm"}));
  CHECK(takt_test::numbers_without_evidence(hidden.finding) == std::string());
  CHECK_FALSE(takt::detail::efficiency_of(times));
}

TEST_CASE("Verdict: names a busy rank among idle ones") {
  StepTimes times({{0, "n0", ""}, {1, "n0", ""}, {2, "n0", ""}}, {{"Comm", Kind::comm}}, 60);
  for (std::size_t step = 0; step < 60; ++step) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      times.step_ns(rank, step) = 6'000 * kVerdictUs;
      times.region_ns(0, rank, step) = (rank == 1 ? 1'000 : 6'000) * kVerdictUs;
    }
  }
  CHECK(only_verdict(times).slowdown.ranks == std::vector<std::size_t>{1});
  for (std::size_t step = 0; step < 60; ++step) { times.region_ns(0, 1, step) = 6'000 * kVerdictUs; }
  const RankVerdict idle = only_verdict(times);
  CHECK(idle.state == RanksAre::unreported);
  CHECK(mentions(idle.finding.sentence, {"not compared"}));
}

TEST_CASE("Verdict: compares ranks only within their group") {
  const RankVerdict together = only_verdict(pipeline(false));
  CHECK(together.slowdown.ranks == std::vector<std::size_t>{0, 1, 2, 3});  // the stage with more work
  for (const RankVerdict& each : verdicts_of(pipeline(true))) {
    INFO(each.finding.sentence);
    CHECK(each.state == RanksAre::alike);
    CHECK(each.ranks.size() == 4);
  }
  const std::vector<RankVerdict> verdicts = verdicts_of(pipeline(true, 6));
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0].slowdown.ranks == std::vector<std::size_t>{6});  // the costly one is first
  CHECK(verdicts[0].group == "stage 1");
  CHECK(mentions(verdicts[0].finding.sentence, {"rank 6", "node", "stage 1", "Compute", "Receive"}));
  CHECK(verdicts[1].state == RanksAre::alike);
  CHECK(verdicts[1].finding.what == "ranks_alike");
  CHECK(mentions(verdicts[1].finding.sentence, {"stage 0"}));
}

TEST_CASE("Verdict: does not compare a single rank or a few steps") {
  SimulatedJob job;
  job.ranks = 1;
  CHECK(mentions(only_verdict(simulate(job, 1)).finding.sentence, {"rank 0"}));
  job.ranks = 2;
  job.steps = kMinComparedSteps - 1;
  job.slow = {1};
  job.slower = 3;
  const RankVerdict verdict = only_verdict(simulate(job, 1));
  CHECK(verdict.finding.what == "too_few_steps");
  CHECK(mentions(verdict.finding.sentence, {"29", "30"}));
  job.steps = kMinComparedSteps;
  CHECK(only_verdict(simulate(job, 1)).state == RanksAre::slowed);
}

TEST_CASE("Verdict: the golden text has one verdict of each kind") {
  StepTimes no_region = by_hand();
  for (std::size_t step = 0; step < no_region.steps(); ++step) { no_region.region_ns(1, 2, step) = 3'500 * kVerdictUs; }
  std::string text;
  const auto add_to_text = [&text](const RankVerdict& verdict) {
    text += verdict.finding.sentence + "\n";
    takt::Finding named = verdict.finding;  // the group's name contains a number
    const std::size_t name = verdict.group.empty() ? std::string::npos : named.sentence.find(verdict.group);
    if (name != std::string::npos) { named.sentence.erase(name, verdict.group.size()); }
    CHECK(takt_test::numbers_without_evidence(named) == std::string());
  };
  add_to_text(only_verdict(by_hand()));
  add_to_text(only_verdict(no_region));
  SimulatedJob host;
  host.ranks = 16;
  host.ranks_per_host = 4;
  host.slow = {4, 5, 6, 7};
  host.slower = 0.2;
  SimulatedJob several = host;
  several.slow = {1, 9};
  SimulatedJob turns;
  turns.ranks = 4;
  turns.bursts = turns.shared_bursts = 0;
  turns.taking_turns = true;
  SimulatedJob alike;
  alike.ranks = 4;
  alike.bursts = 0;
  SimulatedJob few = alike;
  few.steps = kMinComparedSteps - 1;
  SimulatedJob alone;
  alone.ranks = 1;
  for (const SimulatedJob& each : {host, several, turns, alike, few, alone}) {
    add_to_text(only_verdict(simulate(each, 1)));
  }
  for (const RankVerdict& each : verdicts_of(pipeline(true, 6))) { add_to_text(each); }
  check_golden("verdicts.txt", text);
}

// Results against the truth. Always the same numbers, so that it cannot fail by chance.

TEST_CASE("Verdict: finds a slow rank, its region and its cost among noise and bursts") {
  int runs = 0;
  int near = 0;
  int inside = 0;
  for (const std::size_t ranks : {2U, 4U, 16U, 64U}) {
    for (const auto& [slower, steps] : {std::pair{0.2, 60U}, {0.05, 1000U}}) {
      int named = 0;
      int good = 0;  // costs within 10 %, or inside their interval
      for (int round = 0; round < repeats(); ++round) {
        SimulatedJob job;
        job.ranks = ranks;
        job.steps = steps;
        job.slow = {static_cast<std::size_t>(round) % ranks};
        job.slower = slower;
        double injected_ns = 0;
        const RankVerdict verdict = only_verdict(simulate(job, 1000 + static_cast<std::uint64_t>(round), &injected_ns));
        if (verdict.slowdown.ranks != job.slow || verdict.slowdown.region != "Backward") { continue; }
        ++named;
        const takt::Cost& cost = *verdict.finding.cost;
        good += slower == 0.2 ? std::fabs(cost.ns / injected_ns - 1) <= 0.1
                              : cost.low_ns <= injected_ns && injected_ns <= cost.high_ns;
      }
      INFO(ranks << " ranks, +" << 100 * slower << " % in " << steps << " steps: named " << named << ", cost " << good
                 << " of " << repeats());
      CHECK(100 * (repeats() - named) <= repeats());
      // The noise of two ranks moves a cost of 20 % over 60 steps by 4.6 % of it, so that one of thirty is beyond 10 %.
      // Intervals cover 95 %.
      CHECK(good >= 0.88 * repeats());
      runs += slower == 0.2 ? repeats() : 0;
      (slower == 0.2 ? near : inside) += good;
    }
  }
  CHECK(near >= 0.95 * runs);
  CHECK(inside >= 0.92 * runs);
}

TEST_CASE("Verdict: names no rank if none is slow") {
  for (const std::size_t ranks : {2U, 4U, 16U, 64U}) {
    for (const std::size_t steps : {60U, 1000U}) {
      const int rounds = 5 * repeats();
      int named = 0;
      for (int round = 0; round < rounds; ++round) {
        SimulatedJob job;
        job.ranks = ranks;
        job.steps = steps;
        named += only_verdict(simulate(job, 5000 + static_cast<std::uint64_t>(round))).state == RanksAre::slowed;
      }
      INFO(ranks << " ranks, " << steps << " steps: somebody in " << named << " of " << rounds);
      CHECK(100 * named <= rounds);
    }
  }
}
