// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using takt::ExportResult;
using takt::Snapshot;
using takt::detail::JournalExporter;
using takt::detail::JournalReader;
using namespace takt_test;

namespace {

using Groups = std::vector<std::pair<std::string, int>>;

std::string golden_groups() { return (takt_test::tests_directory() / "data" / "journal-groups").string(); }

Snapshot run_in(const Groups& groups, bool finished = false) {
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = finished;
  snapshot.run.groups = groups;
  return snapshot;
}

/// Returns the final groups of a journal.
Groups groups_in(const std::string& directory) {
  JournalReader reader(directory);
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  return read.run.groups;
}

void write_groups(JournalExporter& writer) {
  REQUIRE(writer.export_snapshot(run_in({{"stage", 1}})) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(run_in({{"stage", 2}, {"tensor", 0}}, true)) == ExportResult::ok);
}

}  // namespace

// Run by name to rewrite the file, until the version that wrote it is released.
TEST_CASE("write the golden file of a journal with groups", "[.golden]") {
  JournalExporter writer(golden_groups(), plain_journal());
  write_groups(writer);
}

TEST_CASE("Groups in a journal: the golden file always reads the same") {
  CHECK(groups_in(golden_groups()) == Groups{{"stage", 2}, {"tensor", 0}});
}

TEST_CASE("Groups in a journal: each segment has them, and a journal without groups has no such frame") {
  const Scratch scratch;
  {
    JournalExporter writer(scratch.path("."), plain_journal(1));  // one segment per export
    for (int export_number = 0; export_number < 3; ++export_number) {
      REQUIRE(writer.export_snapshot(run_in({{"stage", 1}})) == ExportResult::ok);
    }
  }
  std::filesystem::remove(scratch.path("journal-00000.tjl"));
  JournalReader reader(scratch.path("."));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(read.run.groups == Groups{{"stage", 1}});

  takt::detail::JournalChanges changes;
  takt::detail::FrameBuffer with(0);
  takt::detail::FrameBuffer without(0);
  changes.add_state(with, run_in({{"stage", 1}}));
  changes.clear();
  changes.add_state(without, run_in({}));
  CHECK(with.bytes().size() > without.bytes().size());
}
