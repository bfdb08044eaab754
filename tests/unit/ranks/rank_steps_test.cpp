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
using takt::detail::RankSteps;
using takt::detail::StepTimes;

namespace {

constexpr std::uint32_t kBatch = 1;
constexpr std::uint32_t kForward = 2;
constexpr std::uint32_t kComm = 3;

/// Epoch > Batch > Forward > Comm, and no rows.
Snapshot some_rank() {
  Snapshot snapshot;
  add_thread(snapshot, "main");
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  const std::uint32_t batch = add_path(snapshot, "Batch", epoch);
  const std::uint32_t forward = add_path(snapshot, "Forward", batch, takt::Kind::compute);
  add_path(snapshot, "Comm", forward, takt::Kind::comm);
  add_series(snapshot, kBatch, 0);
  return snapshot;
}

/// A step of 900 ns, 700 of them in Forward, of which 300 in Comm.
takt::Row& add_step(Snapshot& snapshot, std::int64_t number, std::uint32_t series = 0) {
  takt::Row& row = add_row(snapshot, series, 0);
  row.step = number;
  row.cells = {{kForward, 1, 700}, {kComm, 1, 300}};
  return row;
}

RankSteps steps_of(const Snapshot& snapshot, std::size_t most = 1000) {
  RankSteps steps(most);
  steps.add(snapshot);
  return steps;
}

std::vector<std::int64_t> kept(const RankSteps& steps) {
  std::vector<std::int64_t> numbers;
  for (const auto& each : steps.main_batches()->steps) { numbers.push_back(each.first); }
  return numbers;
}

}  // namespace

TEST_CASE("Rank steps: a region has what those inside it did not take") {
  Snapshot snapshot = some_rank();
  add_step(snapshot, 5).cells.push_back({takt::Cell::kOther, 2, 50});
  const RankSteps steps = steps_of(snapshot);
  const StepTimes times = takt::detail::step_times_of({{{7, "n1", ""}, &steps}});
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

TEST_CASE("Rank steps: warm-up is left out, and the first of equal numbers counts") {
  Snapshot snapshot = some_rank();
  add_step(snapshot, 1).warmup = true;
  add_step(snapshot, 2);
  add_step(snapshot, 2).host_ns = 5000;
  const RankSteps steps = steps_of(snapshot);
  CHECK(kept(steps) == std::vector<std::int64_t>{2});
  CHECK(steps.main_batches()->steps.at(2).ns == 900);
}

TEST_CASE("Rank steps: of many every rank keeps the same ones, whatever the numbers have in common") {
  for (const std::int64_t stride : {1, 2, 1000, 1 << 20}) {
    Snapshot one = some_rank();
    Snapshot other = some_rank();
    for (std::int64_t step = 0; step < 5000; ++step) {
      add_step(one, step * stride + 1);
      if (step >= 2000) { add_step(other, step * stride + 1); }
    }
    const RankSteps many = steps_of(one, 100);
    const RankSteps fewer = steps_of(other, 100);
    CHECK(many.main_batches()->steps.size() <= 100);
    CHECK(many.main_batches()->steps.size() > 20);
    CHECK(many.main_batches()->stride >= 64);
    CHECK(many.main_batches()->rows == 5000);
    const StepTimes times = takt::detail::step_times_of({{{0, "", ""}, &many}, {{1, "", ""}, &fewer}});
    CHECK(times.ranks().size() == 2);
    CHECK(times.steps() > 15);
  }
}

TEST_CASE("Rank steps: the series with most rows is compared, at one place for all ranks") {
  Snapshot two = some_rank();
  add_thread(two, "second");
  add_series(two, kBatch, 1);
  add_step(two, 1, 0);
  for (std::int64_t step = 10; step < 20; ++step) { add_step(two, step, 1); }
  const RankSteps steps = steps_of(two);
  CHECK(kept(steps).front() == 10);
  Snapshot elsewhere = some_rank();
  elsewhere.paths[0].name = "Warmup";
  add_step(elsewhere, 10);
  const RankSteps others = steps_of(elsewhere);
  const RankSteps none = steps_of(some_rank());
  CHECK(none.main_batches() == nullptr);
  const StepTimes times =
      takt::detail::step_times_of({{{0, "", ""}, &steps}, {{1, "", ""}, &others}, {{2, "", ""}, &none}});
  REQUIRE(times.ranks().size() == 1);
  CHECK(times.steps() == 10);
  CHECK(takt::detail::step_times_of({}).ranks().empty());
}

TEST_CASE("Rank steps: regions are the same where their names are, though ranks met them in another order") {
  Snapshot one = some_rank();
  add_step(one, 1);
  Snapshot other = some_rank();
  other.paths[kComm].parent = kBatch;  // Batch/Comm
  add_step(other, 1).cells = {{kComm, 1, 20}, {kForward, 1, 30}};
  const RankSteps a = steps_of(one);
  const RankSteps b = steps_of(other);
  const StepTimes times = takt::detail::step_times_of({{{0, "", ""}, &a}, {{1, "", ""}, &b}});
  REQUIRE(times.regions().size() == 3);
  CHECK(times.regions()[0].name == "Forward");
  CHECK(times.region_ns(0, 1, 0) == 30);
  CHECK(times.regions()[2].name == "Comm");
  CHECK(times.region_ns(2, 0, 0) == 0);
  CHECK(times.region_ns(2, 1, 0) == 20);
}
