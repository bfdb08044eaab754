// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank.hpp"

#include <takt/error.hpp>

#include "base/other_process.hpp"
#include "cli/run_directory.hpp"
#include "journal/journal_state.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/other_processes.hpp"
#include "support/scratch.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace takt_test;
using takt::Snapshot;
using takt::cli::Ending;
using takt::cli::Rank;

namespace {

Snapshot run_of(const std::string& host, std::int64_t pid, bool finished = false) {
  Snapshot snapshot;
  snapshot.run.host = host;
  snapshot.run.pid = pid;
  snapshot.wall_ns = 1'000'000'000;
  snapshot.finished = finished;
  add_thread(snapshot, "main\x1b[2J");
  add_path(snapshot, "Epoch");
  add_path(snapshot, "Comm\x1b[2J", 0);
  if (!finished) { snapshot.open = {{0, 0, 400'000'000'000}, {1, 0, 312'000'000'000}}; }
  return snapshot;
}

void write_journal(const std::string& directory, const Snapshot& snapshot) {
  takt::detail::JournalExporter exporter(directory, plain_journal());
  Snapshot beginning;
  beginning.run = snapshot.run;
  exporter.begin(beginning);
  REQUIRE(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
}

/// Makes the files look as if they were last written `seconds` ago.
void age(const std::string& directory, long seconds) {
  timespec times[2] = {};
  ::clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  REQUIRE(::utimensat(AT_FDCWD, (directory + "/journal-00000.tjl").c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a journal without an end, of a dead process: it died in its innermost open region") {
  const Scratch scratch;
  write_journal(scratch.path("."), run_of(this_host(), kNobody));
  const Rank rank = takt::cli::read_rank(scratch.path("."));
  CHECK(rank.ending == Ending::died);
  const std::string text = takt::cli::describe(rank);
  CHECK(mentions(text, {"died", "Epoch > Comm?[2J", "312 s", "thread main?[2J"}));
  CHECK_FALSE(contains(text, "\x1b"));
  Rank unnamed = rank;
  unnamed.snapshot.threads[0].name = "thread 0";
  CHECK(mentions(takt::cli::describe(unnamed), {"312 s", "(thread 0)"}));
}

TEST_CASE("a silent process expires by the clock that stamps its files") {
  const Scratch scratch;
  write_journal(scratch.path("."), run_of("elsewhere", kNobody));
  const takt::detail::DirectoryFiles files(scratch.path("."));
  CHECK_FALSE(takt::cli::is_given_up(files));
  age(scratch.path("."), 900);  // or this machine's clock is ahead
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  CHECK(takt::cli::is_given_up(files));
  CHECK_FALSE(takt::cli::is_given_up(files, (now.tv_sec - 890) * 1'000'000'000));
  CHECK_FALSE(takt::cli::is_given_up(files, 0));  // unknown
}

TEST_CASE("a process that died before its first state was written is reported without a place") {
  const Scratch scratch;
  const auto begin = [&](const std::string& directory, const Snapshot& snapshot) {
    REQUIRE(::mkdir(scratch.path(directory).c_str(), 0700) == 0);
    takt::detail::JournalExporter(scratch.path(directory), plain_journal()).begin(snapshot);
    return takt::cli::describe(takt::cli::read_rank(scratch.path(directory)));
  };
  Snapshot snapshot = run_of(this_host(), kNobody);  // a region is open when the Session starts
  CHECK(mentions(begin("open", snapshot), {"died", "does not say where"}));
  CHECK_FALSE(mentions(begin("open again", snapshot), {"Epoch"}));
  snapshot.open.clear();
  CHECK(mentions(begin("dead", snapshot), {"died", "does not say where"}));
  snapshot.run.pid = ::getpid();
  CHECK(mentions(begin("alive", snapshot), {"running", "does not say where"}));
  const Rank elsewhere = [] {
    Rank rank;
    rank.snapshot.run.host = "elsewhere";
    rank.states = 1;
    return rank;
  }();
  CHECK(mentions(takt::cli::describe(elsewhere), {"elsewhere", "does not say where"}));
}

TEST_CASE("a journal without an end, of a live process: it runs") {
  const Scratch scratch;
  write_journal(scratch.path("."), run_of(this_host(), ::getpid()));
  CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::running);
}

TEST_CASE("a process that started after the journal's last write only shares the number") {
  const Scratch scratch;
  write_journal(scratch.path("."), run_of(this_host(), ::getpid()));
  age(scratch.path("."), 400'000'000);
  CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::died);
}

TEST_CASE("a process on another machine can only be judged by its silence") {
  const Scratch scratch;
  write_journal(scratch.path("."), run_of("elsewhere.invalid", ::getpid()));
  CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::running);
  age(scratch.path("."), 300);
  const Rank rank = takt::cli::read_rank(scratch.path("."));
  CHECK(rank.ending == Ending::silent);
  CHECK(mentions(takt::cli::describe(rank), {"elsewhere.invalid", "Epoch"}));
}

TEST_CASE("a process numbered by a container can only be judged by its silence") {
  const Scratch scratch;
  Snapshot snapshot = run_of(this_host(), kNobody);
  snapshot.run.pid_namespace = takt::detail::pid_namespace().value() + 1;
  write_journal(scratch.path("."), snapshot);
  CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::running);
  age(scratch.path("."), 300);
  CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::silent);
}

TEST_CASE("a recorded end counts even if a process with that number lives") {
  const Scratch scratch;
  Snapshot snapshot = run_of(this_host(), ::getpid(), true);
  SECTION("good") {
    write_journal(scratch.path("."), snapshot);
    CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::finished);
  }
  SECTION("bad") {
    snapshot.failed = true;
    write_journal(scratch.path("."), snapshot);
    CHECK(takt::cli::read_rank(scratch.path(".")).ending == Ending::failed);
  }
  SECTION("by SIGTERM") {
    snapshot.failed = snapshot.killed = true;
    snapshot.open = {{0, 0, 400'000'000'000}, {1, 0, 312'000'000'000}};
    write_journal(scratch.path("."), snapshot);
    const Rank rank = takt::cli::read_rank(scratch.path("."));
    CHECK(rank.ending == Ending::killed);
    CHECK(rank.snapshot.killed);
    CHECK(mentions(takt::cli::describe(rank), {"SIGTERM", "Epoch > Comm?[2J", "312 s", "thread main?[2J"}));
  }
}

