// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/console.hpp>

#include "base/fault.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>

using takt::ExportResult;
using takt::Snapshot;
using takt::detail::columns_of;
using namespace takt_test;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) { lines.push_back(line); }
  return lines;
}

std::string table(const Snapshot& snapshot, int width = 120) { return takt::format_table(snapshot, width, false); }

/// The first line that begins with `name`, blanks aside; empty without one.
std::string row_of(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text)) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos && line.compare(start, name.size() + 1, name + " ") == 0) { return line; }
  }
  return "";
}

/// Cells are two blanks or more apart.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t at = line.find_first_not_of(' ');
  while (at != std::string::npos) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return cells;
}

using Cells = std::vector<std::string>;

Snapshot one_second() {
  Snapshot snapshot;
  snapshot.wall_ns = 1'000'000'000;
  return snapshot;
}

/// 10, 20, 30 and 40 ms: all its figures can be told by heart (20.1 ms is the middle of 20 ms' bucket).
Snapshot four_calls() {
  Snapshot snapshot = one_second();
  takt::PathStats& path = snapshot.paths[add_path(snapshot, "IO")];
  path.host.add_first(40 * kMs);
  for (const std::uint64_t ms : {10U, 20U, 30U}) { path.host.add(ms * kMs); }
  path.self_ns = 100 * kMs;
  return snapshot;
}

/// A pseudo-terminal of 50 columns; what is printed on it can be read back.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (grantpt(master_) != 0 || unlockpt(master_) != 0) { std::abort(); }
    stream_ = std::fopen(ptsname(master_), "w");
    winsize size = {};
    size.ws_col = 50;
    ioctl(fileno(stream_), TIOCSWINSZ, &size);
  }
  ~Terminal() {
    std::fclose(stream_);
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::FILE* stream() const { return stream_; }
  std::string read() const {
    std::string text(65536, '\0');
    const ssize_t bytes = ::read(master_, text.data(), text.size());
    text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return text;
  }

 private:
  int master_;
  std::FILE* stream_;
};

}  // namespace

TEST_CASE("the head names the run, its rank, its time and its state") {
  Snapshot snapshot = sample_snapshot();
  snapshot.run.rank = 1;
  snapshot.run.world_size = 4;
  CHECK(contains(table(snapshot), "Takt: digits, run digits-20260301-101530-5f3a, rank 1 of 4, took 62.4 s\n"));
  CHECK(contains(table(snapshot), "ranks: 1 of 4 alone, the others are not in this report\n"));
  CHECK_FALSE(contains(table(sample_snapshot()), "ranks:"));
  snapshot.failed = true;
  CHECK(contains(table(snapshot), "failed after 62.4 s\n"));
  snapshot.killed = true;
  CHECK(contains(table(snapshot), "killed after 62.4 s\n"));
  snapshot.killed = false;
  snapshot.failed = false;
  snapshot.finished = false;
  CHECK(contains(table(snapshot), "so far 62.4 s\n"));
}

TEST_CASE("a row shows the figures of its path") {
  const std::string text = table(four_calls());
  CHECK(cells_of(row_of(text, "region")) ==
        Cells{"region", "n", "total", "mean", "p50", "p90", "p99", "max", "self", "share", "first"});
  CHECK(cells_of(row_of(text, "IO")) ==
        Cells{"IO", "4", "100 ms", "25.0 ms", "20.1 ms", "-", "-", "40.0 ms", "100 ms", "10.0 %", "40.0 ms"});
  CHECK(cells_of(row_of(text, "run")) == Cells{"run", "1.00 s"});
  CHECK_FALSE(contains(text, "stream span"));
}

