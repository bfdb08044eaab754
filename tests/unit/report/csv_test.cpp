// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/csv.hpp>

#include "base/report_error.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <string>
#include <utility>
#include <vector>

using takt::ExportResult;
using takt::Snapshot;
using namespace takt_test;

namespace {

const std::string kHead =
    "step,series,batch_path,thread,begin_ns,batch_ns,period_ns,items,warmup,complete,path,calls,host_ns,device_ns,"
    "exposed_comm_ns,exposed_io_ns\n";

/// Returns Epoch/Batch with IO below it, on one thread, without rows.
Snapshot with_series() {
  Snapshot snapshot;
  const std::uint32_t batch = add_path(snapshot, "Batch", add_path(snapshot, "Epoch"));
  add_path(snapshot, "IO", batch, takt::Kind::io);
  add_series(snapshot, batch, add_thread(snapshot, "main"));
  return snapshot;
}

takt::Cell cell(std::uint32_t path, std::uint32_t calls, std::int64_t host_ns,
                std::int64_t device_ns = takt::Cell::kAbsent) {
  takt::Cell made;
  made.path = path;
  made.calls = calls;
  made.host_ns = host_ns;
  made.device_ns = device_ns;
  return made;
}

void add_rows(Snapshot& snapshot, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t sequence = first; sequence < end; ++sequence) {
    add_row(snapshot, 0, sequence).cells = {cell(2, 1, static_cast<std::int64_t>(sequence))};
  }
}

std::string csv_lines_of(std::uint64_t first, std::uint64_t end) {
  std::string lines;
  for (std::uint64_t at = first; at < end; ++at) {
    const std::string number = std::to_string(at);
    const std::string begin = at == 0 ? "0" : number + "000";
    lines += number + ",0,Epoch/Batch,main," + begin + ",900,1000,64,0,1,Epoch/Batch/IO,1," + number + ",,,\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("steps.csv: has one line per step and path, with empty fields for missing values") {
  const Scratch scratch;
  Snapshot snapshot = with_series();
  takt::Row& row = add_row(snapshot, 0, 7);
  row.warmup = true;
  row.complete = false;
  row.period_ns.reset();
  row.cells = {cell(2, 3, 400), cell(1, 1, 500, 450), cell(takt::kNoIndex, 9, 100)};
  snapshot.finished = true;
  takt::CsvExporter exporter(scratch.path("steps.csv"));
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(read_text(scratch.path("steps.csv")) == kHead +
                                                    "7,0,Epoch/Batch,main,7000,900,,64,1,0,Epoch/Batch/IO,3,400,,,\n"
                                                    "7,0,Epoch/Batch,main,7000,900,,64,1,0,Epoch/Batch,1,500,450,,\n"
                                                    "7,0,Epoch/Batch,main,7000,900,,64,1,0,other,9,100,,,\n");
}

TEST_CASE("steps.csv: each line of a step has its exposed communication and IO") {
  const Scratch scratch;
  Snapshot snapshot = with_series();
  const std::uint32_t comm = add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait);
  const std::uint32_t io = add_path(snapshot, takt::IOWait.name(), 1, takt::Kind::wait);
  add_row(snapshot, 0, 0).cells = {cell(comm, 2, 5, 300), cell(io, 1, 5, 0)};
  snapshot.finished = true;
  takt::CsvExporter exporter(scratch.path("steps.csv"));
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(read_text(scratch.path("steps.csv")) ==
        kHead + "0,0,Epoch/Batch,main,0,900,1000,64,0,1,Epoch/Batch/CommWait,2,5,300,300,0\n" +
            "0,0,Epoch/Batch,main,0,900,1000,64,0,1,Epoch/Batch/IOWait,1,5,0,300,0\n");
}

TEST_CASE("steps.csv: a step without paths below it is one line with empty fields") {
  const Scratch scratch;
  Snapshot snapshot = with_series();
  add_row(snapshot, 0, 0);
  snapshot.finished = true;
  takt::CsvExporter exporter(scratch.path("steps.csv"));
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(read_text(scratch.path("steps.csv")) == kHead + "0,0,Epoch/Batch,main,0,900,1000,64,0,1,,,,,,\n");
}

TEST_CASE("steps.csv: names with separators and quotes are quoted") {
  const Scratch scratch;
  Snapshot snapshot = with_series();
  snapshot.paths[0].name = "a,b";
  snapshot.threads[0].name = "the \"main\" one";
  add_row(snapshot, 0, 0);
  snapshot.finished = true;
  takt::CsvExporter exporter(scratch.path("steps.csv"));
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(contains(read_text(scratch.path("steps.csv")), "\n0,0,\"a,b/Batch\",\"the \"\"main\"\" one\",0,900,"));
}

TEST_CASE("steps.csv: the path of a key with a slash differs from that of nested regions") {
  const Scratch scratch;
  Snapshot snapshot = with_series();
  snapshot.paths[0].name = "a/b\\c";
  CHECK(snapshot.path_name(1) == "a\\/b\\\\c/Batch");
}

