// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <takt/exporters/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

using takt::ExportResult;
using takt::Snapshot;
using namespace takt::detail;
using namespace takt_test;

namespace {

/// \param name "journal": the first version. "journal-devices": with devices, and rows that wait for them.
std::string golden_directory(const char* name = "journal") {
  return (takt_test::tests_directory() / "data" / name).string();
}

/// Returns a row that waits for two device values and gets one of them, then the final row.
std::vector<Snapshot> run_with_devices() {
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = false;
  snapshot.devices = {{"cuda", "", "one queue"}, {"hip", "no libamdhip64.so.7", ""}};
  takt::Row row = add_row(snapshot, 0, 0);
  row.early = 1;
  row.complete = false;
  row.cells = {{2, 1, 11'000'000, takt::Cell::kAbsent}, {4, 2, 900'000, takt::Cell::kAbsent}};
  snapshot.rows.clear();
  std::vector<Snapshot> all(4, snapshot);
  all[0].early = {row};
  row.cells[1].device_ns = 12'345;
  all[1].early = {row};
  row.cells.push_back({1, 1, row.host_ns, 23'456});
  row.sequence = 0;
  row.complete = true;
  all[2].rows = {row};
  row.early = 2;
  all[3].early = {row};
  for (std::size_t at = 0; at < all.size(); ++at) { all[at].wall_ns += static_cast<std::int64_t>(at); }
  return all;
}

std::size_t segments_in(const Scratch& scratch) {
  std::size_t count = 0;
  while (exists(scratch.path(segment_name(static_cast<std::uint32_t>(count))))) { ++count; }
  return count;
}

unsigned long disk_mib = 100;
unsigned long free_mib = 100;

int small_disk(const char*, struct statvfs* disk) {
  disk->f_frsize = 1U << 20U;
  disk->f_blocks = disk_mib;
  disk->f_bavail = free_mib;
  return 0;
}

}  // namespace

TEST_CASE("journal: restores every field that was written") {
  const Scratch scratch;
  JournalExporter writer(scratch.path(""), plain_journal());
  GrowingRun run(test_seed());
  run.late = true;
  REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
  const Snapshot last = run.next(true);
  REQUIRE(writer.export_snapshot(last) == ExportResult::ok);
  CHECK(writer.export_snapshot(last) == ExportResult::drop);
  CHECK(writer.shutdown(std::chrono::milliseconds(0)));
  CHECK(mode_of(scratch.path("journal-00000.tjl")) == 0600);

  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.read(read));
  CHECK((spell_state(read) == spell_state(last)));
  CHECK(read.process.cpu_ns == last.process.cpu_ns);
  CHECK(read.process.stopped_ns == last.process.stopped_ns);
  CHECK(read.process.suspended_ns == last.process.suspended_ns);
  CHECK(read.process.before_ns == 17);
  CHECK(read.process.earlier_sessions == 2);
  CHECK(read.process.waited_ns == last.process.waited_ns);
  CHECK(read.process.processors == 8);
  CHECK(same_rows(read.rows, run.all_rows));
  CHECK(same_metrics(read.metrics, run.all_metrics));
  CHECK(reader.ended());
  CHECK(reader.last_time_unix_ns() == last.run.start_unix_ns + last.wall_ns);
  CHECK_FALSE(reader.finish(read));
  CHECK(is_undamaged(reader));
}

TEST_CASE("journal: a following reader gets each state across many segments") {
  INFO("TAKT_TEST_SEED=" << test_seed());
  for (std::uint64_t round = 0; round < 3; ++round) {
    const Scratch scratch;
    JournalExporter writer(scratch.path(""),
                           plain_journal((kSanitized ? 4U : 32U) << 10U));  // fewer periods under a sanitizer
    GrowingRun run(test_seed() + round);
    run.late = true;
    Random random(test_seed() + round);
    JournalReader follower(scratch.path(""));
    Snapshot followed;
    const int periods = scaled(120);
    for (int period = 1; period <= periods; ++period) {
      const Snapshot& now = run.next(period == periods);
      REQUIRE(writer.export_snapshot(now) == ExportResult::ok);
      if (!random.chance(30)) { continue; }
      REQUIRE(follower.read(followed));
      REQUIRE((spell_state(followed) == spell_state(now)));
      REQUIRE(same_rows(followed.rows, run.all_rows));
    }
    follower.finish(followed);
    JournalReader late(scratch.path(""));
    Snapshot read;
    REQUIRE(late.finish(read));
    CHECK((spell_state(read) == spell_state(followed)));
    CHECK(same_rows(read.rows, run.all_rows));
    CHECK(same_metrics(read.metrics, run.all_metrics));
    CHECK(same_rows(followed.rows, run.all_rows));
    CHECK(same_metrics(followed.metrics, run.all_metrics));
    CHECK(is_undamaged(late));
    CHECK(is_undamaged(follower));
    CHECK(segments_in(scratch) > (kSanitized ? 1U : 5U));
  }
}

TEST_CASE("journal: each segment is readable without earlier ones and reports the loss") {
  const Scratch scratch;
  JournalExporter writer(scratch.path(""), plain_journal(16U << 10U));
  GrowingRun run(test_seed());
  for (int period = 0; period < 60; ++period) { REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok); }
  const Snapshot last = run.next(true);
  REQUIRE(writer.export_snapshot(last) == ExportResult::ok);
  const std::size_t segments = segments_in(scratch);
  REQUIRE(segments > 2);
  for (std::size_t index = 0; index + 1 < segments; ++index) {
    std::filesystem::remove(scratch.path(segment_name(static_cast<std::uint32_t>(index))));
  }
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK((spell_state(read) == spell_state(last)));
  CHECK(reader.damage().lost_frames > 0);
  CHECK(reader.damage().damaged_bytes == 0);
  REQUIRE_FALSE(read.rows.empty());
  CHECK(same_row(read.rows.back(), run.all_rows.back()));
}

TEST_CASE("journal: rows are written before their device values, and a kill loses only these") {
  const Scratch scratch;
  JournalExporter writer(scratch.path(""), plain_journal(1U << 10U));  // amendments are in other segments than rows
  GrowingRun run(test_seed());
  run.late = true;
  std::vector<takt::Row> shown;
  for (int period = 0; period < 40 || shown.empty(); ++period) {
    REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
    shown.clear();
    std::copy_if(run.waiting.begin(), run.waiting.end(), std::back_inserter(shown),
                 [](const takt::Row& row) { return row.early != 0; });
  }
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(same_rows(read.rows, run.all_rows));
  REQUIRE(reader.release_early(read));
  CHECK_FALSE(reader.release_early(read));
  std::uint64_t number = run.all_rows.size();
  for (takt::Row& row : shown) { row.sequence = number++; }
  std::vector<takt::Row> all = run.all_rows;
  all.insert(all.end(), shown.begin(), shown.end());
  CHECK(same_rows(read.rows, all));
  CHECK(is_undamaged(reader));
}

TEST_CASE("journal: beyond its budget it still writes device values of rows that it has") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  JournalOptions options = plain_journal();
  options.max_bytes = 1;
  JournalExporter writer(scratch.path(""), options);
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = false;
  takt::Row row = add_row(snapshot, 0, 0);
  row.early = 1;
  row.complete = false;
  row.cells = {{2, 1, 11'000'000, takt::Cell::kAbsent}};
  snapshot.rows.clear();
  snapshot.early = {row};
  REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
  snapshot.early.clear();
  row.cells[0].device_ns = 7;
  row.complete = true;
  takt::Row other = row;
  other.early = 2;
  other.sequence = 1;
  snapshot.rows = {row, other};
  snapshot.wall_ns += 1'000'000'000;
  REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.read(read));
  CHECK(same_rows(read.rows, {row}));
  CHECK(read.losses.back().what == "not_in_journal");
  CHECK(read.losses.back().count == 1);
}

