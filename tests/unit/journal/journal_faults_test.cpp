// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"
#include "support/stolen_descriptors.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using takt::ExportResult;
using takt::Snapshot;
using namespace takt::detail;
using namespace takt_test;

namespace {

const char* const kFirst = "journal-00000.tjl";
const char* const kSecondSegment = "journal-00001.tjl";

/// Writes a new file, because truncating an old one makes some file systems wait for the disk.
void write_anew(const std::string& path, const std::string& text) {
  std::filesystem::remove(path);
  write_text(path, text);
}

Snapshot small_run() {
  Snapshot snapshot;
  const std::uint32_t batch = add_path(snapshot, "Batch", add_path(snapshot, "Epoch"));
  add_path(snapshot, "IO", batch, takt::Kind::io);
  add_series(snapshot, batch, add_thread(snapshot, "main"));
  return snapshot;
}

/// A few periods in one segment.
struct Written {
  Written() {
    run.late = true;
    JournalExporter writer(scratch.path(""), plain_journal());
    for (int period = 0; period < kPeriods; ++period) { writer.export_snapshot(run.next(period == kPeriods - 1)); }
    bytes = read_text(scratch.path(kFirst));
  }

  static constexpr int kPeriods = 8;
  Scratch scratch;
  GrowingRun run{test_seed(), small_run()};
  std::string bytes;
};

bool begins_with(const std::vector<takt::Row>& all, const std::vector<takt::Row>& rows) {
  return rows.size() <= all.size() && std::equal(rows.begin(), rows.end(), all.begin(), same_row);
}

/// Acts as an ExportWorker does: rows answered with `retry` are shown again with newer ones.
class JournalErrorsShown {
 public:
  explicit JournalErrorsShown(JournalExporter& writer) : writer_(writer) {}
  ExportResult show(Snapshot snapshot) {
    held_.insert(held_.end(), snapshot.rows.begin(), snapshot.rows.end());
    snapshot.rows = held_;
    held_early_.insert(held_early_.end(), snapshot.early.begin(), snapshot.early.end());
    snapshot.early = held_early_;
    const ExportResult answer = writer_.export_snapshot(snapshot);
    if (answer == ExportResult::ok) {
      held_.clear();
      held_early_.clear();
    }
    return answer;
  }

 private:
  JournalExporter& writer_;
  std::vector<takt::Row> held_;
  std::vector<takt::Row> held_early_;
};

}  // namespace

TEST_CASE("journal: cut anywhere it is a shorter journal, and writing continues at the cut") {
  const Written written;
  const Scratch scratch;
  Snapshot whole;
  JournalReader(written.scratch.path("")).finish(whole);
  for (std::size_t cut = 0; cut < written.bytes.size(); cut += kSanitized ? 37 : 1) {
    write_anew(scratch.path(kFirst), written.bytes.substr(0, cut));
    JournalReader follower(scratch.path(""));
    JournalReader reader(scratch.path(""));
    Snapshot followed;
    Snapshot read;
    follower.read(followed);
    reader.finish(read);
    REQUIRE(is_undamaged(follower));
    REQUIRE(reader.damage().damaged_bytes == 0);
    REQUIRE(reader.damage().lost_frames == 0);
    REQUIRE(begins_with(written.run.all_rows, read.rows));
    REQUIRE(same_rows(read.rows, followed.rows));
    std::ofstream(scratch.path(kFirst), std::ios::binary | std::ios::app) << written.bytes.substr(cut);
    follower.finish(followed);
    REQUIRE(is_undamaged(follower));
    REQUIRE(followed.paths[1].host.sum_of_squares() == whole.paths[1].host.sum_of_squares());
    if (cut % 500 == 0) { REQUIRE((spell_state(followed) == spell_state(whole))); }
    REQUIRE(same_rows(followed.rows, written.run.all_rows));
  }
}