TEST_CASE("the golden text of endings has each of them") {
  Rank rank;
  rank.snapshot = run_of("elsewhere", kNobody);
  rank.heartbeat_unix_ns = 4'000'000'000'000'000'000;  // in the future, so shown as just now
  std::string text;
  for (const std::uint64_t states : {1U, 2U}) {
    rank.states = states;
    for (const Ending ending : {Ending::running, Ending::died, Ending::silent}) {
      rank.ending = ending;
      text += takt::cli::describe(rank) + "\n";
    }
  }
  for (const Ending ending : {Ending::finished, Ending::failed, Ending::killed}) {
    rank.ending = ending;
    text += takt::cli::describe(rank) + "\n";
  }
  rank.ending = Ending::failed;
  rank.snapshot.uncaught = {true, "std::runtime_error", "no data", 0, {0, 1}};
  text += takt::cli::describe(rank) + "\n";
  rank.snapshot.uncaught = takt::Uncaught();
  rank.snapshot.uncaught.happened = true;
  text += takt::cli::describe(rank) + "\n";
  check_golden("endings.txt", text);
}

TEST_CASE("rows are passed on in parts, each once and in order, and not kept") {
  const Scratch scratch;
  GrowingRun run(7);
  {
    takt::detail::JournalExporter exporter(scratch.path("."), plain_journal(4000));
    for (int period = 0; period < 60; ++period) { exporter.export_snapshot(run.next()); }
    exporter.export_snapshot(run.next(true));
  }
  std::vector<takt::Row> rows;
  std::vector<takt::Metric> metrics;
  int parts = 0;
  const Rank rank = takt::cli::read_rank(scratch.path("."), [&](const Snapshot& part) {
    ++parts;
    rows.insert(rows.end(), part.rows.begin(), part.rows.end());
    metrics.insert(metrics.end(), part.metrics.begin(), part.metrics.end());
  });
  CHECK(parts > 3);
  CHECK(static_cast<std::size_t>(parts) <= rank.segments);
  CHECK(same_rows(rows, run.all_rows));
  CHECK(same_metrics(metrics, run.all_metrics));
  CHECK(rank.rows == rows.size());
  CHECK(rank.snapshot.rows.empty());
  CHECK(takt::cli::damages(rank).empty());
}

TEST_CASE("a process is alive, dead, or out of sight") {
  using takt::detail::Life;
  const std::int64_t future = std::int64_t{1} << 62U;
  const std::uint64_t ours = takt::detail::pid_namespace().value();
  CHECK(takt::detail::life_of(this_host(), ::getpid(), future, ours) == Life::alive);
  CHECK(takt::detail::life_of(this_host(), ::getpid(), 0, ours) == Life::gone);
  CHECK(takt::detail::life_of(this_host(), kNobody, future, ours) == Life::gone);
  CHECK(takt::detail::life_of("elsewhere.invalid", kNobody, future, ours) == Life::unknown);
  CHECK(takt::detail::life_of(this_host(), kNobody, future, std::nullopt) == Life::gone);
  CHECK(takt::detail::life_of(this_host(), kNobody, future, ours + 1) == Life::unknown);
}

