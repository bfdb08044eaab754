// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Ranks that work on streams: stream waits for other ranks count as waiting.
#include "ranks/rank_comparison.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/random.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace takt_test;
using takt::Cell;
using takt::Kind;
using takt::RankComparison;
using takt::Row;
using takt::Snapshot;
using takt::detail::ComparedSteps;
using takt::detail::RankOfJob;
using takt::detail::RankSteps;
using takt::detail::step_times_of;
using takt::detail::StepTimes;

namespace {

constexpr std::int64_t kExposedWaitsMs = 1'000'000;
constexpr std::uint32_t kBackward = 1;
constexpr std::uint32_t kComm = 2;
constexpr std::uint32_t kCommWait = 3;
constexpr std::uint32_t kIoWait = 4;
constexpr std::uint32_t kSync = 5;

/// Returns Batch > Backward > Comm on a side stream and CommWait, IOWait, and Sync, in which the host waits.
Snapshot some_gpu_rank() {
  Snapshot snapshot;
  add_thread(snapshot, "main");
  const std::uint32_t batch = add_path(snapshot, "Batch");
  add_path(snapshot, "Backward", batch, Kind::compute);
  add_path(snapshot, "Comm", kBackward, Kind::comm);
  add_path(snapshot, "CommWait", kBackward, Kind::wait);
  add_path(snapshot, "IOWait", batch, Kind::wait);
  add_path(snapshot, "Sync", batch, Kind::wait);
  add_series(snapshot, batch, 0);
  return snapshot;
}

/// Adds a step of 100 ms: `computes_ms` of Backward on the stream, then `waits_ms` of CommWait, while Comm runs
/// separately.
Row& exposed_waits_add_step(Snapshot& snapshot, std::int64_t number, std::int64_t computes_ms, std::int64_t waits_ms) {
  Row& row = add_row(snapshot, 0, static_cast<std::uint64_t>(number));
  row.host_ns = 100 * kExposedWaitsMs;
  row.cells = {{kBackward, 1, 3 * kExposedWaitsMs, (computes_ms + waits_ms) * kExposedWaitsMs},
               {kComm, 1, kExposedWaitsMs, (waits_ms + 10) * kExposedWaitsMs},
               {kCommWait, 1, kExposedWaitsMs, waits_ms * kExposedWaitsMs}};
  return row;
}

RankSteps steps_of(const Snapshot& snapshot) {
  RankSteps steps(100'000);
  steps.add(snapshot);
  return steps;
}

/// Compares these ranks, which have one step each.
ComparedSteps compared(const std::vector<Snapshot>& snapshots) {
  std::vector<RankSteps> steps;
  for (const Snapshot& each : snapshots) { steps.push_back(steps_of(each)); }
  std::vector<RankOfJob> ranks;
  for (std::uint32_t rank = 0; rank < steps.size(); ++rank) { ranks.push_back({{rank, "", ""}, &steps[rank]}); }
  return step_times_of(ranks);
}

std::uint64_t ms(std::uint64_t ns) { return ns / static_cast<std::uint64_t>(kExposedWaitsMs); }

std::uint64_t region_ms(const StepTimes& times, const std::string& label) {
  for (std::size_t region = 0; region < times.regions().size(); ++region) {
    if (times.regions()[region].label() == label) { return ms(times.region_ns(region, 0, 0)); }
  }
  FAIL("no region " << label);
  return 0;
}

}  // namespace

TEST_CASE(
    "Exposed waits: a stream that waits for others is not busy, and a concurrent host wait is not counted twice") {
  Snapshot snapshot = some_gpu_rank();
  exposed_waits_add_step(snapshot, 0, 70, 20);
  CHECK(ms(compared({snapshot}).times.exposed_ns(0, 0)) == 20);
  CHECK(ms(compared({snapshot}).times.busy_ns(0, 0)) == 80);
  snapshot.rows[0].cells.push_back({kSync, 1, 15 * kExposedWaitsMs});
  CHECK(ms(compared({snapshot}).times.busy_ns(0, 0)) == 80);  // 1 + 15 ms on the host, 20 ms on the stream
  snapshot.rows[0].cells.back().host_ns = 50 * kExposedWaitsMs;
  CHECK(ms(compared({snapshot}).times.busy_ns(0, 0)) == 48);  // 1 ms in each of Comm and CommWait
}

TEST_CASE("Exposed waits: a stream's wait for data counts as the rank's own time") {
  Snapshot snapshot = some_gpu_rank();
  exposed_waits_add_step(snapshot, 0, 70, 20).cells.push_back({kIoWait, 1, 0, 30 * kExposedWaitsMs});
  CHECK(ms(compared({snapshot}).times.exposed_ns(0, 0)) == 20);
  snapshot.paths[kSync].kind = Kind::wait;  // a wait for any reason
  snapshot.rows[0].cells.push_back({kSync, 1, 0, 5 * kExposedWaitsMs});
  CHECK(ms(compared({snapshot}).times.exposed_ns(0, 0)) == 25);
}

TEST_CASE("Exposed waits: waits of several devices longer than the step do not make busy time negative") {
  Snapshot snapshot = some_gpu_rank();
  exposed_waits_add_step(snapshot, 0, 70, 20).cells.back().device_ns = 400 * kExposedWaitsMs;
  CHECK(compared({snapshot}).times.busy_ns(0, 0) == 0);
}

TEST_CASE("Exposed waits: a region has its stream time without the waits inside it") {
  Snapshot snapshot = some_gpu_rank();
  exposed_waits_add_step(snapshot, 0, 70, 20);
  const StepTimes times = compared({snapshot}).times;
  CHECK(region_ms(times, "Backward (on streams)") == 70);
  CHECK(region_ms(times, "Backward/Comm (on streams)") == 30);
  CHECK(region_ms(times, "Backward") == 1);
  CHECK(ms(times.rest_ns(0, 0)) == 97);  // of the host alone
}

TEST_CASE("Exposed waits: data that some ranks lack counts on no rank") {
  Snapshot reports = some_gpu_rank();
  exposed_waits_add_step(reports, 0, 70, 20);
  Snapshot silent = reports;
  SECTION("no region says why the stream waited") { silent.rows[0].cells.pop_back(); }
  SECTION("values are missing") { silent.rows[0].complete = false; }
  SECTION("only waits for data are known") { silent.rows[0].cells.back() = {kIoWait, 1, 0, kExposedWaitsMs}; }
  const ComparedSteps both = compared({reports, silent});
  CHECK(both.unexposed == 1);
  CHECK(both.times.exposed_ns(0, 0) == 0);
  CHECK(both.times.exposed_ns(1, 0) == 0);
  CHECK(compared({reports, reports}).unexposed == 0);
}

TEST_CASE("Exposed waits: a rank without streams uses host waits") {
  Snapshot host = some_gpu_rank();
  exposed_waits_add_step(host, 0, 0, 0).cells = {{kBackward, 1, 60 * kExposedWaitsMs},
                                                 {kSync, 1, 40 * kExposedWaitsMs}};
  Snapshot device = some_gpu_rank();
  exposed_waits_add_step(device, 0, 70, 20);
  const ComparedSteps both = compared({host, device});
  CHECK(both.unexposed == 0);
  CHECK(ms(both.times.busy_ns(0, 0)) == 60);
  CHECK(ms(both.times.busy_ns(1, 0)) == 80);
}

TEST_CASE("Exposed waits: names the rank whose stream computes longer even if hosts are alike") {
  constexpr std::uint32_t kSlow = 2;
  Random random(7);
  std::vector<RankSteps> steps;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    Snapshot snapshot = some_gpu_rank();
    for (std::int64_t step = 0; step < 60; ++step) {
      Row& row = exposed_waits_add_step(snapshot, step, rank == kSlow ? 90 : 70, rank == kSlow ? 5 : 25);
      const auto noise = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(kExposedWaitsMs)));
      row.cells[0].device_ns += noise;
      row.host_ns += noise;
    }
    steps.push_back(steps_of(snapshot));
  }
  std::vector<RankOfJob> ranks;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ranks.push_back({{rank, "n" + std::to_string(rank), ""}, &steps[rank]});
  }
  const RankComparison comparison = takt::detail::compare_ranks(ranks);
  REQUIRE(comparison.findings.size() == 1);
  const takt::Finding& finding = comparison.findings[0];
  INFO(finding.sentence);
  CHECK(finding.what == "slow_rank");
  CHECK(takt_test::mentions(finding.sentence, {"rank 2", "n2", "Backward (on streams)", "Backward/Comm"}));
  CHECK(finding.sentence.find(" 20.") != std::string::npos);  // plus a fraction of a millisecond
  REQUIRE(finding.cost);
  CHECK(finding.cost->ns == Approx(60 * 20e6).epsilon(0.05));
  CHECK(comparison.steps == 60);
  CHECK(comparison.unexposed == 0);
  CHECK(comparison.efficiency.value().load_balance == Approx((3 * 75 + 95) / 4.0 / 95).epsilon(0.02));
}