TEST_CASE("journal: a flipped bit loses at most its frame and is counted") {
  const Written written;
  const Scratch scratch;
  Random random(test_seed());
  for (std::size_t at = 0; at < written.bytes.size(); at += kSanitized ? 37 : 1) {
    std::string bytes = written.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    write_anew(scratch.path(kFirst), bytes);
    JournalReader reader(scratch.path(""));
    Snapshot read;
    REQUIRE(reader.finish(read));
    const JournalReader::Damage& damage = reader.damage();
    INFO("byte " << at);
    REQUIRE(reader.error().empty());
    REQUIRE(damage.lost_frames <= 1);
    REQUIRE(read.rows.size() + written.run.max_rows >=
            written.run.all_rows.size());  // a frame has the rows of one export
    const bool noticed = damage.damaged_bytes + damage.torn_tail_bytes != 0;
    // Only a bit in the padding goes unnoticed.
    if (!noticed) { REQUIRE(same_rows(read.rows, written.run.all_rows)); }
    if (damage.lost_frames == 1) { REQUIRE(noticed); }
  }
}

TEST_CASE("journal: skips a page of zeros in the middle") {
  const Written written;
  REQUIRE(written.bytes.size() > 3000);
  std::string bytes = written.bytes;
  std::fill(bytes.begin() + 1000, bytes.begin() + 2000, '\0');
  write_text(written.scratch.path(kFirst), bytes);
  JournalReader reader(written.scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.damage().damaged_bytes >= 1000);
  CHECK(reader.damage().lost_frames > 0);
  CHECK(reader.ended());
}

TEST_CASE("journal: a file of only frame starts is dropped after a bounded search") {
  const Scratch scratch;
  FrameBuffer good(0);
  good.add_header(SegmentHeader());
  good.add(FrameType::param, NoteRecord{"lr", "0.1"});
  // Every eight bytes look like the start of a frame that reaches to the end of the file.
  std::string bytes = good.bytes();
  bytes.resize((kSanitized ? 1U : 64U) << 20U);
  for (std::size_t at = good.bytes().size(); at < bytes.size(); at += 8) {
    const auto length = static_cast<std::uint32_t>(bytes.size() - at < 24 ? 0 : bytes.size() - at - 24);
    std::memcpy(bytes.data() + at, "tFrm", 4);
    std::memcpy(bytes.data() + at + 4, &length, sizeof length);
  }
  write_text(scratch.path(kFirst), bytes);
  FrameBuffer next(1);
  next.add_header(SegmentHeader());
  next.add(FrameType::param, NoteRecord{"batch", "64"});
  write_text(scratch.path(kSecondSegment), next.bytes());
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.checked_bytes() <= 10 * bytes.size());
  CHECK_FALSE(reader.error().empty());
  CHECK(reader.damage().damaged_bytes >= bytes.size() - good.bytes().size());
  CHECK(read.params["lr"] == "0.1");
  CHECK(read.params["batch"] == "64");
}

TEST_CASE("journal: moves paths nested too deep to the top and reports it") {
  const Scratch scratch;
  FrameBuffer frames(0);
  frames.add_header(SegmentHeader());
  constexpr std::uint32_t kPaths = 1U << 8U;
  const auto parent_of = [](std::uint32_t path) { return path == 0 ? takt::kNoIndex : path - 1; };
  const bool backwards = GENERATE(false, true);  // then a child is read before its parent
  for (std::uint32_t path = 0; path < kPaths; ++path) {
    const std::uint32_t index = backwards ? kPaths - 1 - path : path;
    frames.add(FrameType::path, PathRecord{index, std::string(300, 'x'), takt::Kind::io, parent_of(index), index});
  }
  write_text(scratch.path(kFirst), frames.bytes());
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  REQUIRE(read.paths.size() == kPaths);
  std::uint32_t deepest = 0;
  for (const takt::PathStats& path : read.paths) { deepest = std::max(deepest, path.depth); }
  CHECK(deepest == 127);
  CHECK(read.path_name(127).size() == 128 * 201 - 1);
  REQUIRE(read.losses.size() == 1);
  CHECK(read.losses[0].what == "nested_too_deep");
  CHECK(read.losses[0].count == kPaths / 128 - 1);
}

