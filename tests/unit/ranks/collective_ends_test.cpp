// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_alignment.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace takt_test;
using takt::Cell;
using takt::Kind;
using takt::Row;
using takt::Snapshot;
using takt::detail::align_ranks;
using takt::detail::CollectiveEnds;
using takt::detail::RankAlignment;

namespace {

constexpr std::int64_t kCollectiveEndsStart = 1'700'000'000'000'000'000;

enum : std::uint32_t { kBatch, kBackward, kInner, kComm, kOptimizer };

/// Returns Batch with Backward > Comm, then Comm and Optimizer.
Snapshot rank_without_rows() {
  Snapshot snapshot;
  snapshot.run.start_unix_ns = kCollectiveEndsStart;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  add_path(snapshot, "Backward", kBatch, Kind::compute);
  add_path(snapshot, "Inner", kBackward, Kind::comm);
  add_path(snapshot, "Comm", kBatch, Kind::comm);
  add_path(snapshot, "Optimizer", kBatch, Kind::compute);
  return snapshot;
}

/// Adds a step of 1,000 ns that starts 1,000 ns after the previous one.
Row& add_step(Snapshot& snapshot, std::uint64_t step, std::vector<Cell> cells) {
  Row& row = add_row(snapshot, 0, step);
  row.host_ns = 1000;
  row.cells = std::move(cells);
  return row;
}

CollectiveEnds ends_of(const Snapshot& snapshot, std::size_t max = 4096) {
  CollectiveEnds ends(max);
  ends.add(snapshot);
  return ends;
}

CollectiveEnds::End end_of(const CollectiveEnds& ends, const std::string& path, std::int64_t step = 0) {
  for (const CollectiveEnds::Collective& each : ends.collectives()) {
    if (each.path == path) { return each.steps.at(step); }
  }
  FAIL("no collective " << path);
  return {};
}

/// Returns 100 steps in which all ranks leave Comm together, on a clock that is `ahead` and with a given Optimizer
/// time.
Snapshot rank_ahead(std::int64_t ahead, std::int64_t optimizer_ns) {
  Snapshot snapshot = rank_without_rows();
  for (std::uint64_t step = 0; step < 100; ++step) {
    const auto varies = static_cast<std::int64_t>(step * 7919 % 100);
    Row& row = add_step(snapshot, step, {{kComm, 1, 500, -1}, {kOptimizer, 1, optimizer_ns + varies, -1}});
    row.host_ns = 500 + optimizer_ns + varies;
    row.begin_ns = static_cast<std::int64_t>(step) * 1'000'000 + ahead;
  }
  return snapshot;
}

}  // namespace

TEST_CASE("Collective ends: a collective ends before later regions, with an error for uncovered time") {
  Snapshot snapshot = rank_without_rows();
  add_step(snapshot, 0, {{kBackward, 1, 600, -1}, {kComm, 1, 200, -1}, {kOptimizer, 1, 150, -1}});
  const CollectiveEnds::End end = end_of(ends_of(snapshot), "Batch/Comm");
  CHECK(end.ns == kCollectiveEndsStart + 1000 - 150 - 25);
  CHECK(end.unknown_ns == 50);
}

TEST_CASE("Collective ends: inside another region, the error includes that region and later ones") {
  Snapshot snapshot = rank_without_rows();
  add_step(snapshot, 0, {{kBackward, 1, 600, -1}, {kInner, 1, 500, -1}, {kOptimizer, 1, 400, -1}});
  const CollectiveEnds::End end = end_of(ends_of(snapshot), "Batch/Backward/Inner");
  CHECK(end.ns == kCollectiveEndsStart + 1000 - 400 - 50);
  CHECK(end.unknown_ns == 100);
}

TEST_CASE("Collective ends: the last of several calls in a step may be before or after later regions") {
  Snapshot snapshot = rank_without_rows();
  add_step(snapshot, 0, {{kBackward, 2, 600, -1}, {kComm, 2, 200, -1}, {kOptimizer, 1, 200, -1}});
  const CollectiveEnds::End end = end_of(ends_of(snapshot), "Batch/Comm");
  CHECK(end.ns == kCollectiveEndsStart + 1000 - 100);
  CHECK(end.unknown_ns == 200);
}

