// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

using takt::ClockReading;
using takt::ExportResult;
using takt::Snapshot;
using takt::detail::JournalExporter;
using takt::detail::JournalReader;
using namespace takt_test;

namespace {

using Readings = std::vector<ClockReading>;

const ClockReading kEarly{4, 1'772'360'130'000'000'000, -86'400'000'000'123, 2500};
const ClockReading kLate{0, 1'772'363'730'000'000'000, -86'399'685'000'123, 1700};

std::string golden_clocks() { return (takt_test::tests_directory() / "data" / "journal-clocks").string(); }

Snapshot run_with(const Readings& readings, bool finished = false) {
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = finished;
  snapshot.clock_readings = readings;
  return snapshot;
}

/// Returns the final readings of a journal.
Readings readings_in(const std::string& directory) {
  JournalReader reader(directory);
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  return read.clock_readings;
}

void check(const Readings& readings, const Readings& expected) {
  REQUIRE(readings.size() == expected.size());
  for (std::size_t at = 0; at < readings.size(); ++at) {
    CHECK(readings[at].rank == expected[at].rank);
    CHECK(readings[at].unix_ns == expected[at].unix_ns);
    CHECK(readings[at].ahead_ns == expected[at].ahead_ns);
    CHECK(readings[at].error_ns == expected[at].error_ns);
  }
}

}  // namespace

// Run by name to rewrite the file, until the version that wrote it is released.
TEST_CASE("write the golden file of a journal with clock readings", "[.golden]") {
  JournalExporter writer(golden_clocks(), plain_journal());
  REQUIRE(writer.export_snapshot(run_with({kEarly})) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(run_with({kEarly, kLate}, true)) == ExportResult::ok);
}

TEST_CASE("Clock readings in a journal: the golden file always reads the same") {
  check(readings_in(golden_clocks()), {kEarly, kLate});
}

TEST_CASE("Clock readings in a journal: each segment has them and any number is restored") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Readings odd = {{0xFFFFFFFF, -kMax - 1, kMax, -1}, {0, 0, 0, 0}};
  const Scratch scratch;
  {
    JournalExporter writer(scratch.path("."), plain_journal(1));  // one segment per export
    for (int export_number = 0; export_number < 3; ++export_number) {
      REQUIRE(writer.export_snapshot(run_with(odd)) == ExportResult::ok);
    }
  }
  std::filesystem::remove(scratch.path("journal-00000.tjl"));
  JournalReader reader(scratch.path("."));
  Snapshot read;
  REQUIRE(reader.finish(read));
  check(read.clock_readings, odd);
}

TEST_CASE("Clock readings in a journal: no frame without readings, and too many are refused") {
  takt::detail::JournalChanges changes;
  takt::detail::FrameBuffer with(0);
  takt::detail::FrameBuffer without(0);
  changes.add_state(with, run_with({kEarly}));
  changes.clear();
  changes.add_state(without, run_with({}));
  CHECK(with.bytes().size() > without.bytes().size());

  const Scratch scratch;
  {
    JournalExporter writer(scratch.path("."), plain_journal());
    REQUIRE(writer.export_snapshot(run_with(Readings(65, kEarly), true)) == ExportResult::ok);
  }
  JournalReader reader(scratch.path("."));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.damage().unreadable_frames == 1);
  CHECK(read.clock_readings.empty());
}