TEST_CASE("a percentile that is the longest call is not shown") {
  for (const auto& [calls, p90, p99] : {std::make_tuple(9U, false, false), std::make_tuple(10U, true, false),
                                        std::make_tuple(99U, true, false), std::make_tuple(100U, true, true)}) {
    Snapshot snapshot = one_second();
    takt::PathStats& path = snapshot.paths[add_path(snapshot, "IO")];
    path.host.add_warmup(kMs);  // does not count
    for (std::uint64_t call = 1; call <= calls; ++call) { path.host.add(call * 10'000); }
    const Cells cells = cells_of(row_of(table(snapshot), "IO"));
    INFO(calls << " calls");
    CHECK(cells[4] != "-");
    CHECK((cells[5] != "-") == p90);
    CHECK((cells[6] != "-") == p99);
    CHECK(cells[7] != "-");
  }
}

TEST_CASE("calls inside warm-up are in n, total, self and share, and nowhere else") {
  Snapshot snapshot = one_second();
  takt::PathStats& path = snapshot.paths[add_path(snapshot, "IO")];
  path.host.add_warmup(50 * kMs);
  path.self_ns = 50 * kMs;
  CHECK(cells_of(row_of(table(snapshot), "IO")) ==
        Cells{"IO", "1", "50.0 ms", "-", "-", "-", "-", "-", "50.0 ms", "5.0 %", "50.0 ms"});
  path.host.add(10 * kMs);
  CHECK(cells_of(row_of(table(snapshot), "IO"))[3] == "10.0 ms");
}

TEST_CASE("a path that was never timed shows no figures that were not measured") {
  Snapshot snapshot = one_second();
  add_path(snapshot, "IO");
  CHECK(cells_of(row_of(table(snapshot), "IO")) ==
        Cells{"IO", "0", "0 ns", "-", "-", "-", "-", "-", "0 ns", "0.0 %", "-"});
}

TEST_CASE("share is of the parent, and of the run at the top") {
  Snapshot snapshot = four_calls();
  takt::PathStats& child = snapshot.paths[add_path(snapshot, "Decode", 0)];
  child.host.add(25 * kMs);
  CHECK(contains(row_of(table(snapshot), "IO"), " 10.0 % "));
  CHECK(contains(row_of(table(snapshot), "Decode"), " 25.0 % "));
}

TEST_CASE("of a region that is open, its time so far is its share, and what shares of those inside are of") {
  Snapshot snapshot = one_second();
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  snapshot.paths[add_path(snapshot, "Batch", epoch)].host.add(760 * kMs);
  snapshot.paths[epoch].host.add(400 * kMs);
  snapshot.open.push_back({epoch, 0, 400 * kMs});
  CHECK(contains(row_of(table(snapshot), "Epoch"), " 80.0 % "));
  CHECK(contains(row_of(table(snapshot), "Batch"), " 95.0 % "));
}

TEST_CASE("stream spans have columns of their own, empty where a path has none") {
  const std::string text = table(sample_snapshot(), 200);
  CHECK(contains(text, "stream span\n"));
  CHECK(cells_of(row_of(text, "region")).size() == 13);
  CHECK(cells_of(row_of(text, "Forward")).size() == 13);
  CHECK(cells_of(row_of(text, "IO")).size() == 11);
  const Snapshot snapshot = sample_snapshot();
  CHECK(cells_of(row_of(text, "Forward"))[11] ==
        takt::detail::human_time(static_cast<double>(snapshot.paths[3].device.total_ns())));
  CHECK(cells_of(row_of(text, "Forward"))[12] == takt::detail::human_time(snapshot.paths[3].device.mean_ns()));
}

TEST_CASE("children stand below their parent, indented, in the order given") {
  Snapshot snapshot = one_second();
  const std::uint32_t first = add_path(snapshot, "first");
  const std::uint32_t second = add_path(snapshot, "second");
  add_path(snapshot, "b", first);
  add_path(snapshot, "c", second);
  add_path(snapshot, "a", first);
  std::string order;
  for (const std::string& line : lines_of(table(snapshot))) {
    if (contains(line, "  0 ns  ")) { order += line.substr(0, line.find(' ', 3)) + "|"; }
  }
  CHECK(order == "first|  b|  a|second|  c|");
}

TEST_CASE("no line is wider than the terminal") {
  Snapshot snapshot = sample_snapshot();
  std::uint32_t parent = 0;
  for (int depth = 0; depth < 70; ++depth) { parent = add_path(snapshot, "deep", parent); }
  add_path(snapshot, std::string(200, 'x'), parent);
  std::string wide;
  for (int character = 0; character < 66; ++character) { wide += "\xE6\x97\xA5"; }
  snapshot.paths[add_path(snapshot, wide)].host.add(~std::uint64_t{0});
  snapshot.paths[0].host.add(~std::uint64_t{0} / 2);
  snapshot.paths[1].bytes = ~std::uint64_t{0};
  snapshot.losses.push_back({std::string(300, 'w'), std::string(300, 'e'), ~std::uint64_t{0}});
  snapshot.run.name = std::string(500, 'n');
  for (int width = 40; width <= 220; ++width) {
    for (const std::string& line : lines_of(table(snapshot, width))) {
      if (columns_of(line) > static_cast<std::size_t>(width)) { FAIL(width << ": " << line); }
    }
  }
  CHECK(table(snapshot, 3) == table(snapshot, 40));
}

TEST_CASE("a narrow terminal keeps name, n, total and mean, and loses the least important columns first") {
  const Snapshot snapshot = sample_snapshot();
  const auto heads = [&](int width) { return cells_of(row_of(table(snapshot, width), "region")); };
  CHECK(heads(40) == Cells{"region", "n", "total", "mean"});
  CHECK(heads(50) == Cells{"region", "n", "total", "mean", "share"});
  CHECK(heads(60) == Cells{"region", "n", "total", "mean", "p50", "share"});
  CHECK(heads(80) == Cells{"region", "n", "total", "mean", "p50", "self", "share", "total", "mean"});
  CHECK(heads(100) == Cells{"region", "n", "total", "mean", "p50", "p99", "max", "self", "share", "total", "mean"});
  CHECK(cells_of(row_of(table(snapshot, 40), "Forward")).size() == 4);
}

TEST_CASE("names in any script keep the columns aligned, and long ones are cut with an ellipsis") {
  Snapshot snapshot = four_calls();
  std::string wide;
  for (int character = 0; character < 66; ++character) { wide += "\xC3\xA9\xE6\x97\xA5"; }
  for (const std::string& name : {std::string("\xE6\x97\xA5\xE6\x9C\xAC"), wide, std::string(200, 'x')}) {
    snapshot.paths.push_back(snapshot.paths[0]);
    snapshot.paths.back().name = name;
  }
  const std::string text = table(snapshot, 90);
  std::vector<std::size_t> widths;
  int cut = 0;
  for (const std::string& line : lines_of(text)) {
    if (!contains(line, "25.0 ms")) { continue; }
    widths.push_back(columns_of(line));
    cut += contains(line, "\xE2\x80\xA6") ? 1 : 0;
  }
  CHECK(widths == std::vector<std::size_t>(4, columns_of(row_of(text, "region"))));
  CHECK(cut == 2);
}

TEST_CASE("names cannot command the terminal") {
  Snapshot snapshot = sample_snapshot();
  const std::string bad = "\x1b[31mred\n\xC2\x9B\xFF";
  snapshot.run.name = snapshot.run.id = snapshot.clock.name = bad;
  for (takt::PathStats& path : snapshot.paths) { path.name = bad; }
  for (takt::ThreadInfo& thread : snapshot.threads) { thread.name = bad; }
  snapshot.losses.push_back({bad, bad, 1});
  const std::string text = table(snapshot);
  CHECK(
      std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; }));
  CHECK_FALSE(contains(text, "\xC2\x9B"));
  CHECK_FALSE(contains(text, "\xFF"));
}