TEST_CASE("Collective ends: are empty for steps without the collective, other kinds and other Batches") {
  Snapshot snapshot = rank_without_rows();
  add_path(snapshot, "Elsewhere", takt::kNoIndex, Kind::comm);
  add_step(snapshot, 0, {{kBackward, 1, 600, -1}, {kComm, 0, 0, 77}, {5, 1, 10, -1}, {takt::kNoIndex, 1, 5, -1}});
  CHECK(ends_of(snapshot).collectives().empty());
}

TEST_CASE("Collective ends: all ranks keep the same of many steps and report that") {
  const CollectiveEnds all = ends_of(rank_ahead(0, 300));
  const CollectiveEnds some = ends_of(rank_ahead(5000, 900), 64);
  REQUIRE(some.collectives().size() == 1);
  CHECK(some.collectives()[0].steps.size() <= 64);
  CHECK(some.collectives()[0].stride > 1);
  const RankAlignment alignment = align_ranks(some, all);
  CHECK(alignment.ends == some.collectives()[0].steps.size());
  CHECK_FALSE(alignment.all_steps);
  CHECK(align_ranks(ends_of(rank_ahead(5000, 900)), all).all_steps);
}

TEST_CASE("Collective ends: reveal a clock that is ahead regardless of later work") {
  const CollectiveEnds first = ends_of(rank_ahead(0, 300));
  const RankAlignment alignment = align_ranks(ends_of(rank_ahead(86'400'000'000'000, 100'000)), first);
  REQUIRE(alignment.clock.is_known());
  CHECK(alignment.path == "Batch/Comm");
  CHECK(alignment.ends == 100);
  const std::int64_t there = kCollectiveEndsStart + 86'400'000'000'000 + 50'000'000;
  CHECK(alignment.clock.other_ns(there) - (kCollectiveEndsStart + 50'000'000) <= alignment.error_ns(there));
  CHECK(alignment.clock.other_ns(there) - (kCollectiveEndsStart + 50'000'000) >= -alignment.error_ns(there));
  CHECK(alignment.error_ns(there) < 100);
}

TEST_CASE("Collective ends: use the collective with the smaller error") {
  Snapshot first = rank_ahead(0, 300);
  Snapshot other = rank_ahead(5000, 300);
  for (Snapshot* each : {&first, &other}) {
    for (Row& row : each->rows) {
      row.host_ns += 1000;  // Backward, which contains Inner at any position
      row.cells.push_back({kBackward, 1, 1000, -1});
      row.cells.push_back({kInner, 1, 100, -1});
    }
  }
  const RankAlignment alignment = align_ranks(ends_of(other), ends_of(first));
  REQUIRE(alignment.clock.is_known());
  CHECK(alignment.path == "Batch/Comm");
  CHECK(alignment.unknown_ns < 10);
}

TEST_CASE("Collective ends: give nothing without a common collective") {
  Snapshot none = rank_without_rows();
  for (std::uint64_t step = 0; step < 100; ++step) { add_step(none, step, {{kOptimizer, 1, 900, -1}}); }
  const RankAlignment alignment = align_ranks(ends_of(none), ends_of(rank_ahead(0, 300)));
  CHECK_FALSE(alignment.clock.is_known());
  CHECK(alignment.path.empty());
}

TEST_CASE("Collective ends: impossible readings give a result without overflow") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  Snapshot snapshot = rank_without_rows();
  for (std::uint64_t step = 0; step < 40; ++step) {
    Row& row = add_step(snapshot, step, {{kComm, 1, step % 2 == 0 ? kMax : kMin, -1}, {kOptimizer, 1, kMax, -1}});
    row.begin_ns = step % 3 == 0 ? kMin : kMax;
    row.host_ns = step % 5 == 0 ? kMin : kMax;
  }
  const CollectiveEnds ends = ends_of(snapshot);
  const RankAlignment alignment = align_ranks(ends, ends_of(rank_ahead(0, 300)));
  CHECK(alignment.error_ns(kMax) > 0);
  CHECK(alignment.error_ns(kMin) > 0);
}

TEST_CASE("Collective ends: adversarial step numbers, which all hash alike, do not delay it") {
  Snapshot snapshot = rank_without_rows();
  for (std::uint64_t step = 1; step < 200; ++step) {
    // Inverts the hash's multiplication, so that all numbers give the same bits.
    Row& row = add_step(snapshot, step, {{kComm, 1, 500, -1}});
    row.step = static_cast<std::int64_t>(step * 0xF1DE83E19937733DU);
  }
  const CollectiveEnds ends = ends_of(snapshot, 64);
  REQUIRE(ends.collectives().size() == 1);
  CHECK(ends.collectives()[0].steps.size() <= 64);
}
