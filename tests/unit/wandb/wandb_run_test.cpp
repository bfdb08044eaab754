// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_run.hpp"

#include <takt/exporters/wandb.hpp>

#include "wandb/wandb_directory.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/wandb_reader.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::ExportResult;
using takt::Snapshot;
using takt::WandbExporter;
using takt::WandbMode;
using takt::WandbOptions;

namespace {

// Fields of a record.
constexpr std::uint64_t kHistory = 2;
constexpr std::uint64_t kSummary = 3;
constexpr std::uint64_t kConfig = 5;
constexpr std::uint64_t kFiles = 6;
constexpr std::uint64_t kRun = 17;
constexpr std::uint64_t kExit = 18;
constexpr std::uint64_t kHeader = 21;
constexpr std::uint64_t kEnvironment = 26;

std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) { found.push_back(entry.path().string()); }
  return found;
}

struct WandbRunRig {
  WandbRunRig() {
    options.directory = scratch.path("");
    options.mode = WandbMode::offline;
    snapshot.run.name = "digits";
    snapshot.run.id = "digits-7";
    snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
    snapshot.params["lr"] = "0.25";
  }

  void metric(double value, std::int64_t step) {
    snapshot.metrics.push_back(
        {static_cast<std::uint64_t>(step), "loss", value, step, snapshot.run.start_unix_ns + step * 1'000'000'000});
    snapshot.wall_ns = step * 1'000'000'000;
  }

  /// Exports the pending data and removes it.
  ExportResult show(WandbExporter& exporter) {
    const ExportResult result = exporter.export_snapshot(snapshot);
    snapshot.metrics.clear();
    return result;
  }

  /// Returns the directory of the only run.
  std::string directory() const {
    const std::vector<std::string> directories = entries(scratch.path("wandb"));
    REQUIRE(directories.size() == 1);
    return directories[0];
  }
  std::string log_file() const {
    const std::string name = std::filesystem::path(directory()).filename().string();
    return directory() + "/run-" + name.substr(name.rfind('-') + 1) + ".wandb";
  }
  std::vector<WandbMessage> records() const {
    std::vector<WandbMessage> found;
    for (const std::string& record : wandb_log_records(read_text(log_file()))) { found.emplace_back(record); }
    return found;
  }
  std::vector<WandbMessage> records(std::uint64_t field) const {
    std::vector<WandbMessage> found;
    for (const WandbMessage& record : records()) {
      if (record.has(field)) { found.push_back(record.message(field)); }
    }
    return found;
  }

  Scratch scratch;
  WandbOptions options;
  Snapshot snapshot;
};

}  // namespace

TEST_CASE("W&B run: the log starts with header and run, and ends with summary, files and exit") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  rig.metric(std::numeric_limits<double>::quiet_NaN(), 0);
  CHECK(rig.show(exporter) == ExportResult::ok);
  rig.metric(0.25, 1);
  rig.snapshot.finished = true;
  CHECK(rig.show(exporter) == ExportResult::ok);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  const std::vector<WandbMessage> records = rig.records();
  std::int64_t number = 0;
  for (const WandbMessage& record : records) { CHECK(record.numbers.at(1) == ++number); }
  CHECK(records[0].has(kHeader));
  CHECK(records[1].message(kRun).message(4).items().at("lr") == "0.25");
  CHECK(records.back().has(kExit));
  const std::vector<WandbMessage> history = rig.records(kHistory);
  REQUIRE(history.size() == 3);  // including the totals
  CHECK(history[0].items().at("loss") == "NaN");
  CHECK(history[1].items().at("loss") == "0.25");
  CHECK(history[1].message(2).numbers.at(1) == 1);
  CHECK(rig.records(kSummary).back().items().at("loss") == "0.25");
  CHECK(rig.records(kFiles).size() == 2);
  CHECK(rig.records(kExit)[0].numbers.count(1) == 0);
  CHECK(contains(read_text(rig.directory() + "/files/takt/summary.json"), "digits-7"));
  CHECK(exists(rig.directory() + "/files/takt/table.txt"));
}