TEST_CASE("journal: expands only as many paths as memory holds and reports the rest") {
  const Scratch scratch;
  FrameBuffer frames(0);
  frames.add_header(SegmentHeader());
  constexpr std::uint32_t kPaths = 1U << 16U;
  for (std::uint32_t path = 0; path < kPaths; ++path) {
    const std::uint32_t parent = path == 0 ? takt::kNoIndex : std::min(path - 1, 60U);
    frames.add(FrameType::path, PathRecord{path, std::string(path < 64 ? 200 : 1, 'x'), takt::Kind::io, parent, 0});
  }
  write_text(scratch.path(kFirst), frames.bytes());
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  REQUIRE(read.paths.size() == kPaths);
  std::size_t bytes = 0;
  for (std::uint32_t path = 0; path < kPaths; ++path) { bytes += read.path_name(path).size(); }
  CHECK(bytes < std::size_t{8} << 20U);
  REQUIRE(read.losses.size() == 1);
  CHECK(read.losses[0].what == "nested_too_deep");
  CHECK(read.losses[0].count > kPaths / 2);
}

TEST_CASE("journal: accepts only indices of paths, threads and series that the bytes before can contain") {
  const Scratch scratch;
  FrameBuffer frames(0);
  frames.add_header(SegmentHeader());
  constexpr std::uint32_t kFar = 60'000;
  frames.add(FrameType::path, PathRecord{kFar, "far", takt::Kind::io, takt::kNoIndex, 0});
  frames.add(FrameType::thread, ThreadRecord{kFar, {}});
  frames.add(FrameType::series, SeriesRecord{kFar, {}});
  frames.add(FrameType::path, PathRecord{100, "near", takt::Kind::io, takt::kNoIndex, 0});
  for (std::uint32_t path = 0; path < kFar; ++path) {
    frames.add(FrameType::path, PathRecord{path, "one", takt::Kind::io, takt::kNoIndex, 0});
  }
  frames.add(FrameType::path, PathRecord{kFar, "far", takt::Kind::io, takt::kNoIndex, 0});
  write_text(scratch.path(kFirst), frames.bytes());
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.damage().unreadable_frames == 3);
  CHECK(read.paths.size() == kFar + 1);
  CHECK(read.threads.size() <= 1);  // to which a series would have pointed
  CHECK(read.series.empty());
}

TEST_CASE("journal: reading in parts gives the same, even if a frame is longer than a part") {
  const Scratch scratch;
  JournalExporter writer(scratch.path(""), plain_journal());
  GrowingRun run(test_seed());
  run.late = true;
  Snapshot long_one = run.next();
  long_one.params["long"] = std::string(std::size_t{5} << 20U, 'x');
  REQUIRE(writer.export_snapshot(long_one) == ExportResult::ok);
  const int periods = 300;
  for (int period = 1; period <= periods; ++period) {
    Snapshot now = run.next(period == periods);
    now.params["noise"] = std::string(20'000, static_cast<char>('a' + period % 20));
    REQUIRE(writer.export_snapshot(now) == ExportResult::ok);
  }
  JournalReader whole(scratch.path(""));
  Snapshot expected;
  REQUIRE(whole.finish(expected));
  JournalReader reader(scratch.path(""));
  Snapshot read;
  int parts = 0;
  while (reader.read_part(read)) { ++parts; }
  CHECK(parts > 5);
  CHECK((spell_state(read) == spell_state(expected)));
  CHECK(same_rows(read.rows, run.all_rows));
  CHECK(reader.ended());
  CHECK(is_undamaged(reader));
}

TEST_CASE("journal: exported data survives SIGKILL at any moment", "[timed]") {
  const std::uint32_t kills = static_cast<std::uint32_t>(scaled(60));
  for (std::uint32_t round = 0; round < kills; ++round) {
    const Scratch scratch;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      JournalExporter writer(scratch.path(""), plain_journal(8U << 10U));
      GrowingRun run(round);
      for (std::uint32_t periods = 1;; ++periods) {
        if (writer.export_snapshot(run.next()) != ExportResult::ok) { ::_exit(1); }
        if (::write(ends[1], &periods, sizeof periods) != sizeof periods) { ::_exit(2); }
      }
    }
    ::close(ends[1]);
    // Killed while it runs; everything acknowledged before the kill counts.
    std::uint32_t acknowledged = 0;
    while (acknowledged<1 + round&& ::read(ends[0], &acknowledged, sizeof acknowledged)> 0) {}
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    while (::read(ends[0], &acknowledged, sizeof acknowledged) > 0) {}
    ::close(ends[0]);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);

    GrowingRun same(round);
    for (std::uint32_t period = 0; period < acknowledged; ++period) { same.next(); }
    JournalReader reader(scratch.path(""));
    Snapshot read;
    REQUIRE(reader.finish(read));
    INFO("round " << round << ", " << acknowledged << " periods acknowledged");
    CHECK(reader.damage().damaged_bytes == 0);
    CHECK(reader.damage().lost_frames == 0);
    CHECK_FALSE(reader.ended());
    // At most one more period, written but not yet acknowledged.
    REQUIRE(read.rows.size() >= same.all_rows.size());
    same.next();
    REQUIRE(read.rows.size() <= same.all_rows.size());
    CHECK(std::equal(read.rows.begin(), read.rows.end(), same.all_rows.begin(), same_row));
  }
}

