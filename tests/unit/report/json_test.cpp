// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/json.hpp>
#include <takt/job.hpp>

#include "base/text.hpp"

#include "support/catch.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/tests_directory.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <memory>
#include <set>
#include <string>

using nlohmann::json;
using takt::ExportResult;
using takt::Snapshot;
using takt::detail::kSecondNs;
using namespace takt_test;

namespace {

Snapshot at(std::int64_t wall_ns, bool finished = false) {
  Snapshot snapshot;
  snapshot.wall_ns = wall_ns;
  snapshot.finished = finished;
  return snapshot;
}

/// Adds the names of all fields, except those that the user chose.
void add_fields(const json& value, std::set<std::string>& fields) {
  if (!value.is_structured()) { return; }
  for (const auto& [name, inner] : value.items()) {
    if (value.is_object()) { fields.insert(name); }
    if (name != "params" && name != "tags") { add_fields(inner, fields); }
  }
}

}  // namespace

TEST_CASE("every field of summary.json is documented in docs/files.md") {
  Snapshot snapshot = takt_test::sampled_snapshot();
  snapshot.devices = {{"cuda", "libcuda.so.1 is not there", ""}};
  snapshot.time_lines.emplace_back();
  snapshot.paths.front().spread = {2, 0, 1};
  snapshot.region_memories.push_back({"Forward", {1, 1, 1, 1}, {}});
  const auto job = std::make_shared<takt::Job>();
  job->paths.emplace_back();
  job->wall.ranks = 2;
  job->throughput.emplace_back();
  job->comparison.efficiency.emplace();
  job->comparison.pipeline.stages.emplace_back();
  takt::Finding& finding = job->comparison.findings.emplace_back();
  finding.evidence.emplace_back();
  finding.cost = takt::Cost();
  snapshot.job = job;
  std::set<std::string> fields;
  add_fields(json::parse(takt::format_json(snapshot)), fields);
  const std::string page = read_text((tests_directory() / "../docs/files.md").string());
  REQUIRE(fields.count("gpu_clock_error_ns") + fields.count("open_ns") + fields.count("items_low") +
              fields.count("max_rank") + fields.count("micro_batches") + fields.count("low_ns") ==
          6);
  for (const std::string& field : fields) {
    INFO(field);
    CHECK(page.find("`" + field + "`") != std::string::npos);
  }
}

TEST_CASE("summary.json lists the devices and why one timed nothing") {
  Snapshot snapshot = at(kSecondNs);
  snapshot.devices = {{"cuda", "libcuda.so.1 is not there", ""}, {"manual", "", "moved by hand"}};
  const json summary = json::parse(takt::format_json(snapshot));
  CHECK(summary["devices"][0] ==
        json({{"name", "cuda"}, {"unavailable", "libcuda.so.1 is not there"}, {"caveat", nullptr}}));
  CHECK(summary["devices"][1] == json({{"name", "manual"}, {"unavailable", nullptr}, {"caveat", "moved by hand"}}));
}

TEST_CASE("summary.json has stream waits and the overlap derived from spans") {
  Snapshot snapshot = sample_snapshot();
  CHECK(json::parse(takt::format_json(snapshot))["exposed"]["comm_ns"].is_null());
  CHECK(json::parse(takt::format_json(snapshot))["time_lines"].empty());
  const std::uint32_t wait = add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait);
  snapshot.paths[wait].device.add(70);
  snapshot.paths[wait].device.add(30);
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.clock_error_ns = 4200;
  line.steps = 3;
  line.overlap.comm_ns = 50;
  line.overlap.undecided = 2;
  snapshot.time_lines.push_back(line);
  line.number = 1;
  line.overlap.comm_exposed_ns = 30;
  snapshot.time_lines.push_back(line);
  const json summary = json::parse(takt::format_json(snapshot));
  CHECK(summary["exposed"]["comm_ns"] == 100);
  CHECK(summary["exposed"]["io_ns"].is_null());
  CHECK(summary["time_lines"][0]["gpu_clock_error_ns"] == 4200);
  CHECK(summary["time_lines"][0]["comm_ns"] == 50);
  CHECK(summary["time_lines"][0]["undecided"] == 2);
  CHECK(summary["time_lines"][0]["exposed"]["comm_ns"].is_null());
  CHECK(summary["time_lines"][1]["exposed"] == json({{"comm_ns", 30}, {"io_ns", nullptr}, {"other_ns", nullptr}}));
}