TEST_CASE("throughput has an interval or says why not, and what it leaves out") {
  const std::string text = table(sample_snapshot());
  CHECK(contains(text, "Epoch/Batch on main: 703 samples/s, 95 % CI [699, 708], n = 24 windows; 11.0 steps/s\n"));
  CHECK(contains(text, "  left out: 2 periods, 1.71 s (Epoch boundaries, other Batches or steps not timed inside)\n"));
  const std::string no = "Epoch/Validation/Batch on main: 8 752 samples/s, no interval: ";
  CHECK(contains(text, no + "48 step periods, it takes 128; 34.2 steps/s\n"));

  Snapshot snapshot = sample_snapshot();
  takt::Throughput& held_out = snapshot.series[1].throughput;
  held_out.no_interval = takt::NoInterval::few_stalls;
  held_out.stalls = 3;
  CHECK(contains(table(snapshot, 200), no + "about 3 stalls make the scatter, it takes 10; 34.2 steps/s\n"));
  held_out.stalls = 1;
  CHECK(contains(table(snapshot, 200), no + "about 1 stall makes the scatter, it takes 10; 34.2 steps/s\n"));
  held_out.no_interval = takt::NoInterval::correlated;
  CHECK(contains(table(snapshot, 200), no + "its 6 windows are still like their neighbours; 34.2 steps/s\n"));
  snapshot.series[0].throughput.items = 0;
  snapshot.series[1].throughput = takt::Throughput();
  CHECK(contains(table(snapshot), "Epoch/Batch on main: 11.0 steps/s\n"));
  const std::string none = "Epoch/Validation/Batch on main: no throughput, ";
  CHECK(contains(table(snapshot), none + "no step period after warm-up\n"));
  snapshot.series[1].throughput.excluded_steps = 4;
  CHECK(contains(table(snapshot), none + "all step periods are left out\n  left out: 4 periods, "));
  snapshot.paths[snapshot.series[1].path].skipped = 40;
  CHECK(contains(table(snapshot), none + "not all steps were timed\n"));
}