TEST_CASE("W&B run: values logged for any step are in the log at the end of the period") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  add_series(rig.snapshot, add_path(rig.snapshot, "Batch"), 0);
  std::size_t logged = 0;
  for (const std::int64_t step : {3, 1000, 2, 4}) {
    rig.metric(0.5, step);
    rig.snapshot.metrics.back().sequence = logged++;
    rig.show(exporter);
    CHECK(rig.records(kHistory).size() == logged);
  }
}

TEST_CASE("W&B run: values logged in a step and the step's time are in one row with its epoch") {
  WandbRunRig rig;
  rig.options.every_step = true;
  const std::uint32_t epoch = add_path(rig.snapshot, "Epoch");
  add_series(rig.snapshot, add_path(rig.snapshot, "Batch", epoch), 0);
  WandbExporter exporter(rig.options);
  for (std::uint64_t step = 0; step < 6; ++step) {
    const auto begin_ns = static_cast<std::int64_t>(step) * 1'000'000'000;
    rig.metric(1, static_cast<std::int64_t>(step));
    if (step % 2 == 1) {  // a period ends within the step
      rig.show(exporter);
      rig.snapshot.rows.clear();
    }
    takt::Row& row = add_row(rig.snapshot, 0, step);
    row.begin_ns = begin_ns - 500'000'000;
    row.host_ns = 900'000'000;
    row.period_ns = step % 3 == 0 ? std::nullopt : std::optional<std::int64_t>(1'000'000'000);
    if (step % 3 == 2) { rig.snapshot.paths[epoch].host.add(1); }
  }
  rig.snapshot.wall_ns = 6'000'000'000;
  rig.snapshot.finished = true;
  rig.show(exporter);
  const std::vector<WandbMessage> history = rig.records(kHistory);
  REQUIRE(history.size() == 10);  // including the totals
  for (std::size_t step = 0, at = 0; step < 6; ++step) {
    auto items = history[at++].items();
    INFO("step " << step);
    CHECK(items.count("loss") == 1);
    if (step % 2 == 1) {
      CHECK(items.at("takt/step") == std::to_string(step));
      CHECK(items.count("time/Epoch/Batch/step_s") == 0);
      items = history[at++].items();
    }
    CHECK(items.at("takt/step") == std::to_string(step));
    CHECK(items.at("time/Epoch/Batch/step_s") == "0.9");
    CHECK(items.at("takt/epoch") == (step < 3 ? "0" : "1"));
  }
  CHECK(history[9].items().count("total/wall_s") == 1);
}

TEST_CASE("W&B run: the log has code and program, or neither if switched off") {
  const bool wished = GENERATE(false, true);
  WandbRunRig rig;
  rig.options.metadata = wished;
  rig.options.git_commit = "c0ffee";
  rig.options.git_remote_url = "https://me:secret@host/a";
  rig.options.git = wished;
  WandbExporter exporter(rig.options);
  rig.show(exporter);
  const WandbMessage run = rig.records(kRun).at(0);
  CHECK(run.has(21) == wished);
  CHECK(rig.records(kEnvironment).size() == (wished ? 1 : 0));
  const std::string log = read_text(rig.log_file());
  CHECK(contains(log, "c0ffee") == wished);
  CHECK(contains(log, "https://host/a") == wished);
  CHECK_FALSE(contains(log, "secret"));
}

TEST_CASE("W&B run: attaches the output file that the user names, also an incomplete one of a killed program") {
  WandbRunRig rig;
  rig.options.output_log = rig.scratch.path("out.txt");
  WandbExporter exporter(rig.options);
  rig.show(exporter);
  CHECK_FALSE(exists(rig.directory() + "/files/output.log"));
  write_text(rig.options.output_log, "one\n");
  rig.show(exporter);
  CHECK(read_text(rig.directory() + "/files/output.log") == "one\n");
  CHECK(mode_of(rig.directory() + "/files/output.log") == 0600);
  write_text(rig.options.output_log, "one\ntwo\n");
  rig.snapshot.finished = true;
  rig.show(exporter);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  CHECK(read_text(rig.directory() + "/files/output.log") == "one\ntwo\n");
  CHECK(rig.records(kFiles).back().message(1).text(1) == "output.log");
}

TEST_CASE("W&B run: a special file in place of the output is neither awaited nor attached") {
  const support::CaughtErrors errors;
  WandbRunRig rig;
  rig.options.output_log = rig.scratch.path("pipe");
  REQUIRE(::mkfifo(rig.options.output_log.c_str(), 0600) == 0);
  WandbExporter exporter(rig.options);
  rig.snapshot.finished = true;
  rig.show(exporter);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  CHECK_FALSE(exists(rig.directory() + "/files/output.log"));
  CHECK(contains(errors.text(), "output_log"));
}

TEST_CASE("W&B run: its directory is named as W&B's own and accessible only to the user") {
  ::setenv("TZ", "UTC-2", 1);
  ::tzset();
  WandbRunRig rig;
  rig.options.run_id = "abcd1234";
  WandbExporter exporter(rig.options);
  rig.show(exporter);
  CHECK(rig.directory() == rig.scratch.path("") + "wandb/offline-run-20231115_001320-abcd1234");
  CHECK(mode_of(rig.scratch.path("wandb")) == 0700);
  CHECK(mode_of(rig.directory()) == 0700);
  CHECK(mode_of(rig.directory() + "/files") == 0700);
  CHECK(mode_of(rig.log_file()) == 0600);
}

TEST_CASE("W&B run: uses an existing directory .wandb") {
  WandbRunRig rig;
  std::filesystem::create_directory(rig.scratch.path(".wandb"));
  WandbExporter exporter(rig.options);
  rig.show(exporter);
  CHECK(entries(rig.scratch.path(".wandb")).size() == 1);
  CHECK_FALSE(exists(rig.scratch.path("wandb")));
}

TEST_CASE("W&B run: exported data is in the file before the next snapshot, with a summary every few seconds") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  for (std::int64_t step = 0; step < 12; ++step) {
    rig.metric(static_cast<double>(step), step);
    rig.show(exporter);
    CHECK(rig.records(kHistory).size() == static_cast<std::size_t>(step) + 1);
  }
  const std::vector<WandbMessage> summaries = rig.records(kSummary);
  REQUIRE(summaries.size() == 3);  // at 0, 5 and 10 s
  CHECK(summaries[1].items().at("loss") == "5.0");
  CHECK(rig.records(kExit).empty());
}