TEST_CASE("a process is identified by boot, start and program, not by its number alone") {
  using takt::detail::Life;
  const takt::ProcessMark mark = takt::detail::process_mark();
  REQUIRE((mark.boot && mark.start && mark.image));
  const std::int64_t now = std::int64_t{1} << 62U;
  const auto life = [&](const takt::ProcessMark& of) {
    return takt::detail::life_of(this_host(), ::getpid(), now, std::nullopt, of);
  };
  CHECK(life(mark) == Life::alive);
  CHECK(takt::detail::life_of(this_host(), ::getpid(), 0, std::nullopt, mark) ==
        Life::alive);                                                   // a file server's clock is late
  CHECK(life({mark.boot, *mark.start - 1, mark.image}) == Life::gone);  // another process of this number
  CHECK(life({mark.boot, mark.start, *mark.image + 1}) == Life::gone);  // exec
  CHECK(life({*mark.boot + 1, mark.start, mark.image}) == Life::unknown);
}

TEST_CASE("a process that became another program by exec counts as dead") {
  using takt::detail::Life;
  int to_parent[2] = {};
  int to_child[2] = {};
  REQUIRE((::pipe(to_parent) == 0 && ::pipe(to_child) == 0));
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(to_child[0], 0);
    for (const int each : {to_child[0], to_child[1], to_parent[0]}) { ::close(each); }
    const takt::ProcessMark own = takt::detail::process_mark();
    if (::write(to_parent[1], &own, sizeof own) != sizeof own) { ::_exit(1); }
    ::close(to_parent[1]);
    ::execl("/bin/cat", "cat", static_cast<char*>(nullptr));
    ::_exit(1);
  }
  ::close(to_parent[1]);
  takt::ProcessMark mark;
  REQUIRE(::read(to_parent[0], &mark, sizeof mark) == sizeof mark);
  char rest = 0;
  ::close(to_child[0]);
  const std::string exe = "/proc/" + std::to_string(child) + "/comm";
  while (read_text(exe) != "cat\n") { std::this_thread::yield(); }
  CHECK(takt::detail::life_of(this_host(), child, 0, std::nullopt, mark) == Life::gone);
  ::close(to_child[1]);
  CHECK(::waitpid(child, nullptr, 0) == child);
  CHECK(::read(to_parent[0], &rest, 1) == 0);
  ::close(to_parent[0]);
}

TEST_CASE("a process that has ended counts as dead even before it is waited for") {
  using takt::detail::Life;
  const std::int64_t future = std::int64_t{1} << 62U;
  const pid_t child = ::fork();
  if (child == 0) { ::_exit(0); }
  siginfo_t reported = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &reported, WEXITED | WNOWAIT) == 0);
  CHECK(takt::detail::life_of(this_host(), child, future, std::nullopt) == Life::gone);
  CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a process whose main() left by pthread_exit is alive while one of its threads is") {
  using takt::detail::Life;
  const std::int64_t future = std::int64_t{1} << 62U;
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    std::thread([end = ends[0]] {
      char byte = 0;
      while (::read(end, &byte, 1) < 0) {}
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);
  }
  ::close(ends[0]);
  const std::string file = "/proc/" + std::to_string(child) + "/stat";
  while (!contains(read_text(file), ") Z ")) { std::this_thread::yield(); }
  CHECK(takt::detail::life_of(this_host(), child, future, std::nullopt) == Life::alive);
  ::close(ends[1]);
  siginfo_t reported = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &reported, WEXITED | WNOWAIT) == 0);
  CHECK(takt::detail::life_of(this_host(), child, future, std::nullopt) == Life::gone);
  CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a cut-off end is torn if the process is dead, and incomplete while it lives") {
  const Scratch scratch;
  const std::int64_t pid = GENERATE(std::int64_t{kNobody}, std::int64_t{::getpid()});
  write_journal(scratch.path("."), run_of(this_host(), pid));
  const std::string file = scratch.path("journal-00000.tjl");
  const std::string whole = read_text(file);
  write_text(file, whole + whole.substr(takt::detail::kSegmentHeaderBytes, 30));
  const Rank rank = takt::cli::read_rank(scratch.path("."));
  CHECK(rank.damage.torn_tail_bytes == (pid == kNobody ? 30 : 0));
  CHECK(takt::cli::damages(rank).size() == (pid == kNobody ? 1 : 0));
}

TEST_CASE("for an uncaught exception type, message and place are reported") {
  const Scratch scratch;
  Snapshot snapshot = run_of(this_host(), kNobody, true);
  snapshot.failed = true;
  snapshot.uncaught = {true, "std::runtime_error", "no \x1b[2Jdata", 0, {0, 1}};
  write_journal(scratch.path("."), snapshot);
  const Rank rank = takt::cli::read_rank(scratch.path("."));
  CHECK(rank.ending == Ending::failed);
  CHECK(rank.damage.unknown_frames == 0);
  CHECK(mentions(takt::cli::describe(rank),
                 {"std::runtime_error", "\"no ?[2Jdata\"", "Epoch > Comm?[2J", "thread main?[2J"}));
}

