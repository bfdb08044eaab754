// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_steps.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace takt_test;
using takt::Snapshot;
using takt::detail::ComparedSteps;
using takt::detail::RankSteps;
using takt::detail::step_times_of;
using takt::detail::StepTimes;

namespace {

constexpr std::uint32_t kBatch = 1;
constexpr std::uint32_t kForward = 2;
constexpr std::uint32_t kRankStepsComm = 3;

/// Returns Epoch > Batch > Forward > Comm without rows.
Snapshot rank_steps_some_rank() {
  Snapshot snapshot;
  add_thread(snapshot, "main");
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  const std::uint32_t batch = add_path(snapshot, "Batch", epoch);
  const std::uint32_t forward = add_path(snapshot, "Forward", batch, takt::Kind::compute);
  add_path(snapshot, "Comm", forward, takt::Kind::comm);
  add_series(snapshot, kBatch, 0);
  return snapshot;
}

/// Adds a step of 900 ns, with 700 ns in Forward, of which 300 ns are in Comm.
takt::Row& rank_steps_add_step(Snapshot& snapshot, std::int64_t number, std::uint32_t series = 0) {
  takt::Row& row = add_row(snapshot, series, 0);
  row.step = number;
  row.cells = {{kForward, 1, 700}, {kRankStepsComm, 1, 300}};
  return row;
}

RankSteps rank_steps_steps_of(const Snapshot& snapshot, std::size_t max = 100'000) {
  RankSteps steps(max);
  steps.add(snapshot);
  return steps;
}

std::vector<std::int64_t> kept(const RankSteps& steps) {
  std::vector<std::int64_t> numbers;
  for (const auto& each : steps.main_batches()->steps) { numbers.push_back(each.first); }
  return numbers;
}

}  // namespace

TEST_CASE("Rank steps: a region has its time without that of inner regions") {
  Snapshot snapshot = rank_steps_some_rank();
  rank_steps_add_step(snapshot, 5).cells.push_back({takt::kNoIndex, 2, 50});
  const RankSteps steps = rank_steps_steps_of(snapshot);
  const StepTimes times = step_times_of({{{7, "n1", ""}, &steps}}).times;
  REQUIRE(times.steps() == 1);
  REQUIRE(times.regions().size() == 3);
  CHECK(times.ranks()[0].number == 7);
  CHECK(times.step_ns(0, 0) == 900);
  CHECK(times.regions()[0].name == "Forward");
  CHECK(times.region_ns(0, 0, 0) == 400);
  CHECK(times.regions()[1].name == "Forward/Comm");
  CHECK(times.regions()[1].kind == takt::Kind::comm);
  CHECK(times.region_ns(1, 0, 0) == 300);
  CHECK(times.regions()[2].name == "(further paths)");
  CHECK(times.region_ns(2, 0, 0) == 50);
  CHECK(times.busy_ns(0, 0) == 600);
}

TEST_CASE("Rank steps: exclude warm-up and use the first of equal numbers") {
  Snapshot snapshot = rank_steps_some_rank();
  rank_steps_add_step(snapshot, 1).warmup = true;
  rank_steps_add_step(snapshot, 2);
  rank_steps_add_step(snapshot, 2).host_ns = 5000;
  const RankSteps steps = rank_steps_steps_of(snapshot);
  CHECK(kept(steps) == std::vector<std::int64_t>{2});
  CHECK(steps.main_batches()->steps.at(2).ns == 900);
}

TEST_CASE("Rank steps: every rank keeps the same of many steps for any pattern of numbers") {
  for (const std::int64_t stride : {1, 2, 1000, 1 << 20}) {
    Snapshot one = rank_steps_some_rank();
    Snapshot other = rank_steps_some_rank();
    for (std::int64_t step = 0; step < 5000; ++step) {
      rank_steps_add_step(one, step * stride + 1);
      if (step >= 2000) { rank_steps_add_step(other, step * stride + 1); }
    }
    const RankSteps many = rank_steps_steps_of(one, 300);  // of 3 values each
    const RankSteps fewer = rank_steps_steps_of(other, 300);
    CHECK(many.main_batches()->steps.size() <= 100);
    CHECK(many.main_batches()->steps.size() > 20);
    CHECK(many.stride() >= 64);
    CHECK(many.main_batches()->rows == 5000);
    const ComparedSteps compared = step_times_of({{{0, "", ""}, &many}, {{1, "", ""}, &fewer}});
    CHECK(compared.times.ranks().size() == 2);
    CHECK(compared.times.steps() > 15);
    CHECK(compared.every == many.stride());
    CHECK(compared.left_out == 0);
  }
}

