// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using nlohmann::json;
using takt::ExportResult;
using takt::RegionMemory;
using takt::Snapshot;
using takt::detail::JournalExporter;
using takt::detail::JournalReader;
using namespace takt_test;

namespace {

const RegionMemory kForward{"Forward", {600, 12'000'000, 3'000'000, 1'200'000'000}, {600, 0, -4, 900'000'000}};
const RegionMemory kOdd{"odd", {~std::uint64_t{0}, std::numeric_limits<std::int64_t>::min(), -1, 0}, {0, 0, 0, 0}};

std::string golden_memories() { return (takt_test::tests_directory() / "data" / "journal-memories").string(); }

Snapshot run_with_memories(const std::vector<RegionMemory>& memories, bool finished = true) {
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = finished;
  snapshot.region_memories = memories;
  takt::PathStats& decode = snapshot.paths.back();
  decode.spread = {2, 1, decode.host.total_ns() - 5};
  return snapshot;
}

/// Returns what summary.json says about the memory of regions and the threads of the last path.
json figures_in(const Snapshot& snapshot) {
  const json summary = json::parse(takt::format_json(snapshot));
  return {summary["region_memories"], summary["paths"].back()["threads"]};
}

void write_memories(const std::string& directory) {
  JournalExporter writer(directory, plain_journal());
  REQUIRE(writer.export_snapshot(run_with_memories({kForward}, false)) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(run_with_memories({kForward, kOdd})) == ExportResult::ok);
}

void check_memories(const std::string& directory) {
  JournalReader reader(directory);
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  CHECK(figures_in(read) == figures_in(run_with_memories({kForward, kOdd})));
  CHECK(read.region_memories.size() == 2);
  CHECK(read.paths.back().spread.longest == 1);
}

}  // namespace

// Run by name to rewrite the file, until the version that wrote it is released.
TEST_CASE("write the golden file of a journal with the memory of regions", "[.golden]") {
  write_memories(golden_memories());
}

TEST_CASE("Memory of regions in a journal: the golden file always reads the same") {
  check_memories(golden_memories());
}

TEST_CASE("Memory of regions in a journal: any number is restored, and the times by thread") {
  const Scratch scratch;
  write_memories(scratch.path("."));
  check_memories(scratch.path("."));
}

TEST_CASE("Memory of regions in a journal: too many are refused, and so are unknown threads") {
  const Scratch scratch;
  {
    Snapshot snapshot = run_with_memories(std::vector<RegionMemory>(65, kForward));
    snapshot.paths.back().spread.longest = 0xFFFFFFFE;
    JournalExporter writer(scratch.path("."), plain_journal());
    REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
  }
  JournalReader reader(scratch.path("."));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.damage().unreadable_frames == 2);
  CHECK(read.region_memories.empty());
}