TEST_CASE("journal: skips and counts a frame of a future type") {
  const Scratch scratch;
  FrameBuffer frames(0);
  frames.add_header(SegmentHeader());
  frames.add(FrameType::run, sample_snapshot().run);
  frames.add_raw(999, "something new");
  frames.add(FrameType::param, NoteRecord{"lr", "0.1"});
  write_text(scratch.path("journal-00000.tjl"), frames.bytes());
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(read.run.name == "digits");
  CHECK(read.params["lr"] == "0.1");
  CHECK(reader.damage().unknown_frames == 1);
  CHECK(reader.damage().lost_frames == 0);
}

TEST_CASE("journal: refuses another version or byte order with a reason") {
  const Scratch scratch;
  const auto error_of = [&](const std::string& bytes) {
    write_text(scratch.path("journal-00000.tjl"), bytes);
    JournalReader reader(scratch.path(""));
    Snapshot read;
    CHECK_FALSE(reader.finish(read));
    return reader.error();
  };
  SegmentHeader header;
  header.version = kJournalVersion + 1;
  FrameBuffer newer(0);
  newer.add_header(header);
  newer.add(FrameType::run, sample_snapshot().run);
  CHECK(contains(error_of(newer.bytes()), "newer format"));
  FrameBuffer swapped(0);
  swapped.add_header(SegmentHeader());
  std::string bytes = swapped.bytes();
  std::swap(bytes[12], bytes[15]);
  std::swap(bytes[13], bytes[14]);
  CHECK(contains(error_of(bytes), "byte order"));
}