TEST_CASE("summary.json has its schema and describes the run") {
  const Snapshot snapshot = sample_snapshot();
  const json summary = json::parse(takt::format_json(snapshot));
  CHECK(summary["schema"] == "takt-summary/2");
  CHECK(summary["run"]["name"] == "digits");
  CHECK(summary["run"]["id"] == snapshot.run.id);
  CHECK(summary["run"]["pid"] == 4711);
  CHECK(summary["run"]["takt_version"].is_null());  // unknown
  CHECK(summary["run"]["start_unix_ns"] == snapshot.run.start_unix_ns);
  CHECK(summary["clock"]["name"] == "tsc");
  CHECK(summary["clock"]["error_ppm"] == 0.4);
  CHECK(summary["wall_ns"] == snapshot.wall_ns);
  CHECK(summary["uncovered_ns"] == snapshot.uncovered_ns);
  CHECK(summary["overhead_ns"] == snapshot.overhead_ns);
  CHECK(summary["finished"] == true);
  CHECK(summary["failed"] == false);
  CHECK(summary["killed"] == false);
  CHECK(summary["params"]["lr"] == "0.01");
  CHECK(summary["tags"]["git"] == "4e593bb");
  CHECK(summary["threads"][1]["name"] == "loader");
  CHECK(summary["open"][0]["open_ns"] == 3'120'000'000);
  CHECK(summary["losses"][0] == json({{"what", "end_without_start"}, {"where", "Optimizer"}, {"count", 1}}));
}

TEST_CASE("summary.json has the machine, and null for what is unknown") {
  Snapshot snapshot = at(kSecondNs);
  takt::MachineInfo& machine = snapshot.run.machine;
  CHECK(json::parse(takt::format_json(snapshot))["machine"] == json({{"cpu", nullptr},
                                                                     {"cores", nullptr},
                                                                     {"logical_cpus", nullptr},
                                                                     {"host_memory_bytes", nullptr},
                                                                     {"gpus", nullptr},
                                                                     {"commit", nullptr},
                                                                     {"command", nullptr},
                                                                     {"compiler", nullptr},
                                                                     {"libraries", json::object()}}));
  machine.cpu = "EPYC";
  machine.cores = 64;
  machine.gpus = {"H200"};
  machine.command = {"./train", "\xFF"};
  machine.libraries = {{"mpi", "Open MPI v4.1.4"}};
  const json written = json::parse(takt::format_json(snapshot))["machine"];
  CHECK(written["cpu"] == "EPYC");
  CHECK(written["cores"] == 64);
  CHECK(written["gpus"] == json({"H200"}));
  CHECK(written["command"] == json::array({"./train", "\uFFFD"}));
  CHECK(written["libraries"] == json({{"mpi", "Open MPI v4.1.4"}}));
}

TEST_CASE("every figure of a path is restored") {
  const Snapshot snapshot = sample_snapshot();
  const json summary = json::parse(takt::format_json(snapshot));
  REQUIRE(summary["paths"].size() == snapshot.paths.size());
  for (std::uint32_t index = 0; index < snapshot.paths.size(); ++index) {
    const takt::PathStats& path = snapshot.paths[index];
    const json& written = summary["paths"][index];
    const takt::Stats stats = path.host.stats();
    const auto known = [&path](double q, std::uint64_t ns) {
      return takt::has_percentile(path.host, q) ? json(ns) : json();
    };
    CAPTURE(snapshot.path_name(index));
    CHECK(written["path"] == snapshot.path_name(index));
    CHECK(written["depth"] == path.depth);
    CHECK(written["kind"] == takt::to_string(path.kind));
    CHECK(written["self_ns"] == path.self_ns);
    CHECK(written["items"] == path.items);
    CHECK(written["bytes"] == path.bytes);
    CHECK(written["skipped"] == path.skipped);
    CHECK(written["device_pending"] == path.device_pending);
    CHECK(written["host"]["n"] == stats.n);
    CHECK(written["host"]["warmup_n"] == stats.warmup_n);
    CHECK(written["host"]["total_ns"] == stats.total_ns);
    CHECK(written["host"]["warmup_total_ns"] == stats.warmup_total_ns);
    CHECK(written["host"]["first_ns"] == stats.first_ns);
    CHECK(written["host"]["mean_ns"] == stats.mean_ns);
    CHECK(written["host"]["stdev_ns"] == stats.stdev_ns);
    CHECK(written["host"]["min_ns"] == stats.min_ns);
    CHECK(written["host"]["max_ns"] == stats.max_ns);
    CHECK(written["host"]["p50_ns"] == stats.p50_ns);
    CHECK(written["host"]["p90_ns"] == known(0.9, stats.p90_ns));
    CHECK(written["host"]["p99_ns"] == known(0.99, stats.p99_ns));
    CHECK(written["host"]["p999_ns"] == known(0.999, stats.p999_ns));
    CHECK(written["device"].is_null() == (path.device.n() == 0));
  }
  CHECK(summary["paths"][3]["device"]["total_ns"] == snapshot.paths[3].device.total_ns());
  CHECK(summary["paths"][0]["parent"].is_null());
  CHECK(summary["paths"][5]["parent"] == 4);
  CHECK(summary["paths"][1]["share_of_parent"] == 55'401'717'471.0 / 60'600'000'000.0);
  CHECK(summary["paths"][0]["share_of_parent"] == 60'600'000'000.0 / 62'400'000'000.0);
}

TEST_CASE("the time of an open region is its own and includes ended regions inside") {
  Snapshot snapshot = at(20 * kSecondNs);
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  const std::uint32_t batch = add_path(snapshot, "Batch", epoch);
  add_thread(snapshot, "main");
  snapshot.paths[epoch].host.add_first(10 * static_cast<std::uint64_t>(kSecondNs));
  snapshot.paths[batch].host.add_first(18 * static_cast<std::uint64_t>(kSecondNs));
  snapshot.open.push_back({epoch, 0, 9 * kSecondNs});
  snapshot.open.push_back({batch, 0, kSecondNs});
  const json summary = json::parse(takt::format_json(snapshot));
  CHECK(summary["paths"][epoch]["share_of_parent"] == 19.0 / 20.0);
  CHECK(summary["paths"][batch]["share_of_parent"] == 1.0);
  CHECK(summary["paths"][epoch]["host"]["total_ns"] == 10 * kSecondNs);
}

TEST_CASE("the histogram lists lowest duration and count without empty buckets") {
  Snapshot snapshot = at(kSecondNs);
  const std::uint32_t path = add_path(snapshot, "IO");
  for (const std::uint64_t ns : {5U, 5U, 127U, 1'000'000U}) { snapshot.paths[path].host.add(ns); }
  const json host = json::parse(takt::format_json(snapshot))["paths"][0]["host"];
  const std::uint64_t lowest = takt::Histogram::lowest_ns(takt::Histogram::bucket_of(1'000'000));
  CHECK(host["histogram"] == json::array({{5, 2}, {127, 1}, {lowest, 1}}));
}

TEST_CASE("integers stay exact beyond the range of a double") {
  Snapshot snapshot = at(std::numeric_limits<std::int64_t>::max());
  const std::uint32_t path = add_path(snapshot, "IO");
  snapshot.paths[path].bytes = std::numeric_limits<std::uint64_t>::max();
  const json summary = json::parse(takt::format_json(snapshot));
  CHECK(summary["wall_ns"].get<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
  CHECK(summary["paths"][0]["bytes"].get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("unknown values are null, never 0 or NaN") {
  Snapshot snapshot = at(kSecondNs);
  const std::uint32_t empty = add_path(snapshot, "Empty");
  const std::uint32_t warm = add_path(snapshot, "Batch");
  snapshot.paths[warm].host.add_warmup(1000);
  add_path(snapshot, "Child", empty);
  snapshot.clock.frequency_hz = std::numeric_limits<double>::quiet_NaN();
  snapshot.clock.error_ppm = std::numeric_limits<double>::infinity();
  add_series(snapshot, warm, add_thread(snapshot, "main"));
  snapshot.series[0].throughput.windows = 2;
  snapshot.series[0].throughput.items = 10;
  snapshot.series[0].throughput.period_ns = 1000;
  const std::string text = takt::format_json(snapshot);
  const json summary = json::parse(text);
  CHECK(summary["clock"]["frequency_hz"].is_null());
  CHECK(summary["clock"]["error_ppm"].is_null());
  CHECK(summary["paths"][0]["host"]["first_ns"].is_null());
  CHECK(summary["paths"][1]["host"]["first_ns"] == 1000);
  for (const char* name : {"mean_ns", "stdev_ns", "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns"}) {
    CAPTURE(name);
    CHECK(summary["paths"][1]["host"][name].is_null());
  }
  CHECK(summary["paths"][2]["share_of_parent"].is_null());
  CHECK(summary["series"][0]["throughput"]["items_low"].is_null());
  CHECK(summary["series"][0]["throughput"]["items_per_s"] == 0.0);
}

TEST_CASE("a percentile equal to the longest call is null") {
  for (const auto& [calls, known] :
       {std::make_pair(9U, 1), std::make_pair(10U, 2), std::make_pair(100U, 3), std::make_pair(1000U, 4)}) {
    Snapshot snapshot = at(kSecondNs);
    takt::PathStats& path = snapshot.paths[add_path(snapshot, "IO")];
    for (std::uint64_t call = 0; call < calls; ++call) { path.host.add(1000 + call); }
    const json host = json::parse(takt::format_json(snapshot))["paths"][0]["host"];
    int found = 0;
    for (const char* name : {"p50_ns", "p90_ns", "p99_ns", "p999_ns"}) { found += host[name].is_null() ? 0 : 1; }
    CHECK(found == known);
    CHECK(host["max_ns"] == 999 + calls);
  }
}

TEST_CASE("summary.json has what the system did to the process") {
  Snapshot snapshot = sample_snapshot();
  const json clean = json::parse(takt::format_json(snapshot));
  CHECK(clean["process"] == json({{"cpu_ns", 70'200'000'000},
                                  {"stopped_ns", 0},
                                  {"suspended_ns", 0},
                                  {"before_session_ns", 0},
                                  {"earlier_sessions", 0},
                                  {"waited_ns", nullptr},
                                  {"processors", nullptr},
                                  {"blocked_ns", 0}}));
  CHECK(clean["clock"]["worst_error_ppm"] == 21);
  CHECK(clean["clock"]["error_since_ns"] == 10'000'000'000);
  CHECK(clean["clock"]["region_cost_ns"] == 23);
  snapshot.process = takt::ProcessTimes();
  snapshot.process.stopped_ns = 3;
  snapshot.process.suspended_ns = 4;
  snapshot.process.before_ns = 5;
  snapshot.process.earlier_sessions = 6;
  snapshot.process.waited_ns = 7;
  snapshot.process.processors = 8;
  snapshot.process.blocked_ns = 9;
  CHECK(json::parse(takt::format_json(snapshot))["process"] == json({{"cpu_ns", nullptr},
                                                                     {"stopped_ns", 3},
                                                                     {"suspended_ns", 4},
                                                                     {"before_session_ns", 5},
                                                                     {"earlier_sessions", 6},
                                                                     {"waited_ns", 7},
                                                                     {"processors", 8},
                                                                     {"blocked_ns", 9}}));
}

TEST_CASE("a missing interval has its reason") {
  Snapshot snapshot = sample_snapshot();
  takt::Throughput& throughput = snapshot.series[0].throughput;
  const auto written = [&snapshot] { return json::parse(takt::format_json(snapshot))["series"][0]["throughput"]; };
  CHECK(written()["no_interval"].is_null());
  CHECK(written()["stalls"].is_null());
  throughput.no_interval = takt::NoInterval::correlated;
  CHECK(written()["no_interval"] == "correlated");
  CHECK(written()["items_low"].is_null());
  throughput.no_interval = takt::NoInterval::few_stalls;
  throughput.stalls = 3;
  CHECK(written()["no_interval"] == "few_stalls");
  CHECK(written()["stalls"] == 3);
}

TEST_CASE("an interval is written unchanged") {
  Snapshot snapshot = sample_snapshot();
  const json series = json::parse(takt::format_json(snapshot))["series"];
  CHECK(series[0]["throughput"]["items_low"] == 698.9);
  CHECK(series[0]["throughput"]["items_high"] == 707.6);
  CHECK(series[0]["throughput"]["excluded_ns"] == 1'710'000'000);
  CHECK(series[1]["throughput"]["items_low"].is_null());
  CHECK(series[1]["throughput"]["no_interval"] == "few_steps");
  CHECK(series[1]["path"] == 8);
}

TEST_CASE("a key has all its calls, including nested ones") {
  Snapshot snapshot = at(kSecondNs);
  const std::uint32_t outer = add_path(snapshot, "IO");
  const std::uint32_t between = add_path(snapshot, "Forward", outer);
  const std::uint32_t inner = add_path(snapshot, "IO", between);
  const std::uint32_t elsewhere = add_path(snapshot, "IO", add_path(snapshot, "Epoch"));
  snapshot.paths[outer].host.add(1000);
  snapshot.paths[inner].host.add(300);
  snapshot.paths[elsewhere].host.add(50);
  snapshot.paths[outer].self_ns = 600;
  snapshot.paths[inner].self_ns = 300;
  const json keys = json::parse(takt::format_json(snapshot))["keys"];
  REQUIRE(keys.size() == 3);
  CHECK(keys[0]["name"] == "IO");
  CHECK(keys[0]["host"]["n"] == 3);
  CHECK(keys[0]["host"]["total_ns"] == 1350);
  CHECK(keys[0]["self_ns"] == 900);
  CHECK(keys[1]["name"] == "Forward");
}

TEST_CASE("names of any bytes give valid JSON") {
  Snapshot snapshot = at(kSecondNs);
  add_path(snapshot, "\xE6\x97\xA5\xE6\x9C\xAC \"quoted\"\n\x01");
  add_path(snapshot, "not UTF-8 \xFF");
  snapshot.run.name = "\xC3";
  snapshot.params["\x80"] = "\xFE";
  const json summary = json::parse(takt::format_json(snapshot));
  CHECK(summary["paths"][0]["name"] == "\xE6\x97\xA5\xE6\x9C\xAC \"quoted\"\n\x01");
  CHECK(summary["paths"][1]["name"] == "not UTF-8 \xEF\xBF\xBD");
  CHECK(summary["params"].begin().value() == "\xEF\xBF\xBD");
}

TEST_CASE("equal snapshots give equal bytes, with one line per path") {
  const std::string text = takt::format_json(sample_snapshot());
  CHECK(text == takt::format_json(sample_snapshot()));
  CHECK(contains(text, "\n {\"name\":\"IO\",\"path\":\"Epoch/Batch/IO\""));
  CHECK(text.back() == '\n');
}

TEST_CASE("summary.json is written every ten seconds and at the end of the run") {
  const Scratch scratch;
  const std::string path = scratch.path("summary.json");
  takt::JsonExporter exporter(path);
  const auto written = [&] { return json::parse(read_text(path))["wall_ns"].get<std::int64_t>(); };
  CHECK(exporter.export_snapshot(at(9 * kSecondNs)) == ExportResult::ok);
  CHECK_FALSE(exists(path));
  CHECK(exporter.export_snapshot(at(10 * kSecondNs)) == ExportResult::ok);
  CHECK(written() == 10 * kSecondNs);
  CHECK(mode_of(path) == 0600);
  CHECK(exporter.export_snapshot(at(19 * kSecondNs)) == ExportResult::ok);
  CHECK(written() == 10 * kSecondNs);
  CHECK(exporter.export_snapshot(at(21 * kSecondNs)) == ExportResult::ok);
  CHECK(written() == 21 * kSecondNs);
  CHECK(exporter.export_snapshot(at(22 * kSecondNs, true)) == ExportResult::ok);
  CHECK(written() == 22 * kSecondNs);
  CHECK_FALSE(exists(path + ".part"));
}

TEST_CASE("on a full disk the previous summary stays and the last one is retried") {
  const Scratch scratch;
  const std::string path = scratch.path("summary.json");
  takt::JsonExporter exporter(path);
  REQUIRE(exporter.export_snapshot(at(10 * kSecondNs)) == ExportResult::ok);
  const int failed = in_child([&] {
    takt::set_error_handler([](const char*, void*) {});
    limit_file_size(100);
    if (exporter.export_snapshot(at(20 * kSecondNs)) != ExportResult::ok) { return 1; }
    if (exporter.export_snapshot(at(30 * kSecondNs, true)) != ExportResult::retry) { return 2; }
    return exists(path + ".part") ? 3 : 0;
  });
  CHECK(failed == 0);
  CHECK(json::parse(read_text(path))["wall_ns"] == 10 * kSecondNs);
  CHECK(exporter.export_snapshot(at(30 * kSecondNs, true)) == ExportResult::ok);
  CHECK(json::parse(read_text(path))["wall_ns"] == 30 * kSecondNs);
}