TEST_CASE("what lies between two Batches is told where it is much of the period") {
  Snapshot snapshot = sample_snapshot();
  CHECK_FALSE(contains(table(snapshot), "between two Batches"));
  snapshot.series[0].throughput.period_ns *= 2;
  // What the loader does, and what is done once an Epoch, is not named.
  CHECK(contains(table(snapshot, 200), "  between two Batches: 91.3 ms of each period of 182 ms (50.2 %)\n"));
  add_series(snapshot, snapshot.series[0].path,
             add_thread(snapshot, "second"));  // whose Batches have one row with the others
  CHECK_FALSE(contains(table(snapshot), "between two Batches"));
}

TEST_CASE("of what lies between two Batches the region that took most is named, if it can have run there") {
  Snapshot snapshot = one_second();
  const std::uint32_t batch = add_path(snapshot, "Batch");
  const auto add = [&snapshot](std::uint32_t path, int calls, std::uint64_t ns) {
    for (int call = 0; call < calls; ++call) { snapshot.paths[path].host.add(ns); }
  };
  add(batch, 10, 10 * kMs);
  takt::Series& series = snapshot.series[add_series(snapshot, batch, add_thread(snapshot, "main"))];
  series.steps = 10;
  series.throughput.steps = 10;
  series.throughput.period_ns = 200 * kMs;
  const std::string line = "  between two Batches: 10.0 ms of each period of 20.0 ms (50.0 %)";
  CHECK(contains(table(snapshot), line + "; no region is there\n"));
  Snapshot overlapping = snapshot;
  overlapping.paths[add_path(overlapping, "Batch", batch)].host.add(kMs);
  CHECK(contains(table(overlapping), line + "\n"));
  add(add_path(snapshot, "Load"), 1, 60 * kMs);  // before the loop
  add(add_path(snapshot, "Seldom"), 4, 5 * kMs);
  const std::uint32_t sampled = add_path(snapshot, "Sampled");
  add(sampled, 5, 4 * kMs);
  snapshot.paths[sampled].skipped = 5;
  add(add_path(snapshot, "Elsewhere"), 10, 11 * kMs);  // takes longer than what lies between
  add(add_path(snapshot, "Forward", batch), 10, 9 * kMs);
  CHECK(contains(table(snapshot), line + "\n"));
  add(add_path(snapshot, "Half"), 5, kMs);
  CHECK(contains(table(snapshot), line + "; Half takes 500 us of it\n"));
  add(add_path(snapshot, "Often"), 30, kMs);
  CHECK(contains(table(snapshot), line + "; Often takes 3.00 ms of it\n"));
  add_thread(snapshot, "loader");
  CHECK(contains(table(snapshot), line + "\n"));
}

TEST_CASE("amounts are over the total time of their region, and without a rate where not all calls were timed") {
  Snapshot snapshot = four_calls();
  snapshot.paths[0].bytes = 2'500'000'000;
  snapshot.paths[0].items = 300;
  CHECK(contains(table(snapshot), "IO: 25.0 GB/s, 2.50 GB in 100 ms\n"));
  CHECK(contains(table(snapshot), "IO: 3 000 items/s, 300 items in 100 ms\n"));
  snapshot.paths[0].skipped = 12;
  CHECK(contains(table(snapshot), "IO: 2.50 GB, no rate: not all calls were timed\n"));
  CHECK(contains(table(snapshot), "IO: 300 items, no rate: not all calls were timed\n"));
  CHECK(contains(table(snapshot), "sampled: IO, timed 4 of 16 entered; its times are of the timed ones\n"));
  snapshot.paths[0].name = "Batch";
  CHECK_FALSE(contains(table(snapshot), "300 items"));
}