TEST_CASE("journal: beyond its budget it counts rows and writes totals once a minute") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  JournalOptions options = plain_journal();
  options.max_bytes = 1;
  JournalExporter writer(scratch.path(""), options);
  GrowingRun run(test_seed());
  REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
  const std::size_t written = run.all_rows.size();
  Snapshot minute;
  for (int second = 0; second < 100; ++second) {
    const Snapshot now = run.next();
    if (second == 59) { minute = now; }
    REQUIRE(writer.export_snapshot(now) == ExportResult::ok);
  }
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.read(read));
  CHECK(read.wall_ns == minute.wall_ns);
  CHECK(read.rows.size() == written);
  const Snapshot last = run.next(true);
  REQUIRE(writer.export_snapshot(last) == ExportResult::ok);
  REQUIRE(reader.read(read));
  REQUIRE(read.losses.size() == last.losses.size() + 2);
  CHECK(read.losses[last.losses.size()].what == "not_in_journal");
  CHECK(read.losses[last.losses.size()].count == run.all_rows.size() - written);
  CHECK(read.paths[1].host.total_ns() == last.paths[1].host.total_ns());
  CHECK(errors.lines().size() == 1);
}

TEST_CASE("journal: below the free-space limit of the disk it counts rows until there is space") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  JournalOptions options = plain_journal();
  options.keep_free = JournalOptions().keep_free;
  options.disk = &small_disk;
  JournalExporter writer(scratch.path(""), options);
  GrowingRun run(test_seed());
  const auto write = [&](int seconds) {
    const std::size_t before = run.all_rows.size();
    for (int second = 0; second < seconds; ++second) {
      REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
    }
    return run.all_rows.size() - before;
  };
  free_mib = 5;
  std::size_t written = write(10);
  free_mib = 4;  // of 100
  const std::size_t left_out = write(10);
  free_mib = 5;
  written += write(10);
  REQUIRE(left_out > 0);
  const Snapshot last = run.next(true);
  REQUIRE(writer.export_snapshot(last) == ExportResult::ok);
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.read(read));
  CHECK(read.rows.size() == run.all_rows.size() - left_out);
  CHECK(read.rows.size() == written + last.rows.size());
  REQUIRE(read.losses.size() > last.losses.size());
  CHECK(read.losses[last.losses.size()].what == "not_in_journal");
  CHECK(read.losses[last.losses.size()].count == left_out);
  REQUIRE(errors.lines().size() == 1);
}

TEST_CASE("journal: keeps 1 GiB free on a large disk and nothing on one of unknown size") {
  const support::CaughtErrors errors;
  const auto thins = [&](unsigned long size_mib, unsigned long mib) {
    const Scratch scratch;
    JournalOptions options = plain_journal();
    options.keep_free = JournalOptions().keep_free;
    options.disk = &small_disk;
    disk_mib = size_mib;
    free_mib = mib;
    JournalExporter writer(scratch.path(""), options);
    GrowingRun run(test_seed());
    while (run.all_rows.empty()) { REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok); }
    JournalReader reader(scratch.path(""));
    Snapshot read;
    REQUIRE(reader.read(read));
    return read.rows.empty();
  };
  CHECK(thins(1'000'000, 1023));
  CHECK_FALSE(thins(1'000'000, 1024));
  CHECK_FALSE(thins(0, 0));
  disk_mib = 100;
}

TEST_CASE("journal: by default it takes 256 MiB and leaves 5 % of the disk") {
  const JournalOptions options;
  CHECK(options.max_bytes == std::size_t{256} << 20U);
  CHECK(options.segment_bytes == std::size_t{8} << 20U);
  CHECK(options.keep_free == 0.05);
}

TEST_CASE("journal: a directory without one is read as empty") {
  const Scratch scratch;
  JournalReader reader(scratch.path("nowhere"));
  Snapshot read;
  CHECK_FALSE(reader.read(read));
  CHECK_FALSE(reader.finish(read));
  CHECK(is_undamaged(reader));
}