TEST_CASE("steps.csv: names cannot control a terminal") {
  const Scratch scratch;
  Snapshot snapshot = with_series();
  snapshot.threads[0].name = "main\x1b[31m,\r\nof two lines";
  add_row(snapshot, 0, 0);
  snapshot.finished = true;
  takt::CsvExporter exporter(scratch.path("steps.csv"));
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(contains(read_text(scratch.path("steps.csv")), "\n0,0,Epoch/Batch,\"main?[31m,??of two lines\",0,900,"));
}

TEST_CASE("steps.csv: rows are on disk after each export, and the file is renamed at the end of the run") {
  const Scratch scratch;
  const std::string path = scratch.path("steps.csv");
  takt::CsvExporter made(path);
  takt::CsvExporter exporter = std::move(made);
  CHECK_FALSE(exists(path + ".part"));
  Snapshot snapshot = with_series();
  add_rows(snapshot, 0, 2);
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(read_text(path + ".part") == kHead + csv_lines_of(0, 2));
  CHECK(mode_of(path + ".part") == 0600);
  CHECK_FALSE(exists(path));
  snapshot.rows.clear();
  add_rows(snapshot, 2, 3);
  snapshot.finished = true;
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(read_text(path) == kHead + csv_lines_of(0, 3));
  CHECK_FALSE(exists(path + ".part"));
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::drop);
}

TEST_CASE("steps.csv: a full disk neither loses nor repeats rows at any position in a line") {
  const Scratch scratch;
  const std::string path = scratch.path("steps.csv");
  const auto space = static_cast<rlim_t>(GENERATE(1, 109, 110, 111, 300, 341));
  const int failed = in_child([&] {
    takt::set_error_handler([](const char*, void*) {});
    takt::CsvExporter exporter(path);
    limit_file_size(space);
    Snapshot snapshot = with_series();
    add_rows(snapshot, 0, 5);
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 1; }
    add_rows(snapshot, 5, 7);
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 2; }
    limit_file_size(0);
    if (exporter.export_snapshot(snapshot) != ExportResult::ok) { return 3; }
    snapshot.rows.clear();
    add_rows(snapshot, 7, 8);
    snapshot.finished = true;
    return exporter.export_snapshot(snapshot) == ExportResult::ok ? 0 : 4;
  });
  CHECK(failed == 0);
  CHECK(read_text(path) == kHead + csv_lines_of(0, 8));
}

TEST_CASE("steps.csv: rows taken but answered with retry are recognized in any order") {
  const Scratch scratch;
  const std::string path = scratch.path("steps.csv");
  const int failed = in_child([&] {
    takt::set_error_handler([](const char*, void*) {});
    takt::CsvExporter exporter(path);
    limit_file_size(150);
    Snapshot snapshot = with_series();
    add_rows(snapshot, 3, 5);
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 1; }
    limit_file_size(0);
    snapshot.rows.clear();
    add_rows(snapshot, 0, 6);
    snapshot.finished = true;
    return exporter.export_snapshot(snapshot) == ExportResult::ok ? 0 : 2;
  });
  CHECK(failed == 0);
  CHECK(read_text(path) == kHead + csv_lines_of(3, 5) + csv_lines_of(0, 3) + csv_lines_of(5, 6));
}

TEST_CASE("steps.csv: while writing fails no further rows are taken, so that the backlog is bounded") {
  const Scratch scratch;
  const std::string path = scratch.path("steps.csv");
  const int failed = in_child([&] {
    takt::set_error_handler([](const char*, void*) {});
    takt::CsvExporter exporter(path);
    limit_file_size(150);
    Snapshot snapshot = with_series();
    add_rows(snapshot, 0, 2);
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 1; }
    add_rows(snapshot, 2, 4);
    if (exporter.export_snapshot(snapshot) != ExportResult::retry) { return 2; }
    limit_file_size(0);
    // Rows 2 and 3 were displaced: they are declared lost, so they must not be written later.
    snapshot.rows.clear();
    add_rows(snapshot, 4, 5);
    snapshot.finished = true;
    return exporter.export_snapshot(snapshot) == ExportResult::ok ? 0 : 3;
  });
  CHECK(failed == 0);
  CHECK(read_text(path) == kHead + csv_lines_of(0, 2) + csv_lines_of(4, 5));
}

TEST_CASE("steps.csv: a directory that cannot be written is reported once, after the third consecutive failure") {
  const Scratch scratch;
  takt::detail::forget_errors();
  std::vector<std::string> reported;
  takt::set_error_handler(
      [](const char* line, void* context) { static_cast<std::vector<std::string>*>(context)->push_back(line); },
      &reported);
  takt::CsvExporter exporter(scratch.path("nowhere/steps.csv"));
  Snapshot snapshot = with_series();
  add_rows(snapshot, 0, 2);
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::retry);
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::retry);
  CHECK(reported.empty());
  for (int more = 0; more < 5; ++more) { CHECK(exporter.export_snapshot(snapshot) == ExportResult::retry); }
  REQUIRE(reported.size() == 1);
  CHECK(mentions(reported[0], {scratch.path("nowhere/steps.csv"), "No such file or directory"}));

  REQUIRE(mkdir(scratch.path("nowhere").c_str(), 0700) == 0);
  snapshot.finished = true;
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(read_text(scratch.path("nowhere/steps.csv")) == kHead + csv_lines_of(0, 2));
  takt::set_error_handler(nullptr);
}
