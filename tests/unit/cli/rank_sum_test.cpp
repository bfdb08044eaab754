// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_report.hpp"

#include "report/sample_notes.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace takt_test;
using takt::Snapshot;

namespace {

/// Returns Epoch > (children, in this order), each called as often as its position says.
Snapshot rank_with(int rank, const std::vector<std::string>& children) {
  Snapshot snapshot;
  snapshot.run.rank = rank;
  snapshot.run.world_size = 2;
  snapshot.wall_ns = 100 * (rank + 1);
  snapshot.finished = true;
  add_thread(snapshot, "main");
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  snapshot.paths[epoch].host.add(50);
  for (const std::string& name : children) {
    const std::uint32_t path = add_path(snapshot, name, epoch);
    for (std::uint32_t call = 0; call < path; ++call) { snapshot.paths[path].host.add(10); }
  }
  add_series(snapshot, epoch, 0);
  snapshot.open.push_back({static_cast<std::uint32_t>(children.size()), 0, 7});
  return snapshot;
}

Snapshot sum_of(const std::vector<Snapshot>& ranks) {
  takt::cli::RankSum sum;
  for (const Snapshot& each : ranks) { sum.add(each); }
  return sum.take();
}

std::vector<std::string> names(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) { out.push_back(snapshot.path_name(path)); }
  return out;
}

}  // namespace

TEST_CASE("Rank sum: adds up ranks by path for any order of paths") {
  const Snapshot sum = sum_of({rank_with(0, {"A", "B"}), rank_with(1, {"C", "B", "A"})});
  CHECK(names(sum) == std::vector<std::string>{"Epoch", "Epoch/A", "Epoch/B", "Epoch/C"});
  CHECK(sum.paths[0].host.n() == 2);
  CHECK(sum.share_of_parent(0) == 100.0 / (2 * 200));  // of the wall time of each of the two ranks
  CHECK(sum.paths[1].host.n() == 1 + 3);
  CHECK(sum.paths[2].host.n() == 2 + 2);
  CHECK(sum.paths[2].host.total_ns() == 40);
  CHECK(sum.wall_ns == 200);
  CHECK(sum.run.rank == -1);
  CHECK(sum.run.world_size == 2);
  REQUIRE(sum.open.size() == 2);
  CHECK(sum.path_name(sum.open[0].path) == "Epoch/B");
  CHECK(sum.path_name(sum.open[1].path) == "Epoch/A");
  CHECK(sum.threads[sum.open[1].thread].name == "rank 1, main");
  CHECK(sum.threads[sum.series[1].thread].name == "rank 1, main");
}

TEST_CASE("Rank sum: the threads of all ranks, the longest of them, and the memory of regions") {
  std::vector<Snapshot> ranks = {rank_with(0, {"A", "B"}), rank_with(1, {"B", "A"}), rank_with(2, {"A"})};
  ranks[0].paths[1].spread = {2, 0, 6};
  ranks[1].paths[2].spread = {1, 0, 20};
  ranks[2].paths[1].spread = {3, 0, 4};
  ranks[1].paths[1].spread = {1, 0, 10};
  ranks[0].region_memories = {{"A", {1, 5, 5, 100}, {}}};
  ranks[1].region_memories = {{"B", {1, 1, 1, 1}, {}}, {"A", {2, -7, -3, 90}, {1, -2, -2, 8}}};
  const Snapshot sum = sum_of(ranks);
  CHECK(sum.path_name(1) == "Epoch/A");
  CHECK(sum.paths[1].spread.threads == 6);
  CHECK(sum.paths[1].spread.longest_ns == 20);
  CHECK(sum.threads.at(sum.paths[1].spread.longest).name == "rank 1, main");
  CHECK(sum.paths[2].spread.threads == 1);
  CHECK(sum.threads.at(sum.paths[2].spread.longest).name == "rank 1, main");
  CHECK(sum.paths[0].spread.threads == 0);
  REQUIRE(sum.region_memories.size() == 2);
  const takt::RegionMemory& a = sum.region_memories[0];
  CHECK(a.resident.calls == 3);
  CHECK(a.resident.change_bytes == -2);
  CHECK(a.resident.max_change_bytes == 5);
  CHECK(a.resident.peak_bytes == 100);
  CHECK(a.allocator.calls == 1);
  CHECK(a.allocator.max_change_bytes == -2);
}

TEST_CASE("Rank sum: lists kinds of devices once, or by rank if ranks differ") {
  std::vector<Snapshot> ranks;
  for (int rank = 0; rank < 4; ++rank) { ranks.push_back(rank_with(rank, {})); }
  for (const int rank : {0, 1}) { ranks[static_cast<std::size_t>(rank)].devices = {{"cuda", "", "one queue"}}; }
  for (const int rank : {2, 3}) { ranks[static_cast<std::size_t>(rank)].devices = {{"cuda", "no driver", ""}}; }
  const Snapshot sum = sum_of(ranks);
  REQUIRE(sum.devices.size() == 2);
  CHECK(sum.devices[0].name == "cuda");
  CHECK(sum.devices[0].caveat == "one queue");
  CHECK(sum.devices[1].name == "cuda (rank 2)");
  CHECK(sum.devices[1].unavailable == "no driver");
}

TEST_CASE("Rank sum: lists time lines of devices for each rank") {
  std::vector<Snapshot> ranks = {rank_with(0, {}), rank_with(1, {})};
  for (Snapshot& each : ranks) {
    each.time_lines.emplace_back().device = "cuda";
    each.time_lines.back().steps = 3;
  }
  const Snapshot sum = sum_of(ranks);
  REQUIRE(sum.time_lines.size() == 2);
  CHECK(sum.time_lines[0].device == "rank 0, cuda");
  CHECK(sum.time_lines[1].device == "rank 1, cuda");
  CHECK(sum.time_lines[1].steps == 3);
  CHECK(sum.time_lines[1].overlap.time_line == 1);
}