TEST_CASE("the report says what its figures contain and what they do not") {
  Snapshot snapshot = sample_snapshot();
  snapshot.clock.fallbacks = 1;
  snapshot.paths[4].device_lost = 3;
  const std::string text = table(snapshot);
  CHECK(contains(text, "warm-up: first 10 Batches of Epoch/Batch, 1.89 s: in n, total, self and share only\n"));
  CHECK(contains(text, "no region: 1.80 s of 62.4 s (2.9 %) on the thread of the Session\n"));
  CHECK(
      contains(text, "Takt's own cost: 412 us (0.00066 % of wall), an estimate over all threads, its own included\n"));
  CHECK(contains(text, "processor time: 70.2 s in 62.4 s of wall (112.5 %)\n"));
  CHECK(contains(text, "clock: tsc, rate within 0.4 ppm since 10.0 s (before: 21 ppm), an empty region reads 17 ns, "));
  CHECK(contains(text, "changed 1 time while running\n"));
  CHECK(contains(text, "threads: 2, whose times are added up: a share can pass 100 %\n"));
  snapshot.threads.back().name = takt::ThreadInfo::kFurther;
  CHECK(contains(table(snapshot), "threads: 2 or more, whose times are added up: a share can pass 100 %\n"));
  CHECK(contains(text, "stream spans not in this report: Epoch/Batch/Backward, 2 pending, 3 lost\n"));
  CHECK(contains(text, "unfinished: Decode on thread loader, open 3.12 s\n"));
  snapshot.threads[snapshot.open.back().thread].name = "thread 1";
  CHECK(contains(table(snapshot), "unfinished: Decode on thread 1, open 3.12 s\n"));
  CHECK(contains(text, "note: 1 x ends without a start: ignored (Optimizer)\n"));
}

TEST_CASE("where nothing ran is told before all else") {
  Snapshot snapshot = sample_snapshot();
  CHECK_FALSE(contains(table(snapshot), "did not run"));
  CHECK_FALSE(contains(table(snapshot), "slept"));
  CHECK_FALSE(contains(table(snapshot), "run: begins"));
  snapshot.process.stopped_ns = 3'000'000'000;
  snapshot.process.suspended_ns = 30'000'000'000;
  snapshot.process.before_ns = 20'000'000'000;
  const std::string text = table(snapshot);
  const std::size_t stopped = text.find("the process did not run for at least 3.00 s (stopped or starved)\n");
  CHECK(stopped < text.find("warm-up: "));
  CHECK(contains(text, "the machine slept for 30.0 s: not in these times\n"));
  CHECK(contains(text, "run: begins with the first recording, 20.0 s before the Session\n"));
  CHECK_FALSE(contains(text, "earlier Session"));
  snapshot.process.earlier_sessions = 1;
  CHECK(contains(table(snapshot), "hold what was recorded in 1 earlier Session of this process, too"));
  snapshot.process = takt::ProcessTimes();  // of a journal that does not know
  CHECK_FALSE(contains(table(snapshot), "processor time"));
}

TEST_CASE("what sampling moved is told where it happened") {
  Snapshot snapshot = one_second();
  const std::uint32_t step = add_path(snapshot, "Step");
  const std::uint32_t sampled = add_path(snapshot, "Sampled", step);
  const std::uint32_t child = add_path(snapshot, "Child", sampled);
  for (const std::uint32_t path : {step, sampled, child}) { snapshot.paths[path].host.add(kMs); }
  snapshot.paths[sampled].skipped = 9;
  const std::string line = "sampled: Step/Sampled, timed 1 of 10 entered; its times are of the timed ones";
  CHECK(contains(table(snapshot, 200), line + "\n"));
  snapshot.paths[add_path(snapshot, "Child", step)].host.add(kMs);
  CHECK(contains(table(snapshot, 200), line + "; what was inside the others stands one level higher\n"));
}

TEST_CASE("Batches that began inside another one are no steps, and counted") {
  Snapshot snapshot = one_second();
  const std::uint32_t batch = add_path(snapshot, "Batch", add_path(snapshot, "Epoch"));
  snapshot.paths[batch].host.add(kMs);
  CHECK_FALSE(contains(table(snapshot), "inside another one"));
  const std::uint32_t inner = add_path(snapshot, "Batch", add_path(snapshot, "Forward", batch));
  CHECK_FALSE(contains(table(snapshot), "inside another one"));
  snapshot.paths[inner].host.add(kMs);
  CHECK(contains(table(snapshot), "\n1 Batch began inside another one: only the outermost are steps\n"));
  snapshot.paths[inner].skipped = 2;
  snapshot.paths[add_path(snapshot, "Batch", inner)].host.add(kMs);
  CHECK(contains(table(snapshot), "\n4 Batches began inside another one: only the outermost are steps\n"));
}

