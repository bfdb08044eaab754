// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/journal_peek.hpp"

#include "base/directory_files.hpp"
#include "journal/journal_format.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"

#include <string>

using namespace takt_test;
using takt::Snapshot;
using takt::detail::DirectoryFiles;
using takt::detail::JournalPeek;
using takt::detail::peek_journal;

namespace {

Snapshot process_of_rank(int rank) {
  Snapshot snapshot = sample_snapshot();
  snapshot.run.id = "job";
  snapshot.run.rank = rank;
  snapshot.run.start_unix_ns = 77;
  snapshot.finished = false;
  return snapshot;
}

JournalPeek peek(const Scratch& scratch) { return peek_journal(DirectoryFiles(scratch.path(""))); }

}  // namespace

TEST_CASE("Journal peek: finds run and rank in every segment, and whether it has ended") {
  const Scratch scratch;
  CHECK_FALSE(peek(scratch).has_run);
  takt::detail::JournalExporter exporter(scratch.path(""), plain_journal(4096));
  GrowingRun run(test_seed(), process_of_rank(5));
  exporter.begin(process_of_rank(5));
  std::uint64_t journal = 0;
  for (int period = 0; period < 60; ++period) {
    const bool last = period == 59;
    REQUIRE(exporter.export_snapshot(run.next(last)) == takt::ExportResult::ok);
    const JournalPeek seen = peek(scratch);
    REQUIRE(seen.has_run);
    CHECK(seen.run.id == "job");
    CHECK(seen.run.rank == 5);
    CHECK(seen.run.start_unix_ns == 77);
    CHECK(seen.ended == last);
    CHECK(seen.journal != 0);
    CHECK((journal == 0 || seen.journal == journal));
    journal = seen.journal;
  }
  CHECK(exists(scratch.path(takt::detail::segment_name(3))));
}

TEST_CASE("Journal peek: skips damaged and empty segments") {
  const Scratch scratch;
  takt::detail::JournalExporter exporter(scratch.path(""), plain_journal());
  exporter.begin(process_of_rank(2));
  const std::string first = scratch.path(takt::detail::segment_name(0));
  const std::string whole = read_text(first);
  write_text(scratch.path(takt::detail::segment_name(1)), "");
  CHECK(peek(scratch).run.rank == 2);
  write_text(scratch.path(takt::detail::segment_name(1)), whole.substr(0, 70));
  CHECK(peek(scratch).run.rank == 2);
  write_text(scratch.path(takt::detail::segment_name(1)), std::string(100'000, '\x55'));
  CHECK(peek(scratch).run.rank == 2);
  std::string changed = whole;
  changed[64 + 40] ^= 1;  // in the run's frame
  write_text(first, changed);
  CHECK_FALSE(peek(scratch).has_run);
  CHECK(peek(scratch).journal != 0);
  changed = whole;
  changed[30] ^= 1;  // in the header
  write_text(first, changed);
  CHECK(peek(scratch).run.rank == 2);
  CHECK(peek(scratch).journal == 0);
}
