// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/watch.hpp"

#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/other_processes.hpp"
#include "support/scratch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace takt_test;
using takt::Snapshot;
using takt::cli::RunReport;
using takt::cli::WatchedRun;

namespace {

/// A rank that writes its journal while it is read.
class WritingRank {
 public:
  WritingRank(const std::string& run, int rank, int ranks, std::int64_t pid = ::getpid())
      : directory_(run + "/rank-" + std::to_string(rank)) {
    ::mkdir(run.c_str(), 0700);
    REQUIRE(::mkdir(directory_.c_str(), 0700) == 0);
    now_.run.id = "run";
    now_.run.rank = rank;
    now_.run.world_size = ranks;
    now_.run.host = this_host();
    now_.run.pid = pid;
    journal_ = std::make_unique<takt::detail::JournalExporter>(directory_, plain_journal());
    journal_->begin(now_);
    add_series(now_, add_path(now_, "Batch"), add_thread(now_, "main"));
    add_path(now_, "Comm", 0, takt::Kind::comm);
  }

  void write(std::uint64_t steps, bool finished = false) {
    now_.rows.clear();
    for (; steps > 0; --steps) {
      takt::Row& row = add_row(now_, 0, now_.series[0].steps++);
      row.cells = {{1, 1, 100 + now_.run.rank, takt::Cell::kAbsent}};
      now_.paths[0].host.add(900);
      now_.paths[1].host.add(100 + static_cast<std::uint64_t>(now_.run.rank));
    }
    now_.wall_ns += 1'000'000;
    now_.finished = finished;
    REQUIRE(journal_->export_snapshot(now_) == takt::ExportResult::ok);
  }

  const std::string& directory() const noexcept { return directory_; }

 private:
  std::string directory_;
  Snapshot now_;
  std::unique_ptr<takt::detail::JournalExporter> journal_;
};

WatchedRun live(const std::string& run) { return WatchedRun({run, takt::cli::ranks_in(run)}); }

std::string text_of(const RunReport& report) { return takt::cli::report_text(report, {200, false}); }

/// Returns the table without the states of ranks, which depend on the time since their last heartbeat.
std::string table_of(const WatchedRun& run) { return takt::detail::format_job(run.report().job, {200, false}); }

/// Returns the table of a run read from its start now.
std::string table_of_whole(const std::string& run) {
  WatchedRun whole = live(run);
  REQUIRE(whole.read_on());
  return table_of(whole);
}

}  // namespace

TEST_CASE("Live run: a run read while written is reported as one read at its end") {
  const Scratch scratch;
  const std::string run = scratch.path("run");
  WritingRank first(run, 0, 2);
  WritingRank second(run, 1, 2);
  WatchedRun watched = live(run);
  for (const std::uint64_t steps : {1U, 100U, 0U, 40U}) {
    first.write(steps);
    second.write(steps);
    REQUIRE(watched.read_on());
    CHECK_FALSE(watched.ended());
    CHECK(table_of(watched) == table_of_whole(run));
  }
  first.write(0, true);
  REQUIRE(watched.read_on());
  CHECK_FALSE(watched.ended());
  second.write(0, true);
  REQUIRE(watched.read_on());
  CHECK(watched.ended());
  CHECK(table_of(watched) == table_of_whole(run));
  CHECK(contains(table_of(watched), "over 141 steps"));
  CHECK(watched.report().ranks[1].kept_steps->main_batches()->rows == 141);
}