TEST_CASE("W&B run: renames names reserved by Takt or W&B and reports them") {
  const support::CaughtErrors errors;
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  for (const char* const name : {"time/x", "total/y", "_step", "loss"}) {
    rig.metric(1, static_cast<std::int64_t>(rig.snapshot.metrics.size()));
    rig.snapshot.metrics.back().name = name;
  }
  rig.show(exporter);
  rig.snapshot.finished = true;
  rig.show(exporter);
  REQUIRE(errors.lines().size() == 1);
  CHECK(contains(errors.text(), R"("time/x" to "user/time/x", "total/y" to "user/total/y", "_step" to "user/_step")"));
  CHECK_FALSE(contains(errors.text(), "loss"));
}

TEST_CASE("W&B run: a failed one exits with 1") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  rig.snapshot.finished = rig.snapshot.failed = true;
  rig.snapshot.wall_ns = 61'500'000'000;
  rig.show(exporter);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  CHECK(rig.records(kExit).at(0).numbers.at(1) == 1);
  CHECK(rig.records(kExit).at(0).numbers.at(2) == 61);
}

TEST_CASE("W&B run: one ended by SIGTERM has the exit code of a shell") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  rig.snapshot.finished = rig.snapshot.failed = rig.snapshot.killed = true;
  rig.show(exporter);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  CHECK(rig.records(kExit).at(0).numbers.at(1) == 143);
}

