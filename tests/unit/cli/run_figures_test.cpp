// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff.hpp"

#include "cli/comparison.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace takt_test;
using takt::Snapshot;
using takt::detail::ComparedRun;

namespace {

/// Writes a run of one rank and returns its directory.
std::string write_run(const Scratch& scratch, const std::string& name, Snapshot snapshot) {
  const std::string directory = scratch.path(name);
  const std::string rank = directory + "/rank-0-0";
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  REQUIRE(::mkdir(rank.c_str(), 0700) == 0);
  snapshot.finished = true;
  snapshot.wall_ns = 1'000'000;
  takt::detail::JournalExporter exporter(rank, plain_journal());
  Snapshot beginning;
  beginning.run = snapshot.run;
  exporter.begin(beginning);
  REQUIRE(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
  return directory;
}

ComparedRun compared(const std::string& directory) {
  std::vector<std::string> warnings;
  const auto runs = takt::cli::compared_runs({directory, {directory + "/rank-0-0"}}, warnings);
  CHECK(warnings.empty());
  REQUIRE(runs.size() == 1);
  return runs.front().figures;
}

void add_calls(Snapshot& snapshot, std::uint32_t path, int calls, std::uint64_t ns) {
  for (int call = 0; call < calls; ++call) { snapshot.paths[path].host.add(ns); }
}

}  // namespace

TEST_CASE("takt diff: regions whose paths are spelled the same count together, with a warning") {
  const Scratch scratch;
  Snapshot snapshot;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  snapshot.series[0].steps = 10;
  const std::uint32_t outer = add_path(snapshot, "load", 0, takt::Kind::io);
  add_calls(snapshot, outer, 10, 100);
  add_calls(snapshot, add_path(snapshot, "load", 0, takt::Kind::comm), 30, 500);
  add_calls(snapshot, add_path(snapshot, "part", outer, takt::Kind::io), 10, 1000);
  add_calls(snapshot, add_path(snapshot, "load/part", 0, takt::Kind::io), 10, 3000);
  const ComparedRun run = compared(write_run(scratch, "run", snapshot));
  REQUIRE(run.regions.size() == 4);
  CHECK(run.regions.at("Batch/load").mean.value == Approx((10 * 100 + 30 * 500) / 40.0));
  CHECK(run.regions.at("Batch/load").calls_a_step == Approx(4));
  CHECK(run.regions.at("Batch/load/part").mean.value == Approx(1000));
  CHECK(run.regions.at("Batch/load\\/part").mean.value == Approx(3000));
  std::vector<std::string> reported;
  for (const takt::Finding& each : takt::detail::findings_of({run}, {run})) { reported.push_back(each.sentence); }
  REQUIRE(reported.size() == 1);
  CHECK(mentions(reported[0], {"Batch/load", "2"}));
}

TEST_CASE("takt diff: a region shorter than the clock's resolution counts as 1 ns, one without calls as nothing") {
  const Scratch scratch;
  Snapshot snapshot;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  add_calls(snapshot, add_path(snapshot, "short", 0), 50, 0);
  add_path(snapshot, "none", 0);
  const ComparedRun run = compared(write_run(scratch, "run", snapshot));
  CHECK(run.regions.at("Batch/short").mean.value == 1);
  CHECK(run.regions.at("Batch/short").p50.value == 1);
  CHECK(run.regions.at("Batch/none").mean.value == 0);
}

TEST_CASE("takt diff: a region in steps has its time per step, unless every() skips calls") {
  const Scratch scratch;
  Snapshot snapshot;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  const std::uint32_t twice = add_path(snapshot, "twice", 0);
  const std::uint32_t sampled = add_path(snapshot, "sampled", 0);
  for (std::uint64_t step = 0; step < 20; ++step) {
    add_row(snapshot, 0, step).cells = {{twice, 2, 600, takt::Cell::kAbsent}, {sampled, 1, 100, takt::Cell::kAbsent}};
  }
  snapshot.series[0].steps = 20;
  add_calls(snapshot, twice, 40, 300);
  add_calls(snapshot, sampled, 20, 100);
  snapshot.paths[sampled].skipped = 60;
  const ComparedRun run = compared(write_run(scratch, "run", snapshot));
  const takt::detail::RunRegion& in_steps = run.regions.at("Batch/twice");
  CHECK(in_steps.of_steps);
  CHECK(in_steps.mean.value == Approx(600));
  CHECK(in_steps.p25.value == Approx(600));
  CHECK(in_steps.times_a_step == Approx(1));
  CHECK(in_steps.calls_a_step == Approx(2));
  CHECK_FALSE(run.regions.at("Batch/sampled").of_steps);
  CHECK(run.regions.at("Batch/sampled").mean.value == Approx(100));
}

TEST_CASE("takt diff: a copied run is the same run, and one that only shares its id is another") {
  const Scratch scratch;
  Snapshot snapshot;
  snapshot.run.id = "nightly";
  snapshot.run.start_unix_ns = 5;
  const ComparedRun run = compared(write_run(scratch, "one", snapshot));
  CHECK(compared(write_run(scratch, "copy", snapshot)).identity == run.identity);
  snapshot.run.start_unix_ns = 6;
  CHECK(compared(write_run(scratch, "other", snapshot)).identity != run.identity);
  snapshot.run.id = "";
  CHECK(compared(write_run(scratch, "nameless", snapshot)).identity !=
        compared(write_run(scratch, "another", snapshot)).identity);
}

TEST_CASE("takt diff: lists different recording versions of Takt") {
  const Scratch scratch;
  Snapshot snapshot;
  snapshot.run.takt_version = "0.1.0";
  const ComparedRun now = compared(write_run(scratch, "now", snapshot));
  CHECK(takt::detail::differences_of({now}, {now}).empty());
  snapshot.run.takt_version = "";
  const ComparedRun before = compared(write_run(scratch, "before", snapshot));
  const std::vector<takt::Finding> differences = takt::detail::differences_of({before}, {now});
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].what == "other_fact");
  CHECK(mentions(differences[0].sentence, {"version", "0.1.0"}));
}