TEST_CASE("journal: a full disk that gets space again loses nothing") {
  const Scratch scratch;
  GrowingRun run(test_seed());
  const int failed = in_child([&] {
    JournalExporter writer(scratch.path(""), plain_journal());
    JournalErrorsShown shown(writer);
    if (shown.show(run.next()) != ExportResult::ok) { return 1; }
    const rlim_t full = read_text(scratch.path(kFirst)).size() + 100;
    limit_file_size(full);
    if (shown.show(run.next()) != ExportResult::retry) { return 2; }
    if (read_text(scratch.path(kFirst)).size() != full - 100) { return 3; }  // no partial frame remains
    limit_file_size(100);                                                    // a new segment does not fit either
    if (shown.show(run.next()) != ExportResult::retry) { return 4; }
    limit_file_size(0);
    const Snapshot last = run.next(true);
    if (shown.show(last) != ExportResult::ok) { return 5; }
    JournalReader reader(scratch.path(""));
    Snapshot read;
    if (!reader.finish(read) || !is_undamaged(reader)) { return 6; }
    if (!same_rows(read.rows, run.all_rows)) { return 7; }
    return spell_state(read) == spell_state(last) ? 0 : 8;
  });
  CHECK(failed == 0);
}

TEST_CASE("journal: without space for the last totals it says that the run has ended without them") {
  const Scratch scratch;
  GrowingRun run(test_seed());
  const int failed = in_child([&] {
    JournalExporter writer(scratch.path(""), plain_journal());
    JournalErrorsShown shown(writer);
    if (shown.show(run.next()) != ExportResult::ok) { return 1; }
    limit_file_size(400);
    const Snapshot last = run.next(true);
    for (int time = 0; time < 3; ++time) {
      if (shown.show(last) != ExportResult::retry) { return 2; }
    }
    {
      JournalReader reader(scratch.path(""));
      Snapshot read;
      if (!reader.finish(read) || !is_undamaged(reader)) { return 3; }
      if (!reader.ended() || read.wall_ns != last.wall_ns) { return 4; }
      const takt::Loss totals{"not_in_journal", "totals", 1};
      const auto same = [&](const takt::Loss& each) { return each.what == totals.what && each.where == totals.where; };
      if (std::none_of(read.losses.begin(), read.losses.end(), same)) { return 5; }
    }
    limit_file_size(0);
    if (shown.show(last) != ExportResult::ok) { return 6; }
    JournalReader reader(scratch.path(""));
    Snapshot read;
    if (!reader.finish(read) || !is_undamaged(reader) || !reader.ended()) { return 7; }
    // The rows are dropped with the reserve; the totals are complete.
    if (read.losses.size() != last.losses.size() + 1 || read.losses.back().where != "rows") { return 8; }
    read.losses.pop_back();
    return spell_state(read) == spell_state(last) ? 0 : 9;
  });
  CHECK(failed == 0);
}

