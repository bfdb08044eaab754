// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_rows.hpp"

#include "support/catch.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/wandb_reader.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_log.hpp"
#include "wandb/wandb_replay.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace takt_test;
using takt::Quantity;
using takt::Sensor;
using takt::detail::SystemMetric;
using takt::detail::wandb_system_metrics;
using takt::detail::WandbLog;
using takt::detail::WandbRecords;
using takt::detail::WandbReplay;

namespace {

/// Returns the resulting value under each name.
std::map<std::string, double> reported_wandb(const Sensor& sensor) {
  const std::map<Quantity, double> values = {{Quantity::utilization, 870},
                                             {Quantity::power, 350'000},
                                             {Quantity::memory, 42.5e9},
                                             {Quantity::temperature, 65'000},
                                             {Quantity::clock, 1800}};
  std::map<std::string, double> found;
  for (const SystemMetric& each : wandb_system_metrics(sensor)) {
    found[each.name] = (values.at(each.quantity) - each.less) * each.scale;
  }
  return found;
}

}  // namespace

TEST_CASE("W&B system metrics: an NVIDIA GPU has the names and units of W&B's own client") {
  Sensor gpu = sampled_gpu("cuda 0", 1);
  gpu.number = 3;  // in the machine
  gpu.reserved_bytes = 2'500'000'000;
  const std::map<std::string, double> whole = {{"gpu.3.gpu", 87},
                                               {"gpu.3.powerWatts", 350},
                                               {"gpu.3.powerPercent", 50},
                                               {"gpu.3.temp", 65},
                                               {"gpu.3.smClock", 1800},
                                               {"gpu.3.memoryAllocatedBytes", 40e9},
                                               {"gpu.3.memoryAllocated", 40e9 / 85e9 * 100}};
  const auto found = reported_wandb(gpu);
  CHECK(found.size() == whole.size());
  for (const auto& [name, value] : whole) {
    INFO(name);
    REQUIRE(found.count(name) == 1);
    CHECK(found.at(name) == Approx(value));
  }
  gpu.power_limit_mw.reset();
  CHECK(reported_wandb(gpu).size() == 6);
}

TEST_CASE(
    "W&B system metrics: NVIDIA memory is included if the driver reports its reserved part, and not for MIG "
    "instances") {
  Sensor gpu = sampled_gpu("cuda 0", 1);
  CHECK(reported_wandb(gpu).count("gpu.0.memoryAllocated") == 0);
  CHECK(reported_wandb(gpu).count("gpu.0.memoryAllocatedBytes") == 0);
  gpu.reserved_bytes = 0;
  CHECK(reported_wandb(gpu).at("gpu.0.memoryAllocatedBytes") == Approx(42.5e9));
  CHECK(reported_wandb(gpu).at("gpu.0.memoryAllocated") == Approx(50));
  gpu.memory_bytes.reset();
  CHECK(reported_wandb(gpu).count("gpu.0.memoryAllocatedBytes") == 1);
  CHECK(reported_wandb(gpu).count("gpu.0.memoryAllocated") == 0);
  gpu.caveat = "a MIG slice";
  CHECK(reported_wandb(gpu).count("gpu.0.memoryAllocatedBytes") == 0);
}

TEST_CASE("W&B system metrics: quantities that its client measures differently do not use its names") {
  const auto amd = reported_wandb(sampled_gpu("hip 0", 1));
  CHECK(amd.size() == 4);
  CHECK(amd.at("gpu.0.powerWatts") == Approx(350));
  CHECK(amd.at("gpu.0.memoryAllocated") == Approx(50));
  CHECK(amd.count("gpu.0.temp") == 0);  // that of the memory
  for (const Sensor& sensor : sampled_system(1)) {
    const auto found = reported_wandb(sensor);
    CHECK(found.size() == (sensor.kind == Sensor::Kind::process ? 1 : 0));
    // W&B's MB has 1024 * 1024 bytes.
    if (!found.empty()) { CHECK(found.at("proc.memory.rssMB") == Approx(42.5e9 / 1'048'576)); }
  }
}

TEST_CASE("W&B system metrics: a log record becomes the line that its client would send") {
  WandbRecords records;
  takt::detail::WandbIdentity identity;
  identity.id = "id";
  identity.start_unix_ns = 1'700'000'000'500'000'000;
  const std::string run = records.run(identity, {});
  const std::string system =
      records.system({{"gpu.0.gpu", "87.5"}, {"proc.memory.rssMB", "12"}}, 1'700'000'015'750'000'000);
  const WandbMessage record = WandbMessage(system).message(7);
  CHECK(record.numbers.count(1) == 0);  // of the system
  CHECK(record.message(2).numbers.at(1) == 1'700'000'015);
  CHECK(record.message(2).numbers.at(2) == 750'000'000);
  WandbReplay replay;
  REQUIRE(replay.take(run));
  REQUIRE(replay.take(system));
  CHECK(replay.take_lines().empty());
  CHECK(replay.line_bytes() == 0);
  const std::string line =
      R"({"_wandb":true,"_timestamp":1700000015.75,"_runtime":15.25,"system.gpu.0.gpu":87.5,"system.proc.memory.rssMB":12})";
  CHECK(replay.take_events() == std::vector<std::string>{line});
  CHECK(replay.events() == 1);
}

TEST_CASE("W&B system metrics: the time of a run that continues another one is cumulative") {
  WandbRecords records;
  takt::detail::WandbIdentity identity;
  identity.id = "id";
  identity.start_unix_ns = 1'700'000'000'000'000'000;
  WandbReplay replay;
  takt::detail::WandbBehind behind;
  behind.resumed = true;
  behind.runtime_s = 100;
  replay.go_on_behind({}, behind);
  replay.take(records.run(identity, {}));
  replay.take(records.system({}, 1'700'000'015'000'000'000));
  REQUIRE(replay.events() == 1);
  CHECK(contains(replay.take_events()[0], R"("_runtime":115.0)"));
}

TEST_CASE("W&B system metrics: precede an old log's final records, and their number must be correct") {
  const Scratch scratch;
  const std::string file = scratch.path("run-id.wandb");
  WandbRecords records;
  takt::detail::WandbIdentity identity;
  identity.id = "id";
  const std::string of = R"({"run_id":"r","host":"h","rank":0,"attempt":0})";
  WandbLog log;
  REQUIRE(log.create(file));
  log.append(records.run(identity, {{"takt", of}}));
  log.append(records.history({{"_step", "0"}}, 0));
  log.append(records.system({{"gpu.0.gpu", "1"}}, 1));
  REQUIRE(log.flush());
  takt::detail::WandbCursor cursor;
  const std::uint64_t rows_end = log.written();
  log.append(records.exit(0, 1));
  REQUIRE(log.flush());
  cursor.bytes = log.written();
  cursor.records = 4;
  cursor.rows = 1;
  cursor.events = 1;
  takt::RunInfo run;
  run.id = "r";
  run.host = "h";
  takt::detail::WandbOldLog found;
  CHECK(takt::detail::wandb_old_log_error(log, file, cursor, run, "id", found) == "");
  CHECK(found.rows_end == rows_end);
  CHECK(found.rows_records == 3);
  cursor.events = 2;
  CHECK(contains(takt::detail::wandb_old_log_error(log, file, cursor, run, "id", found), "1 system lines"));
}

TEST_CASE("W&B system metrics: a cursor stores what was written and sent, and an older one has none") {
  takt::detail::WandbCursor cursor;
  cursor.events = 3;
  cursor.first_sample = 7;
  cursor.points = {1, 2, 3, 4};
  cursor.sent_events = 2;
  cursor.behind.events = 9;
  const std::string text = takt::detail::format_wandb_cursor(cursor);
  takt::detail::WandbCursor read;
  REQUIRE(takt::detail::parse_wandb_cursor(text, read));
  CHECK(takt::detail::format_wandb_cursor(read) == text);
  CHECK(read.points == cursor.points);
  const std::string old =
      R"({"schema":"takt-wandb/1","log":"/l","bytes":9,"records":5,"rows":2,"start_unix_ns":1,"every_step":true,"first_row":0,)"
      R"("first_metric":0,"points":[4,5,6],"job_ranks":0,"gap":false,"ended":false,"server":"","run":"","lines":0,)"
      R"("behind":{"resumed":false,"lines":1,"step":0,"runtime_s":0},"complete":false,"resume":0})";
  read = {};
  REQUIRE(takt::detail::parse_wandb_cursor(old, read));
  CHECK(read.points == std::array<std::uint64_t, 4>{4, 5, 6, 0});
  CHECK((read.events == 0 && read.sent_events == 0 && read.first_sample == 0 && read.behind.events == 0));
}