TEST_CASE("Rank sum: a path is below its parent even if only one rank has it and reads late") {
  Snapshot late = rank_with(1, {"A"});
  const std::uint32_t top = add_path(late, "Decode");
  add_path(late, "deep", 1);
  late.paths[top].host.add(1);
  const Snapshot sum = sum_of({rank_with(0, {"A", "B"}), late});
  CHECK(names(sum) == std::vector<std::string>{"Epoch", "Epoch/A", "Epoch/A/deep", "Epoch/B", "Decode"});
  for (std::uint32_t path = 0; path < sum.paths.size(); ++path) {
    const std::uint32_t parent = sum.paths[path].parent;
    CHECK((parent == takt::kNoIndex || parent < path));
  }
}

TEST_CASE("Rank sum: the same name with another kind is another path") {
  Snapshot other = rank_with(1, {"A"});
  other.paths[1].kind = takt::Kind::io;
  CHECK(names(sum_of({rank_with(0, {"A"}), other})).size() == 3);
}

TEST_CASE("Rank sum: a run has failed if one rank has, and ended if all have") {
  Snapshot failed = rank_with(1, {});
  failed.failed = true;
  CHECK(sum_of({rank_with(0, {}), failed}).failed);
  CHECK_FALSE(sum_of({rank_with(0, {}), failed}).killed);
  failed.killed = true;
  CHECK(sum_of({rank_with(0, {}), failed}).killed);
  failed.finished = false;
  CHECK_FALSE(sum_of({rank_with(0, {}), failed}).finished);
}

TEST_CASE("Rank sum: of samples by several ranks the longest series counts") {
  std::vector<Snapshot> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(rank_with(rank, {}));
    Snapshot& snapshot = ranks.back();
    snapshot.run.host = rank < 2 ? "node0" : "node1";
    const Snapshot sampled = sampled_snapshot(4 + rank % 2, 600);
    snapshot.sensors = sampled.sensors;
    snapshot.sensors[2].id = "process " + std::to_string(rank);
    snapshot.step_energies = sampled.step_energies;
    snapshot.region_energies = sampled.region_energies;
    snapshot.unsampled = sampled.unsampled;
  }
  // Each rank of node1 has its own GPU.
  ranks[3].sensors[0].id = "another";
  const Snapshot sum = sum_of(ranks);
  // A GPU of node0 and two of node1, the CPUs and the machine of each, and four processes.
  REQUIRE(sum.sensors.size() == 3 + 2 + 2 + 4);
  CHECK(sum.sensors[0].name == "rank 1, cuda 0");
  CHECK(sum.sensors[0].energy.joules == 1500);
  CHECK(sum.sensors[1].name == "node0, processors");
  CHECK(sum.sensors[2].name == "rank 0, process");
  CHECK(sum.unsampled.size() == 1);
  // The energy of steps refers to the same rank's series and sensor.
  REQUIRE(sum.step_energies.size() == 3 + 2);
  for (const takt::StepEnergy& each : sum.step_energies) {
    REQUIRE(each.series < sum.series.size());
    REQUIRE(each.sensor < sum.sensors.size());
  }
  CHECK(sum.step_energies[0].series == 1);
  CHECK(sum.step_energies[0].joules == 1500);
  CHECK(sum.region_energies.size() == 3 + 2);
  const takt::detail::EnergyOfSteps steps = takt::detail::energy_of_steps(sum, takt::Sensor::Kind::device);
  CHECK(steps.joules_a_step == Approx((1500 + 1200 + 1500) / 600.0));
}

TEST_CASE("Rank sum: sensors and energies of a damaged journal keep valid references") {
  Snapshot odd = rank_with(0, {});
  odd.sensors = {takt::Sensor(), takt::Sensor()};
  odd.sensors[0].first_ns = std::numeric_limits<std::int64_t>::max();
  odd.sensors[0].last_ns = std::numeric_limits<std::int64_t>::min();
  odd.step_energies.resize(1);
  odd.step_energies[0].sensor = 7;
  odd.region_energies.resize(1);
  odd.region_energies[0].sensor = 7;
  const Snapshot sum = sum_of({odd, odd});
  CHECK(sum.sensors.size() == 4);  // without an id each is separate
  CHECK(sum.step_energies.empty());
  CHECK(sum.region_energies.empty());
}

TEST_CASE("the machine of several ranks is printed once if all agree, else the number of kinds") {
  const auto report_of = [](const std::vector<std::string>& cpus) {
    takt::cli::ReportBuilder builder(true);
    for (int rank = 0; rank < static_cast<int>(cpus.size()); ++rank) {
      takt::cli::Rank each;
      each.snapshot = rank_with(rank, {"A"});
      each.snapshot.run.host = "node" + std::to_string(rank);
      each.snapshot.run.machine.cpu = cpus[static_cast<std::size_t>(rank)];
      each.snapshot.run.machine.command = {"train", std::to_string(rank)};
      builder.add(std::move(each));
    }
    takt::cli::ReadRun run;
    run.ranks = run.world = cpus.size();
    return takt::cli::report_text(builder.finish(std::move(run)), {200, false});
  };
  CHECK(contains(report_of({"EPYC", "EPYC"}), "machine: EPYC\n"));
  CHECK(contains(report_of({"EPYC"}), "machine: node0, EPYC\n"));
  const std::string text = report_of({"EPYC", "Xeon", "EPYC"});
  CHECK_FALSE(contains(text, "machine:"));
  CHECK(mentions(text, {"2", "kinds of machine"}));
  CHECK_FALSE(contains(report_of({"", ""}), "machine"));
}
