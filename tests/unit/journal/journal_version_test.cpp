// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/tests_directory.hpp"

#include <filesystem>
#include <string>

using takt::ExportResult;
using takt::Snapshot;
using takt::detail::JournalExporter;
using takt::detail::JournalReader;
using namespace takt_test;

namespace {

std::string data_directory(const char* name) { return (takt_test::tests_directory() / "data" / name).string(); }

takt::RunInfo journal_version_run_in(const char* name) {
  JournalReader reader(data_directory(name));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  return read.run;
}

}  // namespace

// Run by name to rewrite the file, until the version that wrote it is released.
TEST_CASE("write the golden file of a journal with the version of Takt", "[.golden]") {
  JournalExporter writer(data_directory("journal-version"), plain_journal());
  Snapshot snapshot = sample_snapshot();
  snapshot.run.pid_namespace = 4'026'531'836;
  snapshot.run.takt_version = "0.1.0";
  snapshot.finished = true;
  REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
}

TEST_CASE("The version of Takt in a journal: the golden file always reads the same, and older ones have none") {
  CHECK(journal_version_run_in("journal-version").takt_version == "0.1.0");
  CHECK(journal_version_run_in("journal-version").pid_namespace == 4'026'531'836);
  CHECK(journal_version_run_in("journal-0.1").takt_version.empty());
  CHECK(journal_version_run_in("journal").takt_version.empty());
}