TEST_CASE("W&B run: includes parameters set later") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  rig.show(exporter);
  rig.show(exporter);
  CHECK(rig.records(kConfig).empty());
  rig.snapshot.params["late"] = "yes";
  rig.show(exporter);
  REQUIRE(rig.records(kConfig).size() == 1);
  const std::map<std::string, std::string> expected = {{"late", "\"yes\""}};
  CHECK(rig.records(kConfig)[0].items() == expected);
}

TEST_CASE("W&B run: attaches a complete trace, and counts a missing one") {
  WandbRunRig rig;
  takt::Span span;
  rig.snapshot.spans.push_back(span);
  rig.snapshot.run.directory = rig.scratch.path("run");
  std::filesystem::create_directory(rig.scratch.path("run"));
  rig.snapshot.finished = true;
  SECTION("present") {
    WandbExporter exporter(rig.options);
    rig.show(exporter);
    write_text(rig.scratch.path("run/trace.json"), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}");
    CHECK(exporter.shutdown(milliseconds(60'000)));
    CHECK(rig.records(kFiles).size() == 3);
    CHECK(read_text(rig.directory() + "/files/takt/trace.json") == "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}");
  }
  SECTION("missing") {
    const support::CaughtErrors errors;
    WandbExporter exporter(rig.options);
    rig.show(exporter);
    CHECK_FALSE(exporter.shutdown(milliseconds(50)));
    CHECK(mentions(errors.text(), {"trace.json"}));
    CHECK(rig.records().back().has(kExit));
  }
}

TEST_CASE("W&B run: two that start in the same second have separate directories") {
  WandbRunRig rig;
  WandbExporter first(rig.options);
  WandbExporter second(rig.options);
  CHECK(rig.show(first) == ExportResult::ok);
  CHECK(rig.show(second) == ExportResult::ok);
  CHECK(entries(rig.scratch.path("wandb")).size() == 2);
}

TEST_CASE("W&B run: a second one of the same id and second reports the remedy once and writes nothing") {
  WandbRunRig rig;
  rig.options.run_id = "mine";
  WandbExporter first(rig.options);
  WandbExporter second(rig.options);
  const support::CaughtErrors errors;
  CHECK(rig.show(first) == ExportResult::ok);
  CHECK(rig.show(second) == ExportResult::drop);
  CHECK(rig.show(second) == ExportResult::drop);
  CHECK_FALSE(second.shutdown(milliseconds(10)));
  REQUIRE(errors.lines().size() == 1);
  CHECK(mentions(errors.text(), {"WANDB_RUN_ID"}));
}

TEST_CASE("W&B run: a directory that cannot be created is one line that names the remedy") {
  WandbRunRig rig;
  write_text(rig.scratch.path("file"), "");
  rig.options.directory = rig.scratch.path("file/below");
  const support::CaughtErrors errors;
  WandbExporter exporter(rig.options);
  CHECK(rig.show(exporter) == ExportResult::drop);
  CHECK(rig.show(exporter) == ExportResult::drop);
  REQUIRE(errors.lines().size() == 1);
  CHECK(mentions(errors.text(), {"Not a directory", "WANDB_DIR"}));
}

TEST_CASE("W&B run: a full disk is one line, and missing data is written when there is space") {
  WandbRunRig rig;
  const int status = in_child([&] {
    const support::CaughtErrors errors;
    WandbExporter exporter(rig.options);
    rig.show(exporter);
    limit_file_size(600);
    for (std::int64_t step = 0; step < 50; ++step) {
      rig.metric(1, step);
      if (rig.show(exporter) != ExportResult::ok) { return 1; }
    }
    if (exporter.flush(milliseconds(10))) { return 2; }
    const std::string said = errors.text();
    if (errors.lines().size() != 1 || !contains(said, "File too large; free disk space, or set WANDB_DIR")) {
      return 3;
    }
    limit_file_size(0);
    rig.snapshot.finished = true;
    rig.show(exporter);
    return exporter.shutdown(milliseconds(60'000)) ? 0 : 4;
  });
  REQUIRE(status == 0);
  CHECK(rig.records(kHistory).size() == 51);
  CHECK(rig.records().back().has(kExit));
}

TEST_CASE("W&B run: a disk that stays full ends it with bounded memory") {
  WandbRunRig rig;
  const int status = in_child([&] {
    const support::CaughtErrors errors;
    takt::detail::WandbRun run(rig.options, 2'000);
    limit_file_size(600);
    std::int64_t taken = 0;
    for (std::int64_t step = 0; step < 100; ++step) {
      rig.metric(1, step);
      if (run.take(rig.snapshot)) { ++taken; }
      rig.snapshot.metrics.clear();
    }
    if (taken < 5 || taken > 50) { return 1; }
    limit_file_size(0);
    return contains(errors.text(), "Nothing more is written for W&B") && !run.finish({}) ? 0 : 2;
  });
  CHECK(status == 0);
  CHECK(read_text(rig.log_file()).size() == 600);
}

TEST_CASE("W&B run: online mode says once how to upload, and silent mode does not") {
  WandbRunRig rig;
  rig.options.mode = WandbMode::online;
  const support::CaughtErrors errors;
  SECTION("online") {
    WandbExporter exporter(rig.options);
    rig.show(exporter);
    rig.show(exporter);
    REQUIRE(errors.lines().size() == 1);
    CHECK(contains(errors.text(), "wandb sync " + rig.directory() + "\n"));
  }
  SECTION("silent") {
    rig.options.silent = true;
    WandbExporter exporter(rig.options);
    rig.show(exporter);
    CHECK(errors.lines().empty());
  }
}

TEST_CASE("W&B run: leaves nothing if disabled, or on ranks other than 0") {
  WandbRunRig rig;
  SECTION("disabled") { rig.options.mode = WandbMode::disabled; }
  SECTION("rank 1") {
    rig.snapshot.run.rank = 1;
    rig.snapshot.run.world_size = 2;
  }
  WandbExporter exporter(rig.options);
  rig.snapshot.finished = true;
  CHECK(rig.show(exporter) == ExportResult::ok);
  CHECK(exporter.shutdown(milliseconds(10)));
  CHECK_FALSE(exists(rig.scratch.path("wandb")));
}

TEST_CASE("W&B run: every rank writes on request") {
  WandbRunRig rig;
  rig.options.all_ranks = true;
  rig.snapshot.run.rank = 1;
  rig.snapshot.run.world_size = 2;
  WandbExporter exporter(rig.options);
  rig.show(exporter);
  CHECK(rig.records(kRun).at(0).text(6) == "digits-7");
}

TEST_CASE("W&B run: a forked child does not touch the parent's file") {
  WandbRunRig rig;
  WandbExporter exporter(rig.options);
  rig.metric(1, 0);
  rig.show(exporter);
  const std::string before = read_text(rig.log_file());
  CHECK(in_child([&] {
          rig.metric(2, 1);
          const bool dropped = exporter.export_snapshot(rig.snapshot) == ExportResult::drop;
          return dropped && !exporter.flush(milliseconds(10)) && !exporter.shutdown(milliseconds(10)) ? 0 : 1;
        }) == 0);
  CHECK(read_text(rig.log_file()) == before);
}

TEST_CASE("shell word: quotes only if needed") {
  CHECK(takt::detail::shell_word("/a/b-c_1.wandb") == "/a/b-c_1.wandb");
  CHECK(takt::detail::shell_word("/a b/it's") == "'/a b/it'\\''s'");
}