TEST_CASE("journal: a partial export that could not be removed is neither lost nor read twice") {
  const Scratch scratch;
  GrowingRun run(test_seed());
  const Snapshot first = run.next();
  Snapshot second = run.next();
  while (second.rows.size() < 2) { second = run.next(); }
  JournalChanges changes;
  FrameBuffer start(0);
  start.add_header(SegmentHeader());
  changes.add_state(start, first);
  start.add(FrameType::period, PeriodRecord());
  FrameBuffer torn(start.next_sequence());
  changes.add_state(torn, second);
  for (const takt::Row& row : second.rows) { torn.add(FrameType::row, row); }
  write_text(scratch.path(kFirst), start.bytes() + torn.bytes().substr(0, torn.bytes().size() - 3));
  JournalReader follower(scratch.path(""));
  Snapshot followed;
  REQUIRE(follower.read(followed));
  CHECK(followed.rows.size() == second.rows.size() - 1);
  FrameBuffer again(start.next_sequence());
  again.add_header(SegmentHeader());
  JournalChanges anew;
  anew.add_state(again, second);
  for (const takt::Row& row : second.rows) { again.add(FrameType::row, row); }
  write_text(scratch.path(kSecondSegment), again.bytes());
  REQUIRE(follower.finish(followed));
  CHECK(same_rows(followed.rows, second.rows));
  CHECK(follower.damage().lost_frames == 0);
  CHECK(follower.damage().damaged_bytes == 0);
  CHECK(follower.damage().torn_tail_bytes > 0);
}

TEST_CASE(
    "journal: if the program reused its descriptor, it continues in a new segment and leaves the program's file "
    "alone") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  GrowingRun run(test_seed());
  {
    JournalExporter writer(scratch.path(""), plain_journal());
    for (int period = 0; period < 4; ++period) {
      REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
      const std::vector<int> numbers = open_files(".tjl");
      REQUIRE(numbers.size() == 1);
      steal(numbers[0], scratch.path("program's " + std::to_string(period)));
    }
    REQUIRE(writer.export_snapshot(run.next(true)) == ExportResult::ok);
    CHECK(writer.shutdown(std::chrono::milliseconds(0)));
  }
  CHECK(errors.lines().size() == 1);
  for (int period = 0; period < 4; ++period) {
    const std::vector<int> numbers = open_files("program's " + std::to_string(period));
    REQUIRE(numbers.size() == 1);
    CHECK(read_text(scratch.path("program's " + std::to_string(period))).empty());
    ::close(numbers[0]);
  }
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(same_rows(read.rows, run.all_rows));
  CHECK(reader.ended());
  CHECK(reader.damage().damaged_bytes + reader.damage().lost_frames == 0);
}

TEST_CASE("journal: skips a sparse segment longer than memory in pieces") {
  const Scratch scratch;
  GrowingRun run(test_seed());
  {
    JournalExporter writer(scratch.path(""), plain_journal());
    REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
  }
  REQUIRE(::truncate(scratch.path(kFirst).c_str(), off_t{1} << 29U) == 0);
  const int status = in_child([&] {
    rlimit memory = {std::size_t{400} << 20U, std::size_t{400} << 20U};
    if (!kSanitized) { ::setrlimit(RLIMIT_AS, &memory); }
    JournalReader reader(scratch.path(""));
    Snapshot read;
    if (!reader.finish(read)) { return 1; }
    if (!same_rows(read.rows, run.all_rows)) { return 3; }
    return reader.damage().torn_tail_bytes + reader.damage().damaged_bytes > (std::uint64_t{1} << 28U) ? 0 : 2;
  });
  CHECK(status == 0);
}

TEST_CASE("journal: on a disk that stays full the end of the run reports the minimum amount of missing data") {
  const Scratch scratch;
  const int status = in_child([&] {
    Snapshot snapshot = small_run();
    snapshot.series[0].steps = 5000;
    JournalExporter writer(scratch.path(""), plain_journal());
    add_row(snapshot, 0, 0);
    if (writer.export_snapshot(snapshot) != ExportResult::ok) { return 1; }
    limit_file_size(16'000);  // space for totals
    snapshot.rows.clear();
    for (std::int64_t step = 1; step < 5000; ++step) { add_row(snapshot, 0, static_cast<std::uint64_t>(step)); }
    for (std::size_t at = 0; at < snapshot.rows.size(); ++at) { snapshot.rows[at].sequence = at + 1; }
    if (writer.export_snapshot(snapshot) != ExportResult::retry) { return 2; }
    snapshot.finished = true;
    if (writer.export_snapshot(snapshot) != ExportResult::ok) { return 3; }
    return writer.shutdown(std::chrono::milliseconds(0)) ? 4 : 0;  // not everything was delivered
  });
  REQUIRE(status == 0);
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.ended());
  CHECK(read.rows.size() == 1);
  CHECK(read.series[0].steps == 5000);
  REQUIRE(read.losses.size() == 1);
  CHECK(read.losses[0].what == "not_in_journal");
  CHECK(read.losses[0].count == 4999);
}

