// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/journal_helpers.hpp"
#include "support/tests_directory.hpp"

#include <filesystem>
#include <string>

using takt::ExportResult;
using takt::Snapshot;
using namespace takt::detail;
using namespace takt_test;

namespace {

std::string directory_of_release(const char* release) {
  return (takt_test::tests_directory() / "data" / release).string();
}

takt::TimeLineInfo line_with_waits() {
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.number = 3;
  line.clock_error_ns = 1'700;
  line.spans = 4'800;
  line.clamped = 2;
  line.steps = 600;
  line.overlap.span_ns = 50'000'000'000;
  line.overlap.compute_ns = 40'000'000'000;
  line.overlap.comm_ns = 9'000'000'000;
  line.overlap.io_ns = 800'000'000;
  line.overlap.undecided = 4;
  line.overlap.comm_exposed_ns = 900'000'000;
  line.overlap.io_exposed_ns = 70'000'000;
  return line;
}

takt::Metric journal_golden_loss_of(std::uint64_t sequence, double value) {
  takt::Metric metric;
  metric.sequence = sequence;
  metric.name = "loss";
  metric.value = value;
  metric.step = static_cast<std::int64_t>(sequence);
  metric.time_unix_ns = 1'772'360'131'000'000'000;
  return metric;
}

/// Returns the snapshot of a running process, with some of everything.
Snapshot before_the_end() {
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = false;
  snapshot.run.pid_namespace = 4'026'531'836;
  snapshot.process.stopped_ns = 11;
  snapshot.process.suspended_ns = 22;
  snapshot.process.before_ns = 33;
  snapshot.process.earlier_sessions = 4;
  snapshot.process.waited_ns = 55;
  snapshot.process.processors = 6;
  snapshot.process.blocked_ns = 77;
  snapshot.series[1].throughput.no_interval = takt::NoInterval::few_stalls;
  snapshot.series[1].throughput.stalls = 7;
  snapshot.devices = {{"cuda", "", "one queue"}};
  snapshot.time_lines = {line_with_waits()};
  for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
    add_row(snapshot, 0, sequence).cells = {{2, 1, 11'000'000, takt::Cell::kAbsent}, {4, 2, 900'000, 12'345}};
    snapshot.metrics.push_back(journal_golden_loss_of(sequence, 0.25));
  }
  takt::Row waiting = add_row(snapshot, 0, 3);
  snapshot.rows.pop_back();
  waiting.early = 1;
  waiting.complete = false;
  waiting.cells = {{3, 1, 800, takt::Cell::kAbsent}};
  snapshot.early = {waiting};
  return snapshot;
}

/// Returns the final snapshot, ended by an exception. The journal's budget is then used up, except for data owed to the
/// waiting row.
Snapshot at_the_end() {
  Snapshot snapshot = before_the_end();
  takt::Row settled = snapshot.early[0];
  settled.cells[0].device_ns = 777;
  settled.complete = true;
  snapshot.early.clear();
  snapshot.rows = {settled};
  add_row(snapshot, 0, 4);
  snapshot.metrics = {journal_golden_loss_of(3, 0.125)};
  snapshot.finished = true;
  snapshot.failed = true;
  snapshot.killed = true;
  snapshot.uncaught.happened = true;
  snapshot.uncaught.type = "std::runtime_error";
  snapshot.uncaught.message = "no data";
  snapshot.uncaught.thread = 1;
  snapshot.uncaught.open = {9};
  return snapshot;
}

}  // namespace

// Run by name to rewrite the file, until the version in its name is released.
TEST_CASE("journal: write the golden file of 0.1", "[.golden]") {
  const support::CaughtErrors errors;  // warning about omitted steps
  JournalOptions options = plain_journal();
  options.max_bytes = 1;
  JournalExporter writer(directory_of_release("journal-0.1"), options);
  REQUIRE(writer.export_snapshot(before_the_end()) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(at_the_end()) == ExportResult::ok);
}

TEST_CASE("journal: the run written by Takt 0.1 always reads the same") {
  JournalReader reader(directory_of_release("journal-0.1"));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  CHECK(reader.ended());
  CHECK(read.failed);
  CHECK(read.killed);
  CHECK(read.uncaught.happened);
  CHECK(read.uncaught.type == "std::runtime_error");
  CHECK(read.uncaught.message == "no data");
  CHECK(read.uncaught.thread == 1);
  REQUIRE(read.uncaught.open.size() == 1);
  CHECK(read.uncaught.open[0] == 9);
  CHECK(read.run.pid_namespace == 4'026'531'836);
  CHECK(read.clock.worst_error_ppm == 21);
  CHECK(read.clock.error_since_ns == 10'000'000'000);
  CHECK(read.clock.region_cost_ns == 23);
  CHECK(read.process.cpu_ns == 70'200'000'000);
  CHECK(read.process.stopped_ns == 11);
  CHECK(read.process.suspended_ns == 22);
  CHECK(read.process.before_ns == 33);
  CHECK(read.process.earlier_sessions == 4);
  CHECK(read.process.waited_ns == 55);
  CHECK(read.process.processors == 6);
  CHECK(read.process.blocked_ns == 77);
  REQUIRE(read.series.size() == 2);
  CHECK(read.series[0].throughput.no_interval == takt::NoInterval::none);
  CHECK(read.series[1].throughput.no_interval == takt::NoInterval::few_stalls);
  CHECK(read.series[1].throughput.stalls == 7);
  REQUIRE(read.paths.size() == 10);
  CHECK(read.paths[4].device.n() == 598);
}

TEST_CASE("journal: the steps written by Takt 0.1 always read the same") {
  JournalReader reader(directory_of_release("journal-0.1"));
  Snapshot read;
  REQUIRE(reader.finish(read));
  REQUIRE(read.rows.size() == 4);
  CHECK(read.rows[1].begin_ns == 1'000);
  CHECK(read.rows[2].cells[1].device_ns == 12'345);
  CHECK(read.rows[3].sequence == 3);
  CHECK(read.rows[3].complete);
  CHECK(read.rows[3].cells[0].device_ns == 777);
  REQUIRE(read.metrics.size() == 3);
  CHECK(read.metrics[2].value == 0.25);
  CHECK(read.metrics[2].step == 2);
  REQUIRE(read.losses.size() == 3);
  CHECK(read.losses[1].what == "not_in_journal");
  CHECK(read.losses[1].count == 1);
  CHECK(read.losses[2].where == "metrics");
  CHECK(read.losses[2].count == 1);
  REQUIRE(read.time_lines.size() == 1);
  const takt::TimeLineInfo& line = read.time_lines[0];
  CHECK(line.number == 3);
  CHECK(line.clamped == 2);
  CHECK(line.overlap.undecided == 4);
  CHECK(line.overlap.comm_exposed_ns == 900'000'000);
  CHECK(line.overlap.io_exposed_ns == 70'000'000);
  CHECK_FALSE(line.overlap.other_exposed_ns);
}