TEST_CASE("a region that is longer than what it is in is told of, unless that is still open") {
  Snapshot snapshot = one_second();
  const std::uint32_t outer = add_path(snapshot, "Outer");
  snapshot.paths[outer].host.add(kMs);
  const std::uint32_t inner = add_path(snapshot, "Given", outer);
  snapshot.paths[inner].host.add(kMs);
  CHECK_FALSE(contains(table(snapshot), "longer than"));
  snapshot.paths[inner].host.add(kMs);
  const std::string line =
      "Outer/Given is longer than the region it is in: from record(), or from ends that came after that one's";
  CHECK(contains(table(snapshot, 200), line + "\n"));
  snapshot.losses = {{"never_ended", "Outer", 1}};
  CHECK(contains(table(snapshot, 200), line + ", or as that one was not always ended\n"));
  snapshot.losses.clear();
  add_thread(snapshot, "main");
  add_thread(snapshot, "second");
  CHECK(contains(table(snapshot, 200), line + ", or from several threads\n"));
  snapshot.open.push_back({outer, 0, 5});
  CHECK_FALSE(contains(table(snapshot), "longer than"));
}

TEST_CASE("where a recursion has come to the end of a path there is no share, and it is told why") {
  Snapshot snapshot = one_second();
  std::uint32_t path = add_path(snapshot, "Outer");
  std::vector<std::uint32_t> all = {path};
  for (int depth = 1; depth < 64; ++depth) {
    path = add_path(snapshot, depth % 2 == 0 ? "Even" : "Odd", path);
    all.push_back(path);
  }
  for (const std::uint32_t each : all) { snapshot.paths[each].host.add(kMs); }
  CHECK_FALSE(contains(table(snapshot), "longer than"));
  CHECK(snapshot.share_of_parent(path) == 1);
  snapshot.paths[all[62]].host.add(9 * kMs);
  CHECK(snapshot.share_of_parent(all[62]) == -1);
  CHECK(snapshot.share_of_parent(all[63]) == 0.1);
  snapshot.paths[all[63]].host.add(19 * kMs);
  CHECK(snapshot.share_of_parent(all[63]) == -1);
  const std::string text = table(snapshot, 800);
  CHECK(contains(
      text,
      "Odd is longer than the region it is in: a path ends at 64 keys, and it takes what begins inside it, too\n"));
  CHECK(contains(
      text,
      "Even is longer than the region it is in: a path ends at 64 keys, and it takes what begins inside it, too\n"));
  CHECK(contains(text, "\nOuter"));
  snapshot.paths[all[1]].host.add(kMs);  // as of several threads, and none inside itself
  CHECK(snapshot.share_of_parent(all[1]) == 2);
  snapshot.paths[all[63]].name = "Other";
  CHECK(snapshot.share_of_parent(all[63]) == 2);
}