TEST_CASE("std::terminate() without an exception, on a thread without regions, is reported as such") {
  const Scratch scratch;
  Snapshot snapshot = run_of(this_host(), kNobody, true);
  snapshot.failed = true;
  snapshot.uncaught.happened = true;
  write_journal(scratch.path("."), snapshot);
  CHECK(mentions(takt::cli::describe(takt::cli::read_rank(scratch.path("."))), {"std::terminate()"}));
}

TEST_CASE("an exception that refers to impossible paths or threads is unreadable and harmless") {
  takt::detail::JournalState state;
  takt::detail::FrameBuffer frames(0);
  frames.add(takt::detail::FrameType::exception, takt::Uncaught{true, "type", "message", 0, {0x7FFFFFFF}});
  frames.add(takt::detail::FrameType::exception, takt::Uncaught{true, "type", "message", 0x7FFFFFFF, {}});
  std::string_view left = frames.bytes();
  for (takt::detail::Frame frame; parse_frame(left, frame); left.remove_prefix(frame.bytes)) {
    CHECK(state.apply(frame) == takt::detail::JournalState::Answer::unreadable);
  }
  CHECK(left.empty());
}

TEST_CASE("a directory without a journal is described by its contents") {
  const Scratch scratch;
  const auto why = [&scratch] { return takt::cli::why_unreadable(takt::cli::read_rank(scratch.path("."))); };
  CHECK(mentions(why(), {scratch.path("."), "empty"}));
  for (const char* const name : {"a.txt", "b\x1b[2J", "c", "d"}) { write_text(scratch.path(name), "mine"); }
  CHECK(mentions(why(), {scratch.path("."), "a.txt, b?[2J, c", "1"}));
  CHECK_FALSE(contains(why(), "TAKT_JOURNAL"));
  for (const char* const name : {"a.txt", "b\x1b[2J", "c", "d"}) { ::unlink(scratch.path(name).c_str()); }
  write_text(scratch.path("summary.json"), "{}");
  CHECK(mentions(why(), {scratch.path("."), "TAKT_JOURNAL=0", "summary.json"}));
}

TEST_CASE("a directory without a run is described by its contents") {
  const Scratch scratch;
  std::vector<std::string> warnings;
  const auto why = [&] {
    try {
      takt::cli::rank_directories({scratch.path(".")}, warnings);
    } catch (const takt::Error& error) { return std::string(error.what()); }
    return std::string();
  };
  CHECK(mentions(why(), {scratch.path("."), "empty"}));
  write_text(scratch.path("notes"), "mine");
  CHECK(mentions(why(), {scratch.path("."), "notes"}));
}

TEST_CASE("steps whose rows are not in the journal are counted by the totals") {
  const Scratch scratch;
  Snapshot snapshot = run_of(this_host(), kNobody);
  add_series(snapshot, 0, 0);
  add_series(snapshot, 0, 0);
  snapshot.series[0].steps = 6938;
  snapshot.series[1].steps = 10;
  for (std::int64_t step = 0; step < 20; ++step) {
    add_row(snapshot, step < 10 ? 1 : 0, static_cast<std::uint64_t>(step));
  }
  write_journal(scratch.path("."), snapshot);
  const Rank rank = takt::cli::read_rank(scratch.path("."));
  REQUIRE(rank.steps.size() == 2);
  CHECK(rank.steps[0].path == "Epoch");
  CHECK(rank.steps[0].steps == 6938);
  CHECK(rank.steps[0].rows == 10);
  CHECK(rank.steps[1].steps == 10);
  CHECK(rank.steps[1].rows == 10);
}

TEST_CASE("steps counted by earlier Sessions of the process are not missing") {
  const Scratch scratch;
  Snapshot snapshot = run_of(this_host(), kNobody);
  snapshot.process.earlier_sessions = 1;
  add_series(snapshot, 0, 0);
  snapshot.series[0].steps = 400;
  takt::detail::JournalExporter exporter(scratch.path("."), plain_journal());
  exporter.begin(snapshot);
  snapshot.series[0].steps = 500;
  for (std::int64_t step = 400; step < 490; ++step) { add_row(snapshot, 0, static_cast<std::uint64_t>(step)); }
  REQUIRE(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
  const Rank rank = takt::cli::read_rank(scratch.path("."));
  REQUIRE(rank.steps.size() == 1);
  CHECK(rank.steps[0].steps == 100);
  CHECK(rank.steps[0].rows == 90);
}
