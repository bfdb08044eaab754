// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The data that ranks are compared by, as bytes.
#include <takt/error.hpp>

#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_steps.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

using namespace takt_test;
using takt::Cell;
using takt::Kind;
using takt::Snapshot;
using takt::detail::GatheredRank;
using takt::detail::pack;
using takt::detail::pack_rank;
using takt::detail::RankSteps;
using takt::detail::unpack_rank;
using takt::detail::unpack_steps;
using takt::detail::values_of_a_rank;

namespace {

constexpr std::int64_t kRankStepsBytesUs = 1000;

/// Returns Epoch > Batch > Forward, Comm and a stream; and Validation, which is another series.
Snapshot rank_steps_bytes_some_rank() {
  Snapshot snapshot;
  add_thread(snapshot, "main");
  add_thread(snapshot, "second");
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  const std::uint32_t batch = add_path(snapshot, "Batch", epoch);
  add_path(snapshot, "Forward", batch, Kind::compute);
  add_path(snapshot, "Comm", batch, Kind::comm);
  add_path(snapshot, "CommWait", batch, Kind::wait);
  const std::uint32_t validation = add_path(snapshot, "Validation");
  add_series(snapshot, batch, 0);
  add_series(snapshot, validation, 1);
  snapshot.run.rank = 3;
  snapshot.run.host = "n3";
  snapshot.run.groups = {{"stage", 2}, {"tensor", 0}};
  snapshot.params["micro_batches"] = "8";
  return snapshot;
}

/// Adds realistic steps: similar, with noise, and sometimes with other regions.
void add_steps(Snapshot& snapshot, std::int64_t steps) {
  Random random(5);
  const auto noise = [&random] { return static_cast<std::int64_t>(random.below(20)) * kRankStepsBytesUs; };
  for (std::int64_t step = 0; step < steps; ++step) {
    takt::Row& row = add_row(snapshot, step % 10 == 9 ? 1 : 0, 0);
    row.step = step - 20;
    row.host_ns = 1000 * kRankStepsBytesUs + noise();
    row.cells = {{2, 1, 600 * kRankStepsBytesUs + noise(), 500 * kRankStepsBytesUs + noise()},
                 {3, 1, 300 * kRankStepsBytesUs + noise()}};
    if (step % 7 != 0) { row.cells.push_back({4, 1, kRankStepsBytesUs, noise()}); }
    if (step % 31 == 0) { row.cells.push_back({takt::kNoIndex, 2, noise()}); }
  }
}

RankSteps rank_steps_bytes_steps_of(const Snapshot& snapshot, std::size_t max = 100'000) {
  RankSteps steps(max);
  steps.add(snapshot);
  return steps;
}

}  // namespace

TEST_CASE("Steps as bytes: are restored exactly and take about three bytes per value") {
  Snapshot snapshot = rank_steps_bytes_some_rank();
  add_steps(snapshot, 3000);
  for (const std::size_t max : {std::size_t{100'000}, std::size_t{1000}, std::size_t{1}}) {
    const RankSteps steps = rank_steps_bytes_steps_of(snapshot, max);
    const std::string bytes = pack(steps);
    const RankSteps again = unpack_steps(bytes);
    CHECK((pack(again) == bytes));
    CHECK(again.values() == steps.values());
    CHECK(again.stride() == steps.stride());
    CHECK(again.regions().size() == steps.regions().size());
    REQUIRE(again.series().size() == 2);
    for (std::size_t series = 0; series < 2; ++series) {
      CHECK(again.series()[series].path == steps.series()[series].path);
      CHECK(again.series()[series].rows == steps.series()[series].rows);
      REQUIRE(again.series()[series].steps.size() == steps.series()[series].steps.size());
      for (const auto& [number, step] : steps.series()[series].steps) {
        const RankSteps::Step& other = again.series()[series].steps.at(number);
        CHECK(other.ns == step.ns);
        CHECK(other.exposed_ns == step.exposed_ns);
        CHECK(other.regions == step.regions);
      }
    }
    if (max > 10'000) { CHECK(2 * bytes.size() < 7 * steps.values()); }
  }
  CHECK(unpack_steps(pack(RankSteps())).main_batches() == nullptr);
}

TEST_CASE("Steps as bytes: restore any numbers") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Snapshot snapshot = rank_steps_bytes_some_rank();
  for (const std::int64_t number :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, kMax, std::int64_t{0}}) {
    takt::Row& row = add_row(snapshot, 0, 0);
    row.step = number;
    row.host_ns = number;
    row.cells = {{2, 1, kMax, kMax}, {4, 1, number, number}};
  }
  const RankSteps steps = rank_steps_bytes_steps_of(snapshot);
  const RankSteps again = unpack_steps(pack(steps));
  CHECK((pack(again) == pack(steps)));
  CHECK(again.main_batches()->steps.begin()->first == std::numeric_limits<std::int64_t>::min());
  CHECK(again.main_batches()->steps.rbegin()->second.ns == static_cast<std::uint64_t>(kMax));
}

TEST_CASE("Steps as bytes: truncated or foreign bytes are refused or read") {
  Snapshot snapshot = rank_steps_bytes_some_rank();
  add_steps(snapshot, 40);
  const std::string bytes = pack(rank_steps_bytes_steps_of(snapshot));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    REQUIRE_THROWS_AS(unpack_steps(std::string_view(bytes).substr(0, length)), takt::Error);
  }
  CHECK_THROWS_WITH(unpack_steps(bytes + "x"), containing("trailing bytes"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      try {
        const RankSteps read = unpack_steps(changed);
        CHECK(read.series().size() < 1000);
      } catch (const takt::Error&) {  // an error is acceptable
      }
    }
  }
}