TEST_CASE("what Takt costs a region that holds many small ones is told, for a few of them") {
  Snapshot snapshot = one_second();
  snapshot.clock.empty_region_ns = 7;
  snapshot.clock.region_cost_ns = 23;
  for (int count = 0; count < 5; ++count) {
    const std::uint32_t outer = add_path(snapshot, "Outer" + std::to_string(count));
    snapshot.paths[outer].host.add(30'000);
    snapshot.paths[outer].self_ns = 23'000;
    takt::PathStats& inner = snapshot.paths[add_path(snapshot, "Empty", outer)];
    for (int call = 0; call < 1000; ++call) { inner.host.add(7); }
  }
  snapshot.paths.back().skipped = 100;  // passed over for much less
  snapshot.paths[1].skipped = 100;
  const std::string text = table(snapshot, 200);
  CHECK(contains(text, "self of Outer0: about 16.0 us of 23.0 us is Takt's, 16 ns for each of 1 000 regions inside\n"));
  CHECK(contains(text, "self of Outer2: "));
  CHECK_FALSE(contains(text, "self of Outer3: "));
  CHECK(contains(text, "  and so for 2 more\n"));
  snapshot.paths[0].host.add(3'000'000);  // a share that is not worth a line
  CHECK_FALSE(contains(table(snapshot, 200), "self of Outer0"));
  CHECK_FALSE(contains(table(sample_snapshot()), "self of"));
}

TEST_CASE("what a loss means is said in words, not by its identifier") {
  for (const char* const what : {"end_without_start",
                                 "ended_late",
                                 "ended_on_another_thread",
                                 "clock_changed",
                                 "overflow",
                                 "no_place",
                                 "keys_over_bound",
                                 "key_kind_conflict",
                                 "metrics_over_bound",
                                 "threads_without_memory",
                                 "items_or_bytes_not_positive",
                                 "steps_without_rows",
                                 "spans_lost",
                                 "rows_not_taken",
                                 "rows_incomplete",
                                 "rows_dropped",
                                 "metrics_dropped",
                                 "not_in_csv",
                                 "not_exported",
                                 "samples_dropped",
                                 "energies_dropped"}) {
    Snapshot snapshot = sample_snapshot();
    snapshot.losses = {{what, "", 7}};
    const std::string text = table(snapshot);
    INFO(what);
    CHECK(contains(text, "note: 7 x "));
    CHECK(!contains(text, what + std::string("\n")));
  }
}

TEST_CASE("three findings stand above all figures, and where the others are") {
  Snapshot snapshot = sample_snapshot();
  for (const char* const sentence : {"first", "second", "third\x1b", "fourth", "fifth"}) {
    snapshot.findings.push_back({"slow_steps", sentence, {}, {}});
  }
  const std::string text = table(snapshot);
  CHECK(contains(text, "took 62.4 s\n\nfirst\nsecond\nthird?\n2 more findings: takt report --json\n\n"));
  CHECK_FALSE(contains(text, "fourth"));
  snapshot.findings.resize(4);
  CHECK(contains(table(snapshot), "\n1 more finding: takt report --json\n"));
  snapshot.findings.resize(3);
  CHECK_FALSE(contains(table(snapshot), "more finding"));
}

TEST_CASE("what a finding tells is not told below the table again") {
  Snapshot snapshot = sample_snapshot();
  snapshot.losses.insert(snapshot.losses.begin(), {"never_ended", "Epoch/Batch/Forward/embed", 2});
  snapshot.process.stopped_ns = 3'000'000'000;
  snapshot.process.suspended_ns = 30'000'000'000;
  const std::string without = table(snapshot);
  CHECK(contains(without, "note: 2 x regions that were never ended: not timed (Epoch/Batch/Forward/embed)\n"));
  for (const char* const what : {"never_ended", "stopped", "slept"}) {
    snapshot.findings.push_back({what, what, {}, {}});
  }
  const std::string text = table(snapshot);
  CHECK_FALSE(contains(text, "were never ended"));
  CHECK_FALSE(contains(text, "did not run for"));
  CHECK_FALSE(contains(text, "the machine slept"));
}

TEST_CASE("what streams waited for is told, and what spans alone say is a bound") {
  Snapshot snapshot = sample_snapshot();
  CHECK_FALSE(contains(takt::format_table(snapshot, 100, false), "exposed"));
  const std::uint32_t wait = add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait);
  snapshot.paths[wait].device.add(30'000'000);
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.steps = 600;
  line.overlap.span_ns = 50'000'000'000;
  line.overlap.comm_ns = 9'000'000'000;
  line.overlap.comm_exposed_least_ns = 2'000'000'000;
  line.overlap.idle_least_ns = 1'000'000'000;
  snapshot.time_lines.push_back(line);
  std::string table = takt::format_table(snapshot, 200, false);
  CHECK(contains(table, "\nexposed communication: \u2264 30.0 ms, 1 wait of streams\n"));
  CHECK(
      contains(table,
               "\ncuda 0, spans alone, 600 steps of 50.0 s: communication \u2264 9.00 s, of it \u2265 2.00 s exposed; "
               "idle \u2265 1.00 s\n"));
  CHECK_FALSE(contains(table, "cannot tell"));
  CHECK_FALSE(contains(table, "stood idle"));
  snapshot.time_lines[0].overlap.undecided = 5;
  snapshot.time_lines[0].overlap.maybe_idle = 1;
  table = takt::format_table(snapshot, 200, false);
  CHECK(contains(table,
                 "  1 span of communication or IO may hold time in which the stream stood idle until the host "
                 "submitted the work: only what came behind that counts as exposed\n"
                 "  5 communications wholly inside computing: hidden or waited for, spans cannot tell; put a region "
                 "of CommWait around the stream's wait\n"));
}

