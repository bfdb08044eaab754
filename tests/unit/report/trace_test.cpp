// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/trace.hpp>

#include "support/catch.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

using nlohmann::json;
using takt::ExportResult;
using takt::Snapshot;
using namespace takt_test;

namespace {

void add_span(Snapshot& snapshot, const char* name, std::int64_t begin_ns, std::int64_t duration_ns,
              std::uint32_t thread = 0) {
  static std::uint64_t sequence = 0;
  takt::Span span;
  span.sequence = sequence++;
  span.thread = thread;
  span.begin_ns = begin_ns;
  span.duration_ns = duration_ns;
  span.name = name;
  span.kind = takt::Kind::io;
  snapshot.spans.push_back(span);
}

Snapshot with_threads() {
  Snapshot snapshot;
  snapshot.run.name = "digits";
  snapshot.run.id = "digits-1";
  snapshot.run.pid = 4711;
  snapshot.run.rank = 3;
  add_thread(snapshot, "main");
  add_thread(snapshot, "loader");
  return snapshot;
}

json of_kind(const json& trace, const std::string& phase) {
  json found = json::array();
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) { found.push_back(event); }
  }
  return found;
}

json metadata(const json& trace, const std::string& name, std::uint32_t thread) {
  json last;
  for (const json& event : of_kind(trace, "M")) {
    if (event["name"] == name && event["tid"] == thread) { last = event["args"]; }
  }
  return last;
}

json written_by(takt::TraceExporter& exporter, Snapshot snapshot, const std::string& path) {
  snapshot.finished = true;
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  return json::parse(read_text(path));
}

}  // namespace

TEST_CASE("spans are complete events on the track of their thread, to the nanosecond") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  add_span(snapshot, "IO", 1'234'567, 89, 1);
  add_span(snapshot, "Batch", 5, 1'000'000'007);
  const json trace = written_by(exporter, snapshot, path);
  CHECK(trace["displayTimeUnit"] == "ms");
  const json spans = of_kind(trace, "X");
  REQUIRE(spans.size() == 2);
  CHECK(
      spans[0] ==
      json({{"name", "IO"}, {"cat", "io"}, {"ph", "X"}, {"ts", 1234.567}, {"dur", 0.089}, {"pid", 4711}, {"tid", 1}}));
  CHECK(spans[1]["ts"] == 0.005);
  CHECK(spans[1]["dur"] == 1000000.007);
  CHECK(spans[1]["tid"] == 0);
  CHECK(contains(read_text(path), "\"ts\":1234.567,\"dur\":0.089,"));
  CHECK(mode_of(path) == 0600);
}

TEST_CASE("nested spans stay nested in the file after a week") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  const std::int64_t week = 604'800'000'000'001;
  add_span(snapshot, "inner", week + 1, 998);
  add_span(snapshot, "outer", week, 1000);
  const json spans = of_kind(written_by(exporter, snapshot, path), "X");
  const auto ns = [](const json& value) { return std::llround(value.get<double>() * 1000); };
  CHECK(ns(spans[1]["ts"]) == week);
  CHECK(ns(spans[0]["ts"]) == week + 1);
  CHECK(ns(spans[0]["ts"]) + ns(spans[0]["dur"]) == ns(spans[1]["ts"]) + ns(spans[1]["dur"]) - 1);
}

TEST_CASE("the process and the threads have their latest names") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(contains(read_text(path + ".part"), "loader"));
  snapshot.threads[1].name = "reader";
  add_thread(snapshot, "late");
  const json trace = written_by(exporter, snapshot, path);
  CHECK(metadata(trace, "process_name", 0)["name"] == "digits rank 3");
  CHECK(metadata(trace, "thread_name", 0)["name"] == "main");
  CHECK(metadata(trace, "thread_name", 1)["name"] == "reader");
  CHECK(metadata(trace, "thread_name", 2)["name"] == "late");
  CHECK(metadata(trace, "thread_sort_index", 2)["sort_index"] == 2);
  CHECK(of_kind(trace, "M").size() == 9);
}

TEST_CASE("streams of devices are tracks alongside the threads, with the error bound of their times") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.clock_error_ns = 4200;
  line.spans = 2;
  line.clamped = 1;
  snapshot.time_lines = {line, line};
  snapshot.time_lines[1].number = 1;
  snapshot.streams = {{0, 0, 0}};
  add_span(snapshot, "Forward", 10, 20);
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  snapshot.spans.clear();
  snapshot.streams.push_back({1, 0, 0});
  snapshot.streams.push_back({0, 0, 1});  // the stream of the first one, used by another thread
  add_span(snapshot, "Forward", 1000, 2000);
  snapshot.spans.back().stream = 2;
  snapshot.devices.push_back({"hip", "HIP finds no device", ""});
  const json trace = written_by(exporter, snapshot, path);
  const json spans = of_kind(trace, "X");
  CHECK(spans[0]["tid"] == 0);
  CHECK(spans[1]["tid"] == 1'000'003);
  CHECK(spans[1]["ts"] == 1.0);
  CHECK(metadata(trace, "thread_name", 1'000'001)["name"] == "cuda 0 stream 0");
  CHECK(metadata(trace, "thread_name", 1'000'002)["name"] == "cuda 1 stream 0");
  CHECK(metadata(trace, "thread_name", 1'000'003)["name"] == "cuda 0 stream 0 (loader)");
  CHECK(metadata(trace, "thread_sort_index", 1'000'003)["sort_index"] == 1'000'003);
  const json& other = trace["otherData"];
  CHECK(other["time_lines"].size() == 2);
  CHECK(other["time_lines"][0] ==
        json({{"device", "cuda 0"}, {"gpu_clock_error_ns", 4200}, {"spans", 2}, {"clamped", 1}}));
  CHECK(other["unavailable"] == json({{"hip", "HIP finds no device"}}));
}