TEST_CASE("A rank as bytes: restores identity, rates and steps") {
  Snapshot snapshot = rank_steps_bytes_some_rank();
  add_steps(snapshot, 100);
  snapshot.series[0].throughput.steps = 80;
  snapshot.series[0].throughput.items = 5120;
  snapshot.series[0].throughput.items_low = 1.5;
  snapshot.series[0].throughput.no_interval = takt::NoInterval::few_stalls;
  snapshot.series[0].throughput.stalls = 4;
  const RankSteps steps = rank_steps_bytes_steps_of(snapshot);
  const std::string bytes = pack_rank(snapshot, pack(steps));
  const GatheredRank rank = unpack_rank(bytes);
  CHECK(rank.who.number == 3);
  CHECK(rank.who.host == "n3");
  CHECK(rank.who.group == "stage 2, tensor 0");
  CHECK(rank.who.stage == 2);
  CHECK(rank.who.micro_batches == 8);
  REQUIRE(rank.series.size() == 1);  // the other one has no throughput
  CHECK(rank.series[0].path == takt::detail::RankPathName{"Epoch", "Batch"});
  CHECK(rank.series[0].thread == "main");
  CHECK(rank.series[0].throughput.items == 5120);
  CHECK(rank.series[0].throughput.items_low == 1.5);
  CHECK(rank.series[0].throughput.no_interval == takt::NoInterval::few_stalls);
  CHECK(rank.series[0].throughput.stalls == 4);
  CHECK((pack(rank.steps) == pack(steps)));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    REQUIRE_THROWS_AS(unpack_rank(std::string_view(bytes).substr(0, length)), takt::Error);
  }
  CHECK_THROWS_AS(unpack_rank(bytes + "x"), takt::Error);
}

TEST_CASE("A rank as bytes: restores its trials") {
  Snapshot snapshot = rank_steps_bytes_some_rank();
  takt::TrialResults trials;
  trials.unit = "samples";
  trials.took_ns = 7;
  takt::TrialRate& rate = trials.of(takt::TrialKind::io);
  rate.trials = rate.n = 2;
  rate.steps = 40;
  rate.items = 320;
  rate.ns = 1000;
  rate.interval = takt::TrialInterval{3e8, 4e8};
  rate.over_trials = true;
  rate.each = {{20, 160, 400, 4e8}, {20, 160, 600, 2.7e8}};
  rate.begin_unix_ns = -5;
  snapshot.trials = std::make_shared<const takt::TrialResults>(trials);
  const std::string bytes = pack_rank(snapshot, pack(RankSteps()));
  const GatheredRank rank = unpack_rank(bytes);
  REQUIRE(rank.trials);
  const takt::TrialRate& io = rank.trials->of(takt::TrialKind::io);
  CHECK((io.trials == 2 && io.steps == 40 && io.items == 320 && io.ns == 1000 && io.n == 2 && io.over_trials));
  REQUIRE(io.interval);
  CHECK((io.interval->low == 3e8 && io.interval->high == 4e8 && io.begin_unix_ns == -5));
  REQUIRE(io.each.size() == 2);
  CHECK((io.each[1].ns == 600 && io.each[1].per_s == 2.7e8));
  CHECK_FALSE(rank.trials->of(takt::TrialKind::full).interval);
  CHECK((rank.trials->unit == "samples" && rank.trials->took_ns == 7));
  const std::size_t without = pack_rank(rank_steps_bytes_some_rank(), pack(RankSteps())).size();
  CHECK_FALSE(unpack_rank(std::string_view(bytes).substr(0, without)).trials);
  for (std::size_t length = without + 1; length < bytes.size(); ++length) {
    REQUIRE_THROWS_AS(unpack_rank(std::string_view(bytes).substr(0, length)), takt::Error);
  }
}

TEST_CASE("Steps: the data of all ranks together is bounded for any number of ranks") {
  CHECK(values_of_a_rank(0) == 65'536);
  CHECK(values_of_a_rank(1) == 65'536);
  CHECK(values_of_a_rank(128) == 65'536);
  CHECK(values_of_a_rank(256) == 32'768);
  CHECK(values_of_a_rank(8192) == 1024);
  CHECK(values_of_a_rank(32'768) == 1024);
  for (const std::size_t ranks : {100'000U, 1'000'000U}) {
    CHECK(values_of_a_rank(ranks) * ranks <= takt::detail::kMaxComparedValues);
    CHECK(values_of_a_rank(ranks) * ranks > takt::detail::kMaxComparedValues / 2);
  }
}