// Run by name to rewrite the file, only for a new version of the format.
TEST_CASE("journal: write the golden file", "[.golden]") {
  JournalExporter writer(golden_directory("journal-2"), plain_journal());
  Snapshot snapshot = sample_snapshot();
  takt::Row& row = add_row(snapshot, 0, 0);
  row.cells.resize(2);
  row.cells[0] = {2, 1, 11'000'000, takt::Cell::kAbsent};
  row.cells[1] = {takt::kNoIndex, 3, 5, 4};
  takt::Metric loss;
  loss.name = "loss";
  loss.value = 0.25;
  loss.step = 7;
  loss.time_unix_ns = 1'772'360'131'000'000'000;
  snapshot.metrics.push_back(loss);
  REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
}

TEST_CASE("journal: write the golden file with devices", "[.golden]") {
  JournalExporter writer(golden_directory("journal-devices-2"), plain_journal());
  for (const Snapshot& each : run_with_devices()) { REQUIRE(writer.export_snapshot(each) == ExportResult::ok); }
}

TEST_CASE("journal: the golden files with devices always read the same") {
  JournalReader reader(golden_directory(GENERATE("journal-devices", "journal-devices-2")));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  REQUIRE(read.devices.size() == 2);
  CHECK(read.devices[0].name == "cuda");
  CHECK(read.devices[0].unavailable.empty());
  CHECK(read.devices[0].caveat == "one queue");
  CHECK(read.devices[1].unavailable == "no libamdhip64.so.7");
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].complete);
  REQUIRE(read.rows[0].cells.size() == 3);
  CHECK(read.rows[0].cells[0].device_ns == takt::Cell::kAbsent);
  CHECK(read.rows[0].cells[1].device_ns == 12'345);
  CHECK(read.rows[0].cells[2].path == 1);
  CHECK(read.rows[0].cells[2].host_ns == 900);
  CHECK(read.rows[0].cells[2].device_ns == 23'456);
  REQUIRE(reader.release_early(read));
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[1].sequence == 1);
  CHECK_FALSE(read.rows[1].complete);
  CHECK(read.rows[1].cells.size() == 3);
}

TEST_CASE("journal: the golden files of each version always read the same") {
  JournalReader reader(golden_directory(GENERATE("journal", "journal-2")));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  CHECK(reader.ended());
  CHECK(read.finished);
  CHECK(read.run.name == "digits");
  CHECK(read.run.pid == 4711);
  CHECK(read.clock.frequency_hz == 2.5e9);
  CHECK(read.wall_ns == 62'400'000'000);
  REQUIRE(read.paths.size() == 10);
  CHECK(read.path_name(5) == "Epoch/Batch/Backward/Comm");
  CHECK(read.paths[5].kind == takt::Kind::comm);
  CHECK(read.paths[5].host.n() == 2400);
  CHECK(read.paths[5].host.warmup_n() == 40);
  CHECK(read.paths[5].host.total_ns() == 17'100'150'324);
  CHECK(read.paths[5].host.percentile_ns(0.99) == 8'716'288);
  CHECK(read.paths[5].host.histogram().total() == 2360);
  CHECK(read.paths[4].device.n() == 598);
  CHECK(read.paths[4].device_pending == 2);
  CHECK(read.paths[9].skipped == 400);
  REQUIRE(read.threads.size() == 2);
  CHECK(read.threads[1].name == "loader");
  REQUIRE(read.series.size() == 2);
  CHECK(read.series[0].throughput.items_low == 698.9);
  // Computed from its windows, because these files lack the field.
  CHECK(read.series[0].throughput.no_interval == takt::NoInterval::none);
  CHECK(read.series[1].throughput.no_interval == takt::NoInterval::few_steps);
  CHECK_FALSE(read.process.cpu_ns);
  CHECK_FALSE(read.process.waited_ns);
  CHECK_FALSE(read.process.processors);
  CHECK(read.process.blocked_ns == 0);
  CHECK(read.params["lr"] == "0.01");
  CHECK(read.tags["git"] == "4e593bb");
  REQUIRE(read.losses.size() == 1);
  CHECK(read.losses[0].where == "Optimizer");
  REQUIRE(read.open.size() == 1);
  CHECK(read.open[0].open_ns == 3'120'000'000);
  REQUIRE(read.rows.size() == 1);
  REQUIRE(read.rows[0].cells.size() == 2);
  CHECK(read.rows[0].cells[0].device_ns == takt::Cell::kAbsent);
  CHECK(read.rows[0].cells[1].path == takt::kNoIndex);
  REQUIRE(read.metrics.size() == 1);
  CHECK(read.metrics[0].value == 0.25);
}