TEST_CASE("Live run: does not read data again") {
  const Scratch scratch;
  const std::string run = scratch.path("run");
  WritingRank rank(run, 0, 1);
  rank.write(20'000);
  WatchedRun watched = live(run);
  REQUIRE(watched.read_on());
  const std::uint64_t first = watched.checked_bytes();
  CHECK(first > 100'000);
  REQUIRE(watched.read_on());
  CHECK(watched.checked_bytes() == first);
  rank.write(10);
  REQUIRE(watched.read_on());
  CHECK(watched.checked_bytes() > first);
  CHECK(watched.checked_bytes() < first + 10'000);
  CHECK(watched.report().ranks[0].rows == 20'010);
}

TEST_CASE("Live run: reading can stop between parts and continues there") {
  const Scratch scratch;
  const std::string run = scratch.path("run");
  WritingRank rank(run, 0, 1);
  for (int part = 0; part < 8; ++part) { rank.write(20'000); }
  WatchedRun watched = live(run);
  int parts = 1;
  while (!watched.read_on([] { return true; })) { ++parts; }
  CHECK(parts > 1);
  CHECK(watched.report().ranks[0].rows == 160'000);
}

TEST_CASE("Live run: reports late ranks, and one that died ends only itself") {
  const Scratch scratch;
  const std::string run = scratch.path("run");
  WritingRank first(run, 0, 3);
  first.write(10);
  WatchedRun watched = live(run);
  REQUIRE(watched.read_on());
  CHECK(line_mentions(text_of(watched.report()), {"2", "3", "1, 2"}));
  WritingRank second(run, 1, 3, kNobody);
  second.write(10);
  ::mkdir((run + "/rank-2").c_str(), 0700);  // still empty
  REQUIRE(watched.read_on());
  CHECK_FALSE(watched.ended());
  const std::string text = text_of(watched.report());
  CHECK(line_mentions(text, {"1", "3", "2"}));
  CHECK(line_mentions(text, {"rank 1", "died"}));
  CHECK(line_mentions(text, {"rank 0", "running"}));
  CHECK(text.find("rank 1: ") < text.find("rank 0: "));
  first.write(1, true);
  REQUIRE(watched.read_on());
  CHECK(watched.ended());
}

TEST_CASE("Live run: beyond the maximum number of ranks it has no findings on steps and reports that") {
  const Scratch scratch;
  const std::string run = scratch.path("run");
  std::vector<std::unique_ptr<WritingRank>> ranks;
  const auto write_rank = [&] {
    ranks.push_back(std::make_unique<WritingRank>(run, static_cast<int>(ranks.size()), 17));
    ranks.back()->write(1);
  };
  while (ranks.size() < WatchedRun::kMaxHistories) { write_rank(); }
  WatchedRun watched = live(run);
  REQUIRE(watched.read_on());
  CHECK(watched.report().ranks[0].snapshot.history != nullptr);
  CHECK_FALSE(line_mentions(text_of(watched.report()), {"16", "findings"}));
  write_rank();
  REQUIRE(watched.read_on());
  CHECK(watched.report().ranks[0].snapshot.history == nullptr);
  CHECK(line_mentions(text_of(watched.report()), {"16", "findings"}));
}

TEST_CASE("Live run: an unreadable run has its reason") {
  const Scratch scratch;
  const std::string run = scratch.path("run");
  ::mkdir(run.c_str(), 0700);
  ::mkdir((run + "/rank-0").c_str(), 0700);
  WatchedRun watched = live(run);
  REQUIRE(watched.read_on());
  CHECK_FALSE(watched.readable());
  CHECK(contains(watched.why_unreadable(), run + "/rank-0"));
}

TEST_CASE("Live run: its line has figures and the first finding, and is safe for a terminal") {
  RunReport report;
  report.ranks.resize(2);
  report.ranks[0].ending = takt::cli::Ending::running;
  report.ranks[1].ending = takt::cli::Ending::finished;
  report.ranks[1].steps = {{"Batch", 1234, 1234}};
  report.missing = {2, 3};
  Snapshot& sum = report.job.sum;
  sum.run.id = "a \"b\x1b[2J\n";
  CHECK(takt::cli::watch_line(report, 1'772'360'130'000'000'000) ==
        "time=2026-03-01T10:15:30Z run=\"a \\\"b?[2J?\" state=running ranks=2 world_size=4 steps=1234\n");
  add_series(sum, add_path(sum, "Batch"), add_thread(sum, "main"));
  sum.series[0].throughput.steps = 100;
  sum.series[0].throughput.items = 6400;
  sum.series[0].throughput.period_ns = 2'000'000'000;
  sum.series[0].throughput.steps_per_s = 50;
  sum.series[0].throughput.items_per_s = 3200;
  takt::Finding finding;
  finding.sentence = "input-bound: IO is 41 % of a step";
  sum.findings = {finding, finding};
  CHECK(contains(takt::cli::watch_line(report, 0),
                 " steps=1234 step_s=0.02 steps_per_s=50 items_per_s=3200 "
                 "finding=\"input-bound: IO is 41 % of a step\"\n"));
}