TEST_CASE("Rank steps: compare the series with most rows, at one path for all ranks") {
  Snapshot two = rank_steps_some_rank();
  add_thread(two, "second");
  add_series(two, kBatch, 1);
  rank_steps_add_step(two, 1, 0);
  for (std::int64_t step = 10; step < 20; ++step) { rank_steps_add_step(two, step, 1); }
  const RankSteps steps = rank_steps_steps_of(two);
  CHECK(kept(steps).front() == 10);
  Snapshot elsewhere = rank_steps_some_rank();
  elsewhere.paths[0].name = "Warmup";
  rank_steps_add_step(elsewhere, 10);
  const RankSteps others = rank_steps_steps_of(elsewhere);
  const RankSteps none = rank_steps_steps_of(rank_steps_some_rank());
  CHECK(none.main_batches() == nullptr);
  const ComparedSteps compared = step_times_of({{{2, "", ""}, &none}, {{1, "", ""}, &others}, {{0, "", ""}, &steps}});
  REQUIRE(compared.times.ranks().size() == 1);
  CHECK(compared.times.ranks()[0].number == 0);  // equally many ranks are at the other path, with fewer steps
  CHECK(compared.times.steps() == 10);
  CHECK(compared.left_out == 2);
  CHECK(step_times_of({}).times.ranks().empty());
}

TEST_CASE("Rank steps: match regions by name even if ranks first used them in another order") {
  Snapshot one = rank_steps_some_rank();
  rank_steps_add_step(one, 1);
  Snapshot other = rank_steps_some_rank();
  other.paths[kRankStepsComm].parent = kBatch;  // Batch/Comm
  rank_steps_add_step(other, 1).cells = {{kRankStepsComm, 1, 20}, {kForward, 1, 30}};
  const RankSteps a = rank_steps_steps_of(one);
  const RankSteps b = rank_steps_steps_of(other);
  const StepTimes times = step_times_of({{{0, "", ""}, &a}, {{1, "", ""}, &b}}).times;
  REQUIRE(times.regions().size() == 3);
  CHECK(times.regions()[0].name == "Forward");
  CHECK(times.region_ns(0, 1, 0) == 30);
  CHECK(times.regions()[2].name == "Comm");
  CHECK(times.region_ns(2, 0, 0) == 0);
  CHECK(times.region_ns(2, 1, 0) == 20);
}

TEST_CASE("Rank steps: compare the other ranks even if the first rank has its steps elsewhere") {
  Snapshot first = rank_steps_some_rank();
  first.paths[0].name = "Warmup";
  for (std::int64_t step = 0; step < 100; ++step) { rank_steps_add_step(first, step); }
  Snapshot usual = rank_steps_some_rank();
  for (std::int64_t step = 0; step < 40; ++step) { rank_steps_add_step(usual, step); }
  const RankSteps a = rank_steps_steps_of(first);
  const RankSteps b = rank_steps_steps_of(usual);
  const ComparedSteps compared = step_times_of({{{0, "", ""}, &a}, {{1, "", ""}, &b}, {{2, "", ""}, &b}});
  REQUIRE(compared.times.ranks().size() == 2);
  CHECK(compared.times.ranks()[0].number == 1);
  CHECK(compared.times.steps() == 40);
  CHECK(compared.left_out == 1);
}