TEST_CASE("overlapping spans get separate tracks on which spans nest or are disjoint") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  snapshot.time_lines = {takt::TimeLineInfo()};
  snapshot.time_lines[0].device = "cuda";
  snapshot.streams = {{0, 0, 0}};
  add_span(snapshot, "first", 0, 60);
  add_span(snapshot, "inside", 70, 10);
  add_span(snapshot, "second", 50, 50);
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  snapshot.spans.clear();
  add_span(snapshot, "around", 0, 200);
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  snapshot.spans.clear();
  add_span(snapshot, "late", 60, 60);  // by another thread, ended long ago
  for (const std::int64_t begin : {300, 310}) {
    add_span(snapshot, "copy", begin, 15);
    snapshot.spans.back().stream = 0;
  }
  snapshot.threads[0].name = "trainer";
  const json trace = written_by(exporter, snapshot, path);
  const json spans = of_kind(trace, "X");
  const auto track = [&](std::size_t span) { return spans[span]["tid"].get<std::uint32_t>(); };
  CHECK(track(0) == 0);
  CHECK(track(1) == 0);
  CHECK(track(2) == 2'000'001);
  CHECK(track(3) == 0);
  CHECK(track(4) == 2'000'002);
  CHECK(track(5) == 1'000'001);
  CHECK(track(6) == 2'000'003);
  CHECK(metadata(trace, "thread_name", 2'000'001)["name"] == "trainer (2)");
  CHECK(metadata(trace, "thread_name", 2'000'002)["name"] == "trainer (3)");
  CHECK(metadata(trace, "thread_name", 2'000'003)["name"] == "cuda 0 stream 0 (2)");
  CHECK(metadata(trace, "thread_sort_index", 2'000'001)["sort_index"] == 0);
  CHECK(metadata(trace, "thread_sort_index", 2'000'003)["sort_index"] == 1'000'001);
}

TEST_CASE("a process without a number uses its rank") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  snapshot.run.pid = 0;
  add_span(snapshot, "IO", 0, 1);
  CHECK(of_kind(written_by(exporter, snapshot, path), "X")[0]["pid"] == 3);
}

TEST_CASE("spans beyond the limit are counted, not written") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path, 3);
  Snapshot snapshot = with_threads();
  add_span(snapshot, "a", 0, 1);
  add_span(snapshot, "b", 0, 1);
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  snapshot.spans.clear();
  for (int more = 0; more < 5; ++more) { add_span(snapshot, "c", 0, 1); }
  snapshot.losses.push_back({"spans_dropped", "main", 12});
  const json trace = written_by(exporter, snapshot, path);
  CHECK(of_kind(trace, "X").size() == 3);
  CHECK(trace["otherData"]["dropped_spans"] == 4);
  CHECK(trace["otherData"]["run_id"] == "digits-1");
  CHECK(trace["otherData"]["losses"][0] == json({{"what", "spans_dropped"}, {"where", "main"}, {"count", 12}}));
}

TEST_CASE("the trace of a run without spans is valid") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  const json trace = written_by(exporter, Snapshot(), path);
  CHECK(of_kind(trace, "X").empty());
  CHECK(trace["otherData"]["dropped_spans"] == 0);
}

TEST_CASE("any name and any time give valid JSON") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  snapshot.threads[0].name = "tab\there \xFF";
  add_span(snapshot, "\"quoted\\\" \xE6\x97\xA5\n\x01", -1'500, 1);
  add_span(snapshot, "\xC3", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  const json trace = written_by(exporter, snapshot, path);
  const json spans = of_kind(trace, "X");
  CHECK(spans[0]["name"] == "\"quoted\\\" \xE6\x97\xA5\n\x01");
  CHECK(spans[0]["ts"] == -1.5);
  CHECK(spans[1]["name"] == "\xEF\xBF\xBD");
  CHECK(metadata(trace, "thread_name", 0)["name"] == "tab\there \xEF\xBF\xBD");
}

TEST_CASE("a full disk neither repeats nor loses a span, and the limit holds") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  const int failed = in_child([&] {
    takt::set_error_handler([](const char*, void*) {});
    takt::TraceExporter exporter(path, 4);
    limit_file_size(500);
    Snapshot snapshot = with_threads();
    for (const char* name : {"a", "b", "c"}) { add_span(snapshot, name, 0, 1); }
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 1; }
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 2; }
    limit_file_size(0);
    for (const char* name : {"d", "e"}) { add_span(snapshot, name, 0, 1); }
    snapshot.finished = true;
    return exporter.export_snapshot(snapshot) == ExportResult::ok ? 0 : 3;
  });
  CHECK(failed == 0);
  const json trace = json::parse(read_text(path));
  std::string names;
  for (const json& span : of_kind(trace, "X")) { names += span["name"].get<std::string>(); }
  CHECK(names == "abcd");
  CHECK(trace["otherData"]["dropped_spans"] == 1);
}