TEST_CASE("of several devices it is told which one waited, of one alone it is not told twice") {
  Snapshot snapshot = sample_snapshot();
  const std::uint32_t wait = add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait);
  snapshot.paths[wait].device.add(30'000'000);
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.overlap.comm_exposed_ns = 0;
  snapshot.time_lines.push_back(line);
  CHECK_FALSE(contains(takt::format_table(snapshot, 200, false), "in steps"));
  line.number = 1;
  line.overlap.comm_exposed_ns = 30'000'000;
  snapshot.time_lines.push_back(line);
  line.number = 2;
  line.overlap.comm_exposed_ns = takt::Overlap::kAbsent;
  snapshot.time_lines.push_back(line);
  CHECK(contains(takt::format_table(snapshot, 200, false),
                 "exposed communication: \u2264 30.0 ms, 1 wait of streams\n"
                 "  in steps, at most: cuda 0 0 ns, cuda 1 30.0 ms\n"));
}

TEST_CASE("durations that no memory was left for are missing from the percentiles, and said to be") {
  Snapshot snapshot = one_second();
  takt::detail::MemoryBudget nothing(0);
  snapshot.paths[add_path(snapshot, "IO")].host.add(5, &nothing);
  CHECK(contains(table(snapshot), "percentiles: IO lacks 1 duration for which there was no memory\n"));
}

TEST_CASE("a run in which nothing was recorded has a report too") {
  const std::string text = table(Snapshot());
  CHECK(contains(text, "no region: 0 ns of 0 ns (-)"));
  CHECK(cells_of(row_of(text, "run")) == Cells{"run", "0 ns"});
}

TEST_CASE("colour changes nothing but the style") {
  std::string colored = takt::format_table(sample_snapshot(), 100, true);
  CHECK(contains(colored, "\x1b[1mTakt: digits"));
  CHECK(contains(colored, "\x1b[2mno region: "));
  for (const std::string code : {"\x1b[1m", "\x1b[2m", "\x1b[0m"}) {
    for (std::size_t at = colored.find(code); at != std::string::npos; at = colored.find(code)) {
      colored.erase(at, code.size());
    }
  }
  CHECK(colored == table(sample_snapshot(), 100));
}

TEST_CASE("the exporter prints when the run has finished, and not before") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  takt::ConsoleOptions options;
  options.stream = file;
  takt::ConsoleExporter exporter(options);
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = false;
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(std::ftell(file) == 0);
  snapshot.finished = true;
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  std::rewind(file);
  std::string text(65536, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  CHECK(text == table(snapshot, 100));
}

TEST_CASE("a table that cannot be printed is told of, and dropped") {
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  takt::detail::forget_faults();
  std::string reported;
  takt::set_error_handler([](const char* line, void* context) { *static_cast<std::string*>(context) = line; },
                          &reported);
  takt::ConsoleOptions options;
  options.stream = full;
  CHECK(takt::ConsoleExporter(options).export_snapshot(sample_snapshot()) == ExportResult::drop);
  CHECK(contains(reported, "No space left on device"));
  takt::set_error_handler(nullptr);
  std::fclose(full);
}

TEST_CASE("on a terminal the table is as wide as it is, in colour unless the user wants none") {
  const Terminal terminal;
  takt::ConsoleOptions options;
  options.stream = terminal.stream();
  const auto printed = [&] {
    takt::ConsoleExporter(options).print(four_calls());
    std::string text = terminal.read();
    text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
    return text;
  };
  setenv("TERM", "xterm-256color", 1);
  setenv("NO_COLOR", "", 1);
  CHECK(printed() == takt::format_table(four_calls(), 50, true));
  setenv("NO_COLOR", "1", 1);
  CHECK(printed() == takt::format_table(four_calls(), 50, false));
  options.color = takt::ConsoleOptions::Color::always;
  CHECK(printed() == takt::format_table(four_calls(), 50, true));
  options.color = takt::ConsoleOptions::Color::automatic;
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  CHECK(printed() == takt::format_table(four_calls(), 50, false));
  setenv("TERM", "xterm-256color", 1);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  CHECK(printed() == takt::format_table(four_calls(), 50, false));
  options.color = takt::ConsoleOptions::Color::always;
  CHECK(printed() == takt::format_table(four_calls(), 50, true));
  unsetenv("OMPI_COMM_WORLD_RANK");
  options.color = takt::ConsoleOptions::Color::never;
  options.width = 70;
  CHECK(printed() == takt::format_table(four_calls(), 70, false));
}

TEST_CASE("the sample in docs/report.md is what is printed") {
  const std::string source = __FILE__;
  const std::string page = read_text(source.substr(0, source.rfind("tests/unit/")) + "docs/report.md");
  REQUIRE_FALSE(page.empty());
  CHECK(contains(page, "```text" + table(sample_snapshot(), 100) + "```\n"));
}