TEST_CASE("Rank steps: a rank counts with its steps at the common path, even if it has more elsewhere") {
  Snapshot usual = rank_steps_some_rank();
  for (std::int64_t step = 0; step < 40; ++step) { rank_steps_add_step(usual, step); }
  Snapshot both = usual;
  const std::uint32_t place = add_path(both, "Validation");
  const std::uint32_t series = add_series(both, place, 0);
  for (std::int64_t step = 0; step < 90; ++step) { rank_steps_add_step(both, step, series); }
  const RankSteps a = rank_steps_steps_of(both);
  const RankSteps b = rank_steps_steps_of(usual);
  const ComparedSteps compared = step_times_of({{{0, "", ""}, &a}, {{1, "", ""}, &b}, {{2, "", ""}, &b}});
  CHECK(compared.times.ranks().size() == 3);
  CHECK(compared.times.steps() == 40);
  CHECK(compared.left_out == 0);
}

TEST_CASE("Rank steps: the limit is on values, so a step with many regions counts as many") {
  Snapshot snapshot = rank_steps_some_rank();
  for (int region = 0; region < 400; ++region) { add_path(snapshot, "region " + std::to_string(region), kBatch); }
  const std::uint32_t second = add_series(snapshot, 0, 0);
  for (std::int64_t step = 0; step < 64; ++step) {
    takt::Row& row = rank_steps_add_step(snapshot, step, step % 2 == 0 ? 0 : second);
    for (std::uint32_t region = 0; region < 400; ++region) { row.cells.push_back({4 + region, 1, 1}); }
  }
  const RankSteps steps = rank_steps_steps_of(snapshot, 5000);
  CHECK(steps.values() <= 5000);
  CHECK(steps.stride() >= 4);  // 64 steps of 403 values
  std::size_t values = 0;
  for (const RankSteps::Batches& each : steps.series()) {
    for (const auto& [number, step] : each.steps) {
      values += step.values();
      CHECK(takt::detail::is_kept_step(number, steps.stride()));
    }
  }
  CHECK(values == steps.values());
  CHECK(values != 0);
  const RankSteps none = rank_steps_steps_of(snapshot, 100);  // not even one step fits
  CHECK(none.values() == 0);
  CHECK(none.stride() == RankSteps::kMaxStride);
  CHECK(none.main_batches()->rows == 32);
}

TEST_CASE("Rank steps: a comparison beyond its limit of values uses fewer steps and reports that") {
  Snapshot snapshot = rank_steps_some_rank();
  for (std::int64_t step = 0; step < 1000; ++step) { rank_steps_add_step(snapshot, step); }
  const RankSteps steps = rank_steps_steps_of(snapshot);
  const ComparedSteps compared = step_times_of({{{0, "", ""}, &steps}, {{1, "", ""}, &steps}}, 600);
  CHECK(compared.times.steps() <= 100);  // 2 ranks of 3 values each
  CHECK(compared.times.steps() > 20);
  CHECK(compared.every >= 8);
  CHECK(step_times_of({{{0, "", ""}, &steps}}, 2).times.steps() == 0);
}

TEST_CASE("Rank steps: regions of one name and different kinds are two") {
  Snapshot one = rank_steps_some_rank();
  rank_steps_add_step(one, 1);
  Snapshot other = one;
  other.paths[kForward].kind = takt::Kind::wait;
  const RankSteps a = rank_steps_steps_of(one);
  const RankSteps b = rank_steps_steps_of(other);
  const StepTimes times = step_times_of({{{0, "", ""}, &a}, {{1, "", ""}, &b}}).times;
  REQUIRE(times.regions().size() == 3);
  CHECK(times.busy_ns(0, 0) == 600);
  CHECK(times.busy_ns(1, 0) == 200);
}

TEST_CASE("Rank steps: impossible times in a journal saturate") {
  constexpr std::int64_t kMax = INT64_MAX;
  Snapshot snapshot = rank_steps_some_rank();
  rank_steps_add_step(snapshot, 1).cells = {
      {kForward, 1, INT64_MIN}, {kRankStepsComm, 1, kMax}, {kRankStepsComm, 1, kMax}, {kRankStepsComm, 1, kMax}};
  const RankSteps steps = rank_steps_steps_of(snapshot);
  const StepTimes times = step_times_of({{{0, "", ""}, &steps}}).times;
  CHECK(times.region_ns(0, 0, 0) == 0);
  CHECK(times.region_ns(1, 0, 0) == static_cast<std::uint64_t>(kMax));
  CHECK(times.busy_ns(0, 0) == 0);
}