TEST_CASE("a trace on a disk that is full at the end is finished later without the spans of that time") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  const int failed = in_child([&] {
    takt::set_error_handler([](const char*, void*) {});
    takt::TraceExporter exporter(path);
    Snapshot snapshot = with_threads();
    add_span(snapshot, "a", 0, 1);
    if (exporter.export_snapshot(snapshot) != ExportResult::ok) { return 1; }
    limit_file_size(read_text(path + ".part").size() + 10);
    snapshot.spans.clear();
    snapshot.finished = true;
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 2; }
    limit_file_size(0);
    add_span(snapshot, "late", 0, 1);
    return exporter.export_snapshot(snapshot) == ExportResult::ok ? 0 : 3;
  });
  CHECK(failed == 0);
  CHECK(of_kind(json::parse(read_text(path)), "X").size() == 1);
}

TEST_CASE(
    "the trace of a killed run is valid after its last line is dropped and the list closed, as docs/files.md says") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  for (const char* name : {"a", "b", "c"}) { add_span(snapshot, name, 0, 1); }
  REQUIRE(exporter.export_snapshot(snapshot) == ExportResult::ok);
  const std::string command = "{ sed '$d' '" + path + ".part' | sed '$s/,$//'; echo ']}'; } > '" + path + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(of_kind(json::parse(read_text(path)), "X").size() == 2);
}

TEST_CASE("samples are curves: values as they are, counters as rates") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path);
  Snapshot snapshot = with_threads();
  snapshot.sensors = sampled_snapshot().sensors;
  snapshot.samples = {gpu_sample(0), gpu_sample(1)};
  takt::Sample process;
  process.sequence = 2;
  process.sensor = 2;
  process.values = {1'000'000'000, 2'000'000, takt::Sample::kAbsent, 5, 0, 0, 0};
  snapshot.samples.push_back(process);
  process.sequence = 3;
  process.time_ns = 500'000'000;
  process.values = {1'750'000'000, 3'000'000, takt::Sample::kAbsent, 15, 0, 100'000'000, takt::Sample::kAbsent};
  snapshot.samples.push_back(process);
  snapshot.samples.push_back(process);  // exported again
  process.sequence = 4;
  process.sensor = 99;
  snapshot.samples.push_back(process);
  const json trace = written_by(exporter, snapshot, path);
  const json curves = of_kind(trace, "C");
  const auto last = [&](const std::string& name) {
    json found;
    for (const json& each : curves) {
      if (each["name"] == name) { found = each; }
    }
    return found;
  };
  CHECK(last("cuda 0 power")["args"] == json({{"W", 300.0}}));
  CHECK(last("cuda 0 power")["ts"] == 100'000.0);
  CHECK(last("cuda 0 power")["pid"] == 4711);
  CHECK(last("cuda 0 power by the counter")["args"]["W"].get<double>() == Approx(300));
  CHECK(last("cuda 0 memory")["args"]["MB"].get<double>() == Approx(40'000.0));
  CHECK(last("cuda 0 busy")["args"] == json({{"%", 87.0}}));
  CHECK(last("cuda 0 slowed down")["args"] == json({{"value", 1.0}}));
  CHECK(last("process processors busy")["args"]["processors"].get<double>() == Approx(1.5));
  CHECK(last("process page faults that wait for storage")["args"]["1/s"].get<double>() == Approx(20));
  CHECK(last("process read from storage")["args"]["MB/s"].get<double>() == Approx(200));
  CHECK(last("process written to storage").is_null());
  CHECK(curves.size() == 2 * 6 + 1 + 1 + 5);
}

TEST_CASE("curve points beyond the limit are counted, not written") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  takt::TraceExporter exporter(path, 10);
  Snapshot snapshot = with_threads();
  snapshot.sensors = sampled_snapshot().sensors;
  for (std::uint64_t number = 0; number < 5; ++number) { snapshot.samples.push_back(gpu_sample(number)); }
  add_span(snapshot, "a", 0, 1);
  const json trace = written_by(exporter, snapshot, path);
  CHECK(of_kind(trace, "C").size() == 10);
  CHECK(of_kind(trace, "X").size() == 1);
  CHECK(trace["otherData"]["dropped_counters"] == 5 * 6 + 4 - 10);
  CHECK(trace["otherData"]["dropped_spans"] == 0);
}