TEST_CASE("journal: if removed while being written, it is rewritten in full") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  JournalExporter writer(scratch.path(""), plain_journal());
  GrowingRun run(test_seed());
  REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
  std::filesystem::remove(scratch.path(kFirst));
  const Snapshot last = run.next();
  REQUIRE(writer.export_snapshot(last) == ExportResult::ok);
  CHECK(contains(errors.text(), "was removed"));
  CHECK(writer.changed_files() == 1);
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.read(read));
  REQUIRE(read.losses.size() == last.losses.size() + 1);
  CHECK(read.losses.back().what == "journal_changed");
  read.losses.pop_back();
  CHECK((spell_state(read) == spell_state(last)));
  CHECK(reader.damage().lost_frames > 0);
}

TEST_CASE("journal: if truncated while being written, it continues in a separate file that is read") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  JournalExporter writer(scratch.path(""), plain_journal());
  GrowingRun run(test_seed());
  REQUIRE(writer.export_snapshot(run.next()) == ExportResult::ok);
  std::filesystem::resize_file(scratch.path(kFirst), 101);  // not aligned to anything
  const Snapshot last = run.next(true);
  REQUIRE(writer.export_snapshot(last) == ExportResult::ok);
  CHECK(mentions(errors.text(), {kFirst, "changed while it was written"}));
  CHECK(writer.changed_files() == 1);
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(reader.ended());
  CHECK(read.losses.back().what == "journal_changed");
  read.losses.pop_back();
  CHECK((spell_state(read) == spell_state(last)));
}

TEST_CASE("journal: a removed directory is reported once, and nothing is lost if it returns") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  const std::string directory = scratch.path("run");
  JournalExporter writer(directory, plain_journal());
  JournalErrorsShown shown(writer);
  GrowingRun run(test_seed());
  for (int period = 0; period < 10; ++period) { REQUIRE(shown.show(run.next()) == ExportResult::retry); }
  REQUIRE(errors.lines().size() == 1);
  CHECK(contains(errors.text(), "cannot make " + directory));
  std::filesystem::create_directory(directory);
  REQUIRE(shown.show(run.next()) == ExportResult::ok);
  JournalReader reader(directory);
  Snapshot read;
  REQUIRE(reader.read(read));
  CHECK(same_rows(read.rows, run.all_rows));
  CHECK(is_undamaged(reader));
}

TEST_CASE("journal: does not follow a link in place of a segment") {
  const Scratch scratch;
  write_text(scratch.path("mine"), "untouched");
  std::filesystem::create_symlink(scratch.path("mine"), scratch.path(kFirst));
  JournalExporter writer(scratch.path(""), plain_journal());
  JournalErrorsShown shown(writer);
  GrowingRun run(test_seed());
  CHECK(shown.show(run.next()) == ExportResult::retry);
  CHECK(shown.show(run.next()) == ExportResult::ok);
  CHECK(read_text(scratch.path("mine")) == "untouched");
  CHECK(exists(scratch.path(kSecondSegment)));
}

TEST_CASE("journal: a frame that refers to lost data still gets valid placeholders") {
  const Scratch scratch;
  FrameBuffer frames(0);
  frames.add_header(SegmentHeader());
  TotalsRecord totals;
  totals.path = 3;
  totals.host.scalars.n = 1;
  frames.add(FrameType::totals, totals);
  takt::Row row;
  row.series = 2;
  row.cells.resize(1);
  row.cells[0].path = 5;
  frames.add(FrameType::row, row);
  frames.add(FrameType::path, PathRecord{1, "below itself", takt::Kind::io, 1, 1});
  takt::Cell far;
  far.path = 0xFFFFFFF0U;
  row.sequence = 1;
  row.cells = {far};
  frames.add(FrameType::row, row);
  write_text(scratch.path(kFirst), frames.bytes());
  JournalReader reader(scratch.path(""));
  Snapshot read;
  REQUIRE(reader.finish(read));
  REQUIRE(read.paths.size() == 6);
  CHECK(read.path_name(3) == "(lost)");
  CHECK(read.series.size() == 3);
  CHECK(read.threads.size() == 1);
  CHECK(read.rows.size() == 1);
  CHECK(reader.damage().unreadable_frames == 2);
}
