// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/console.hpp>
#include <takt/measurement.hpp>
#include <takt/takt.hpp>
#include <takt/trial_results.hpp>

#include "base/report_error.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/tests_directory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
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

std::string table(const Snapshot& snapshot, int width = 120) { return takt::format_table(snapshot, {width, false}); }

/// Returns the table with enough width for each note on one line.
std::string wide(const Snapshot& snapshot) { return table(snapshot, 1000); }

/// Returns the first line that starts with `name` after blanks, or an empty text.
std::string row_of(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text)) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos && line.compare(start, name.size() + 1, name + " ") == 0) { return line; }
  }
  return "";
}

/// Splits a line into cells, which are two or more blanks apart.
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

/// Returns 10, 20, 30 and 40 ms, with well-known statistics (20.1 ms is the middle of 20 ms' bucket).
Snapshot four_calls() {
  Snapshot snapshot = one_second();
  takt::PathStats& path = snapshot.paths[add_path(snapshot, "IO")];
  path.host.add_first(40 * kMs);
  for (const std::uint64_t ms : {10U, 20U, 30U}) { path.host.add(ms * kMs); }
  path.self_ns = 100 * kMs;
  return snapshot;
}

/// All losses that a report can show.
constexpr const char* kLosses[] = {"end_without_start",
                                   "never_ended",
                                   "ended_late",
                                   "ended_on_another_thread",
                                   "clock_changed",
                                   "overflow",
                                   "no_place",
                                   "keys_over_bound",
                                   "key_kind_conflict",
                                   "keys_without_memory",
                                   "metrics_without_memory",
                                   "inside_takt",
                                   "metrics_over_bound",
                                   "threads_without_memory",
                                   "items_or_bytes_not_positive",
                                   "items_or_bytes_on_another_thread",
                                   "sums_at_limit",
                                   "steps_beyond_last_number",
                                   "device_skipped",
                                   "device_failed",
                                   "device_unresolved",
                                   "graph_samples_missed",
                                   "skipped_capturing",
                                   "skipped_no_context",
                                   "skipped_pending_error",
                                   "skipped_no_event",
                                   "skipped_refused",
                                   "skipped_other_stream",
                                   "skipped_contexts",
                                   "skipped_not_capturing",
                                   "skipped_graph_unsupported",
                                   "skipped_streams",
                                   "skipped_stream_full",
                                   "lost_device_error",
                                   "lost_stream_destroyed",
                                   "clamped_negative",
                                   "device_spans_unplaced",
                                   "steps_without_rows",
                                   "spans_lost",
                                   "rows_not_taken",
                                   "metrics_not_taken",
                                   "spans_not_taken",
                                   "rows_incomplete",
                                   "rows_dropped",
                                   "metrics_dropped",
                                   "metrics_without_room",
                                   "device_values_dropped",
                                   "spans_dropped",
                                   "not_in_journal",
                                   "journal_changed",
                                   "not_in_csv",
                                   "not_confirmed",
                                   "not_exported",
                                   "samples_dropped",
                                   "energies_dropped"};

/// A pseudo-terminal of 50 columns; its output can be read back.
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
  /// Reads all output so far, up to a marker, because the kernel may deliver it in parts.
  std::string read() const {
    std::fputc(kEnd, stream_);
    std::fflush(stream_);
    std::string text;
    char byte = 0;
    while (::read(master_, &byte, 1) == 1 && byte != kEnd) { text += byte; }
    return text;
  }

 private:
  static constexpr char kEnd = '\x01';
  int master_;
  std::FILE* stream_;
};

/// Returns a run with some of everything that notes below the table can report.
Snapshot run_with_all_notes() {
  Snapshot snapshot = sample_snapshot();
  snapshot.run.rank = 1;
  snapshot.run.world_size = 4;
  snapshot.process.stopped_ns = 3'000'000'000;
  snapshot.process.suspended_ns = 30'000'000'000;
  snapshot.process.before_ns = 20'000'000'000;
  snapshot.process.earlier_sessions = 1;
  snapshot.clock.fallbacks = 1;
  snapshot.paths[4].device_lost = 3;
  for (const char* const sentence : {"first", "second", "third", "fourth"}) {
    snapshot.findings.push_back({"slow_steps", sentence, {}, {}});
  }
  snapshot.paths[add_path(snapshot, "Batch", 3)].host.add(kMs);  // inside the Forward of another one
  snapshot.paths[add_path(snapshot, "Given", 7)].host.add(9'000 * kMs);
  takt::PathStats& all = snapshot.paths[add_path(snapshot, "Small ones")];
  all.host.add(30'000);
  all.self_ns = 23'000;
  takt::PathStats& empty =
      snapshot.paths[add_path(snapshot, "Empty", static_cast<std::uint32_t>(snapshot.paths.size() - 1))];
  for (int call = 0; call < 1000; ++call) { empty.host.add(7); }
  takt::detail::MemoryBudget nothing(0);
  snapshot.paths[add_path(snapshot, "Unbinned")].host.add(5, &nothing);
  snapshot.paths[add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait)].device.add(30 * kMs);
  snapshot.paths[add_path(snapshot, takt::IOWait.name(), 1, takt::Kind::wait)].device.add(20 * kMs);
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.steps = 600;
  line.overlap.span_ns = 50'000'000'000;
  line.overlap.comm_ns = 9'000'000'000;
  line.overlap.io_ns = 8'000'000'000;
  line.overlap.undecided = 5;
  line.overlap.comm_exposed_ns = 0;
  snapshot.time_lines.push_back(line);
  line.number = 1;
  line.overlap.comm_exposed_ns = 30'000'000;
  snapshot.time_lines.push_back(line);
  snapshot.devices = {{"cuda", "there is no driver", ""}, {"hip", "", "its spans are of the host"}};
  snapshot.trials = std::make_shared<const takt::TrialResults>();
  snapshot.measurements = {std::make_shared<const takt::Measurement>()};
  snapshot.losses.clear();
  for (const char* const what : kLosses) { snapshot.losses.push_back({what, "", 7}); }
  snapshot.losses.push_back({"end_without_start", "Optimizer", 1});
  snapshot.losses.push_back({"never_ended", "Epoch/Validation", 1});
  return snapshot;
}

/// Returns a recursion at the maximum path length, with more time below it than in it.
Snapshot deep_recursion() {
  Snapshot snapshot = one_second();
  std::uint32_t path = add_path(snapshot, "Deep");
  snapshot.paths[path].host.add(kMs);
  for (int depth = 1; depth < 64; ++depth) {
    path = add_path(snapshot, "Deep", path);
    snapshot.paths[path].host.add(depth == 63 ? 9 * kMs : kMs);
  }
  return snapshot;
}

/// Returns a run with or without a region between its Batches.
Snapshot run_with_pauses(bool has_region) {
  Snapshot snapshot = one_second();
  const std::uint32_t batch = add_path(snapshot, "Batch");
  for (int call = 0; call < 10; ++call) { snapshot.paths[batch].host.add(10 * kMs); }
  takt::Series& series = snapshot.series[add_series(snapshot, batch, add_thread(snapshot, "main"))];
  series.steps = 10;
  series.throughput.steps = 10;
  series.throughput.period_ns = 200 * kMs;
  if (has_region) {
    const std::uint32_t between = add_path(snapshot, "Between");
    for (int call = 0; call < 10; ++call) { snapshot.paths[between].host.add(kMs); }
  }
  return snapshot;
}

/// Returns the lines about throughput, with each reason why it or its interval is missing.
std::string throughput_of_all_kinds() {
  const std::string known = wide(sample_snapshot());
  Snapshot snapshot = sample_snapshot();
  std::string text;
  const auto add = [&] { text += new_lines(known, wide(snapshot)); };
  takt::Throughput& held_out = snapshot.series[1].throughput;
  held_out.no_interval = takt::NoInterval::few_stalls;
  held_out.stalls = 1;
  add();
  held_out.stalls = 3;
  add();
  held_out.no_interval = takt::NoInterval::correlated;
  add();
  held_out = takt::Throughput();
  add();
  held_out.excluded_steps = 4;
  add();
  snapshot.paths[snapshot.series[1].path].skipped = 40;
  add();
  snapshot = sample_snapshot();
  snapshot.series[0].throughput.items = 0;
  snapshot.series[0].throughput.period_ns *= 2;
  add();
  return text;
}

/// Returns the headers of runs in each state.
std::string heads_of_all_states() {
  Snapshot snapshot = sample_snapshot();
  std::string text;
  const auto add = [&] { text += lines_of(wide(snapshot)).at(1) + "\n"; };
  snapshot.finished = false;
  add();
  snapshot.finished = true;
  snapshot.failed = true;
  add();
  snapshot.killed = true;
  add();
  return text;
}

}  // namespace

TEST_CASE("the golden text of the console has each kind of note") {
  Snapshot died = one_second();
  died.failed = true;
  add_path(died, "Epoch");
  died.uncaught = {true, "std::runtime_error", "no more memory", 0, {0}};
  Snapshot sampled = four_calls();
  sampled.paths[0].bytes = 2'500'000'000;
  sampled.paths[0].items = 300;
  sampled.paths[add_path(sampled, "Decode", 0)].host.add(kMs);
  sampled.paths[add_path(sampled, "Decode")].host.add(kMs);
  sampled.paths[0].skipped = 12;
  std::string notes_on_depth;
  for (const std::string& line : lines_of(wide(deep_recursion()))) {
    if (mentions(line, {"64"})) { notes_on_depth += line + "\n"; }
  }
  check_golden("console.txt", table(run_with_all_notes(), 100) + throughput_of_all_kinds() + heads_of_all_states() +
                                  table(sampled, 100) + table(died, 100) +
                                  new_lines(wide(one_second()), wide(run_with_pauses(false))) +
                                  new_lines(wide(run_with_pauses(false)), wide(run_with_pauses(true))) +
                                  notes_on_depth);
}

TEST_CASE("the header shows the run, its rank, its time and its state") {
  Snapshot snapshot = sample_snapshot();
  snapshot.run.rank = 1;
  snapshot.run.world_size = 4;
  const std::string more = new_lines(wide(sample_snapshot()), wide(snapshot));
  CHECK(lines_of(more).size() == 2);  // the header, and the hint at other ranks
  const Scratch scratch;
  snapshot.run.directory = scratch.path("rank-1-0-17");
  CHECK(mentions(wide(snapshot), {"this is rank 1 only; for all ranks: takt report"}));
  snapshot.run.directory = sample_snapshot().run.directory;
  CHECK(line_mentions(more, {"digits", "digits-20260301-101530-5f3a", "1", "4", "62.4 s"}));
  const auto head = [&snapshot] { return lines_of(wide(snapshot)).at(1); };
  std::set<std::string> heads = {head()};
  snapshot.failed = true;
  heads.insert(head());
  snapshot.killed = true;
  heads.insert(head());
  snapshot.killed = false;
  snapshot.failed = false;
  snapshot.finished = false;
  heads.insert(head());
  CHECK(heads.size() == 4);
  for (const std::string& each : heads) { CHECK(mentions(each, {"digits-20260301-101530-5f3a", "62.4 s"})); }
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

TEST_CASE("a percentile equal to the longest call is not shown") {
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

TEST_CASE("calls inside warm-up are only in n, total, self and share") {
  Snapshot snapshot = one_second();
  takt::PathStats& path = snapshot.paths[add_path(snapshot, "IO")];
  path.host.add_warmup(50 * kMs);
  path.self_ns = 50 * kMs;
  CHECK(cells_of(row_of(table(snapshot), "IO")) ==
        Cells{"IO", "1", "50.0 ms", "-", "-", "-", "-", "-", "50.0 ms", "5.0 %", "50.0 ms"});
  path.host.add(10 * kMs);
  CHECK(cells_of(row_of(table(snapshot), "IO"))[3] == "10.0 ms");
}

TEST_CASE("a path that was never timed shows no timing figures") {
  Snapshot snapshot = one_second();
  add_path(snapshot, "IO");
  CHECK(cells_of(row_of(table(snapshot), "IO")) ==
        Cells{"IO", "0", "0 ns", "-", "-", "-", "-", "-", "0 ns", "0.0 %", "-"});
}

TEST_CASE("share is relative to the parent, and at the top to the run") {
  Snapshot snapshot = four_calls();
  takt::PathStats& child = snapshot.paths[add_path(snapshot, "Decode", 0)];
  child.host.add(25 * kMs);
  CHECK(contains(row_of(table(snapshot), "IO"), " 10.0 % "));
  CHECK(contains(row_of(table(snapshot), "Decode"), " 25.0 % "));
}

TEST_CASE("an open region's time so far is used for its share and for shares inside it") {
  Snapshot snapshot = one_second();
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  snapshot.paths[add_path(snapshot, "Batch", epoch)].host.add(760 * kMs);
  snapshot.paths[epoch].host.add(400 * kMs);
  snapshot.open.push_back({epoch, 0, 400 * kMs});
  CHECK(contains(row_of(table(snapshot), "Epoch"), " 80.0 % "));
  CHECK(contains(row_of(table(snapshot), "Batch"), " 95.0 % "));
}

TEST_CASE("stream spans have separate columns, empty for paths without spans") {
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

TEST_CASE("children are below their parent, indented, in the given order") {
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

TEST_CASE("a narrow terminal keeps name, n, total and mean and drops the least important columns first") {
  const Snapshot snapshot = sample_snapshot();
  const auto heads = [&](int width) { return cells_of(row_of(table(snapshot, width), "region")); };
  CHECK(heads(40) == Cells{"region", "n", "total", "mean"});
  CHECK(heads(50) == Cells{"region", "n", "total", "mean", "share"});
  CHECK(heads(60) == Cells{"region", "n", "total", "mean", "p50", "share"});
  CHECK(heads(80) == Cells{"region", "n", "total", "mean", "p50", "self", "share", "total", "mean"});
  CHECK(heads(100) == Cells{"region", "n", "total", "mean", "p50", "p99", "max", "self", "share", "total", "mean"});
  CHECK(cells_of(row_of(table(snapshot, 40), "Forward")).size() == 4);
}

TEST_CASE("names in any script keep the columns aligned, and long ones end in an ellipsis") {
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

TEST_CASE("names cannot control the terminal") {
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

TEST_CASE("throughput shows its interval or why there is none, and excluded steps") {
  const std::string text = wide(sample_snapshot());
  CHECK(line_mentions(text, {"Epoch/Batch", "main", "703", "95 %", "[699, 708]", "24", "11.0"}));
  CHECK(line_mentions(text, {"2", "1.71 s"}));
  const std::string name = "Epoch/Validation/Batch";
  CHECK(line_mentions(text, {name, "main", "8 752", "48", "128", "34.2"}));

  Snapshot snapshot = sample_snapshot();
  takt::Throughput& held_out = snapshot.series[1].throughput;
  held_out.no_interval = takt::NoInterval::few_stalls;
  held_out.stalls = 3;
  CHECK(line_mentions(wide(snapshot), {name, "8 752", "3", "10", "34.2"}));
  held_out.stalls = 1;
  CHECK(line_mentions(wide(snapshot), {name, "8 752", "1", "10", "34.2"}));
  held_out.no_interval = takt::NoInterval::correlated;
  CHECK(line_mentions(wide(snapshot), {name, "8 752", "6", "34.2"}));
  snapshot.series[0].throughput.items = 0;
  snapshot.series[1].throughput = takt::Throughput();
  CHECK(line_mentions(wide(snapshot), {"Epoch/Batch", "main", "11.0"}));
  CHECK_FALSE(line_mentions(wide(snapshot), {"703"}));
  std::set<std::string> reasons = {new_lines(text, wide(snapshot))};
  snapshot.series[1].throughput.excluded_steps = 4;
  reasons.insert(new_lines(text, wide(snapshot)));
  CHECK(line_mentions(wide(snapshot), {"4", "0 ns"}));
  snapshot.paths[snapshot.series[1].path].skipped = 40;
  reasons.insert(new_lines(text, wide(snapshot)));
  CHECK(reasons.size() == 3);
  for (const std::string& each : reasons) { CHECK(line_mentions(each, {name, "main"})); }
}

TEST_CASE("throughput uses the unit of items that the run names") {
  Snapshot snapshot = sample_snapshot();
  CHECK(line_mentions(wide(snapshot), {"Epoch/Batch", "703 samples/s"}));
  snapshot.params["item_unit"] = "tokens\x1b";
  CHECK(line_mentions(wide(snapshot), {"Epoch/Batch", "703 tokens?/s"}));
}

TEST_CASE("time between two Batches is reported if it is much of the period") {
  Snapshot snapshot = sample_snapshot();
  const std::string before = wide(snapshot);
  CHECK_FALSE(line_mentions(before, {"91.3 ms"}));
  snapshot.series[0].throughput.period_ns *= 2;
  const std::string more = new_lines(before, wide(snapshot));
  CHECK(mentions(more, {"91.3 ms", "182 ms", "50.2 %"}));
  // The loader's own regions and those once per Epoch are not named.
  CHECK_FALSE(mentions(more, {"Decode"}));
  CHECK_FALSE(mentions(more, {"Validation"}));
  add_series(snapshot, snapshot.series[0].path,
             add_thread(snapshot, "second"));  // Batches share one row with the others
  CHECK_FALSE(line_mentions(wide(snapshot), {"182 ms"}));
}

TEST_CASE("the longest region that can run between two Batches is named") {
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
  const auto line_of_between = [](const Snapshot& run) {
    for (const std::string& line : lines_of(wide(run))) {
      if (mentions(line, {"10.0 ms", "20.0 ms", "50.0 %"})) { return line; }
    }
    return std::string();
  };
  const std::string no_region = line_of_between(snapshot);
  Snapshot overlapping = snapshot;
  overlapping.paths[add_path(overlapping, "Batch", batch)].host.add(kMs);
  const std::string unnamed = line_of_between(overlapping);
  CHECK_FALSE(unnamed.empty());
  CHECK(no_region.size() > unnamed.size());      // it says that none exists
  add(add_path(snapshot, "Load"), 1, 60 * kMs);  // before the loop
  add(add_path(snapshot, "Seldom"), 4, 5 * kMs);
  const std::uint32_t sampled = add_path(snapshot, "Sampled");
  add(sampled, 5, 4 * kMs);
  snapshot.paths[sampled].skipped = 5;
  add(add_path(snapshot, "Elsewhere"), 10, 11 * kMs);  // longer than the time between Batches
  add(add_path(snapshot, "Forward", batch), 10, 9 * kMs);
  CHECK(line_of_between(snapshot) == unnamed);
  add(add_path(snapshot, "Half"), 5, kMs);
  CHECK(mentions(line_of_between(snapshot), {"Half", "500 us"}));
  add(add_path(snapshot, "Often"), 30, kMs);
  CHECK(mentions(line_of_between(snapshot), {"Often", "3.00 ms"}));
  add_thread(snapshot, "loader");
  CHECK(line_of_between(snapshot) == unnamed);
}

TEST_CASE("amounts are divided by their region's total time, without a rate if some calls were not timed") {
  Snapshot snapshot = four_calls();
  snapshot.paths[0].bytes = 2'500'000'000;
  snapshot.paths[0].items = 300;
  CHECK(line_mentions(wide(snapshot), {"IO", "25.0 GB/s", "2.50 GB", "100 ms"}));
  CHECK(line_mentions(wide(snapshot), {"IO", "3 000", "300", "100 ms"}));
  snapshot.paths[0].skipped = 12;
  CHECK(line_mentions(wide(snapshot), {"IO", "2.50 GB"}));
  CHECK(line_mentions(wide(snapshot), {"IO", "300"}));
  CHECK_FALSE(contains(wide(snapshot), "25.0 GB"));
  CHECK_FALSE(contains(wide(snapshot), "3 000"));
  CHECK(line_mentions(wide(snapshot), {"IO", "4", "16"}));  // timed calls and entered calls
  snapshot.paths[0].name = "Batch";
  CHECK_FALSE(line_mentions(wide(snapshot), {"300"}));
}

TEST_CASE("the report says what its figures include and exclude") {
  Snapshot snapshot = sample_snapshot();
  snapshot.clock.fallbacks = 1;
  snapshot.paths[4].device_lost = 3;
  const std::string text = wide(snapshot);
  CHECK(line_mentions(text, {"10", "Epoch/Batch", "1.89 s"}));                       // warm-up
  CHECK(line_mentions(text, {"1.80 s", "62.4 s", "2.9 %"}));                         // in no region
  CHECK(line_mentions(text, {"412 us", "0.00066 %"}));                               // own cost
  CHECK(line_mentions(text, {"70.2 s", "62.4 s", "112.5 %"}));                       // CPU time
  CHECK(line_mentions(text, {"tsc", "0.4 ppm", "10.0 s", "21 ppm", "17 ns", "1"}));  // clock, changed once
  CHECK(line_mentions(text, {"threads", "2", "100 %"}));
  CHECK(line_mentions(text, {"Epoch/Batch/Backward", "2", "3"}));  // pending and lost spans
  CHECK(line_mentions(text, {"Decode", "loader", "3.12 s"}));      // open
  CHECK(line_mentions(text, {"1", "Optimizer"}));                  // an end without a start
  snapshot.threads.back().name = takt::ThreadInfo::kFurther;
  CHECK(line_mentions(new_lines(text, wide(snapshot)), {"threads", "2", "100 %"}));
  snapshot.threads[snapshot.open.back().thread].name = "thread 1";
  CHECK(line_mentions(wide(snapshot), {"Decode", "thread 1", "3.12 s"}));
  CHECK_FALSE(contains(wide(snapshot), "thread thread"));
}

TEST_CASE("one line names the machine and the program") {
  Snapshot snapshot = one_second();
  CHECK_FALSE(contains(table(snapshot, 200), "machine:"));
  snapshot.run.host = "vm";
  snapshot.run.takt_version = "0.1.0";
  snapshot.process.processors = 2;
  takt::MachineInfo& machine = snapshot.run.machine;
  machine.compiler = "g++ 12.2.0";
  CHECK(contains(table(snapshot, 200), "machine: vm, takt 0.1.0, g++ 12.2.0\n"));
  machine.cpu = "AMD EPYC\n7763";
  machine.logical_cpus = 64;
  machine.host_memory_bytes = 23'500'000'000;
  machine.gpus = {"H200", "H200", "A100"};
  machine.commit = "1a2b3c4d5e";
  machine.libraries = {{"mpi", "Open MPI v4.1.4"}};
  CHECK(contains(table(snapshot, 200),
                 "machine: vm, AMD EPYC?7763, 2 of 64 CPUs, 23.5 GB, 2 x H200, A100; commit 1a2b3c4; takt 0.1.0, "
                 "g++ 12.2.0, mpi Open MPI v4.1.4\n"));
}

TEST_CASE("times in which nothing ran are reported first") {
  Snapshot snapshot = sample_snapshot();
  const std::string before = wide(snapshot);
  snapshot.process.stopped_ns = 3'000'000'000;
  snapshot.process.suspended_ns = 30'000'000'000;
  snapshot.process.before_ns = 20'000'000'000;
  const std::string text = wide(snapshot);
  const std::string more = new_lines(before, text);
  CHECK(lines_of(more).size() == 3);
  CHECK(line_mentions(more, {"3.00 s"}));
  CHECK(line_mentions(more, {"30.0 s"}));
  CHECK(line_mentions(more, {"20.0 s", "Session"}));  // recorded before a Session existed
  CHECK(text.find("3.00 s") < text.find("1.89 s"));   // warm-up
  snapshot.process.earlier_sessions = 1;
  CHECK(lines_of(new_lines(text, wide(snapshot))).size() == 1);
  CHECK(line_mentions(new_lines(text, wide(snapshot)), {"1", "Session"}));
  snapshot.process = takt::ProcessTimes();  // a journal without this data
  CHECK(new_lines(before, wide(snapshot)).empty());
  CHECK_FALSE(line_mentions(wide(snapshot), {"112.5 %"}));
}

TEST_CASE("effects of sampling are reported for the affected region") {
  Snapshot snapshot = one_second();
  const std::uint32_t step = add_path(snapshot, "Step");
  const std::uint32_t sampled = add_path(snapshot, "Sampled", step);
  const std::uint32_t child = add_path(snapshot, "Child", sampled);
  for (const std::uint32_t path : {step, sampled, child}) { snapshot.paths[path].host.add(kMs); }
  snapshot.paths[sampled].skipped = 9;
  const std::string before = wide(snapshot);
  CHECK(line_mentions(before, {"Step/Sampled", "1", "10"}));
  snapshot.paths[add_path(snapshot, "Child", step)].host.add(kMs);
  // In addition to the row of the second Child: children of untimed calls are one level higher.
  CHECK(line_mentions(new_lines(before, wide(snapshot)), {"Step/Sampled", "1", "10"}));
}

TEST_CASE("Batches that started inside another one are counted and are not steps") {
  Snapshot snapshot = one_second();
  const std::uint32_t batch = add_path(snapshot, "Batch", add_path(snapshot, "Epoch"));
  snapshot.paths[batch].host.add(kMs);
  CHECK_FALSE(line_mentions(wide(snapshot), {"1 Batch"}));
  const std::uint32_t inner = add_path(snapshot, "Batch", add_path(snapshot, "Forward", batch));
  CHECK_FALSE(line_mentions(wide(snapshot), {"1 Batch"}));
  snapshot.paths[inner].host.add(kMs);
  CHECK(line_mentions(wide(snapshot), {"1 Batch"}));
  snapshot.paths[inner].skipped = 2;
  snapshot.paths[add_path(snapshot, "Batch", inner)].host.add(kMs);
  CHECK(line_mentions(wide(snapshot), {"4 Batches"}));
}

TEST_CASE("a region longer than its enclosing one is reported, unless that one is open") {
  Snapshot snapshot = one_second();
  const std::uint32_t outer = add_path(snapshot, "Outer");
  snapshot.paths[outer].host.add(kMs);
  const std::uint32_t inner = add_path(snapshot, "Given", outer);
  snapshot.paths[inner].host.add(kMs);
  const auto line_of_given = [&snapshot] {
    for (const std::string& line : lines_of(wide(snapshot))) {
      if (mentions(line, {"Outer/Given"})) { return line; }
    }
    return std::string();
  };
  CHECK(line_of_given().empty());
  snapshot.paths[inner].host.add(kMs);
  std::set<std::string> lines = {line_of_given()};
  CHECK(mentions(*lines.begin(), {"record()"}));
  snapshot.losses = {{"never_ended", "Outer", 1}};
  lines.insert(line_of_given());
  snapshot.losses.clear();
  add_thread(snapshot, "main");
  add_thread(snapshot, "second");
  CHECK(mentions(line_of_given(), {"threads"}));
  lines.insert(line_of_given());
  CHECK(lines.size() == 3);  // each gives a further cause
  snapshot.open.push_back({outer, 0, 5});
  CHECK(line_of_given().empty());
}

TEST_CASE("a recursion at the maximum path length has no share, and the report says why") {
  Snapshot snapshot = one_second();
  std::uint32_t path = add_path(snapshot, "Outer");
  std::vector<std::uint32_t> all = {path};
  for (int depth = 1; depth < 64; ++depth) {
    path = add_path(snapshot, depth % 2 == 0 ? "Even" : "Odd", path);
    all.push_back(path);
  }
  for (const std::uint32_t each : all) { snapshot.paths[each].host.add(kMs); }
  CHECK_FALSE(line_mentions(wide(snapshot), {"64"}));
  CHECK(snapshot.share_of_parent(path) == 1);
  snapshot.paths[all[62]].host.add(9 * kMs);
  CHECK(snapshot.share_of_parent(all[62]) == std::nullopt);
  CHECK(snapshot.share_of_parent(all[63]) == 0.1);
  snapshot.paths[all[63]].host.add(19 * kMs);
  CHECK(snapshot.share_of_parent(all[63]) == std::nullopt);
  const std::string text = table(snapshot, 800);
  CHECK(line_mentions(text, {"Odd", "64"}));
  CHECK(line_mentions(text, {"Even", "64"}));
  CHECK(contains(text, "\nOuter"));
  snapshot.paths[all[1]].host.add(kMs);  // as with several threads, without recursion
  CHECK(snapshot.share_of_parent(all[1]) == 2);
  snapshot.paths[all[63]].name = "Other";
  CHECK(snapshot.share_of_parent(all[63]) == 2);
}

TEST_CASE("a coarse clock step is reported with the time of an empty region, unless that is shorter") {
  Snapshot snapshot = one_second();
  snapshot.clock.empty_region_ns = 40;
  snapshot.clock.resolution_ns = 40;
  CHECK(mentions(wide(snapshot), {"counts in steps of 40 ns, an empty region reads 40 ns"}));
  snapshot.clock.empty_region_ns = 0;
  CHECK(mentions(wide(snapshot), {"counts in steps of 40 ns"}));
  CHECK(!mentions(wide(snapshot), {"an empty region"}));
  snapshot.clock.resolution_ns = 1;
  snapshot.clock.empty_region_ns = 9;
  CHECK(!mentions(wide(snapshot), {"steps of"}));
}

TEST_CASE("the overhead in regions with many small inner ones is reported for a few of them") {
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
  snapshot.paths.back().skipped = 100;  // skipping costs much less
  snapshot.paths[1].skipped = 100;
  const std::string text = wide(snapshot);
  CHECK(line_mentions(text, {"Outer0", "16.0 us", "23.0 us", "16 ns", "1 000"}));
  CHECK(line_mentions(text, {"Outer2", "16.0 us"}));
  CHECK_FALSE(line_mentions(text, {"Outer3", "16.0 us"}));
  CHECK(line_mentions(text, {"2 more"}));
  snapshot.paths[0].host.add(3'000'000);  // too small a share for a line
  CHECK_FALSE(line_mentions(wide(snapshot), {"Outer0", "16.0 us"}));
  snapshot = sample_snapshot();
  const std::string sample = wide(snapshot);
  snapshot.clock.region_cost_ns.reset();
  CHECK(new_lines(wide(snapshot), sample).empty());
}

TEST_CASE("losses are described in words, not by identifier") {
  for (const char* const what : kLosses) {
    Snapshot snapshot = sample_snapshot();
    snapshot.losses = {{what, "", 7}};
    const std::string more = new_lines(wide(sample_snapshot()), wide(snapshot));
    INFO(what);
    CHECK(lines_of(more).size() == 1);
    CHECK(line_mentions(more, {"7"}));
    CHECK(!contains(more, what + std::string("\n")));
  }
}

TEST_CASE("three findings precede all figures, followed by a pointer to the others") {
  Snapshot snapshot = sample_snapshot();
  for (const char* const sentence : {"first", "second", "third\x1b", "fourth", "fifth"}) {
    snapshot.findings.push_back({"slow_steps", sentence, {}, {}});
  }
  const std::string text = table(snapshot);
  const std::vector<std::string> lines = lines_of(text);
  CHECK(std::vector<std::string>(lines.begin() + 2, lines.begin() + 6) ==
        std::vector<std::string>{"", "first", "second", "third?"});
  CHECK(mentions(lines.at(6), {"2", "takt report"}));
  CHECK(lines.at(7).empty());
  CHECK_FALSE(contains(text, "fourth"));
  snapshot.findings.resize(4);
  CHECK(mentions(lines_of(table(snapshot)).at(6), {"1", "takt report"}));
  snapshot.findings.resize(3);
  CHECK_FALSE(contains(table(snapshot), "takt report --json"));
}

TEST_CASE("contents of a finding are not repeated below the table") {
  Snapshot snapshot = sample_snapshot();
  snapshot.losses.insert(snapshot.losses.begin(), {"never_ended", "Epoch/Batch/Forward/embed", 2});
  snapshot.process.stopped_ns = 3'000'000'000;
  snapshot.process.suspended_ns = 30'000'000'000;
  const std::string without = wide(snapshot);
  CHECK(line_mentions(without, {"2", "Epoch/Batch/Forward/embed"}));
  CHECK(line_mentions(without, {"3.00 s"}));
  CHECK(line_mentions(without, {"30.0 s"}));
  for (const char* const what : {"never_ended", "stopped", "slept"}) {
    snapshot.findings.push_back({what, what, {}, {}});
  }
  const std::string text = wide(snapshot);
  CHECK_FALSE(contains(text, "embed"));
  CHECK_FALSE(line_mentions(text, {"3.00 s"}));
  CHECK_FALSE(line_mentions(text, {"30.0 s"}));
}

TEST_CASE("stream waits are reported, and values from spans alone are marked as bounds") {
  Snapshot snapshot = sample_snapshot();
  const std::string before = wide(snapshot);
  const std::uint32_t wait = add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait);
  snapshot.paths[wait].device.add(30'000'000);
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.steps = 600;
  line.overlap.span_ns = 50'000'000'000;
  line.overlap.comm_ns = 9'000'000'000;
  snapshot.time_lines.push_back(line);
  std::string more = new_lines(before, wide(snapshot));
  CHECK(line_mentions(more, {"\u2264 30.0 ms", "1"}));
  CHECK(line_mentions(more, {"cuda 0", "600", "50.0 s", "\u2264 9.00 s"}));
  more = wide(snapshot);
  snapshot.time_lines[0].overlap.undecided = 5;
  more = new_lines(more, wide(snapshot));
  CHECK(lines_of(more).size() == 1);
  CHECK(line_mentions(more, {"5", "CommWait"}));
}

TEST_CASE("with several devices the waiting one is named, with one it is not repeated") {
  Snapshot snapshot = sample_snapshot();
  const std::uint32_t wait = add_path(snapshot, takt::CommWait.name(), 1, takt::Kind::wait);
  snapshot.paths[wait].device.add(30'000'000);
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.overlap.comm_exposed_ns = 0;
  snapshot.time_lines.push_back(line);
  CHECK_FALSE(line_mentions(wide(snapshot), {"cuda 0"}));
  line.number = 1;
  line.overlap.comm_exposed_ns = 30'000'000;
  snapshot.time_lines.push_back(line);
  line.number = 2;
  line.overlap.comm_exposed_ns.reset();
  snapshot.time_lines.push_back(line);
  CHECK(line_mentions(wide(snapshot), {"\u2264 30.0 ms", "1"}));
  CHECK(line_mentions(wide(snapshot), {"cuda 0 0 ns", "cuda 1 30.0 ms"}));
  CHECK_FALSE(line_mentions(wide(snapshot), {"cuda 2"}));
}

TEST_CASE("durations without memory are missing from the percentiles, and this is reported") {
  Snapshot snapshot = one_second();
  takt::detail::MemoryBudget nothing(0);
  snapshot.paths[add_path(snapshot, "IO")].host.add(5, &nothing);
  CHECK(line_mentions(wide(snapshot), {"IO", "1", "memory"}));
}

TEST_CASE("an empty run has a report") {
  const std::string text = table(Snapshot());
  CHECK(line_mentions(text, {"0 ns", "-"}));
  CHECK(cells_of(row_of(text, "run")) == Cells{"run", "0 ns"});
}

TEST_CASE("columns that are named are shown in that order at any width, and unknown ones are left out") {
  takt::TableForm form;
  form.width = 40;
  form.columns = "stdev,variance,min,n";
  const std::string text = takt::format_table(sample_snapshot(), form);
  CHECK(cells_of(row_of(text, "region")) == Cells{"region", "stdev", "min", "n"});
  form.columns = "variance";
  CHECK(takt::format_table(sample_snapshot(), form) == takt::format_table(sample_snapshot(), {40, false}));
}

TEST_CASE("the times of threads are columns on demand, and the most uneven region has a line") {
  Snapshot snapshot = one_second();
  const std::uint32_t even = add_path(snapshot, "Even");
  const std::uint32_t work = add_path(snapshot, "Work");
  add_path(snapshot, "Unknown");
  for (const char* name : {"main", "pool 1", "pool 2"}) { add_thread(snapshot, name); }
  for (int call = 0; call < 3; ++call) { snapshot.paths[even].host.add(100 * kMs); }
  for (const std::uint64_t ms : {1, 1, 3}) { snapshot.paths[work].host.add(ms * kMs); }
  snapshot.paths[even].spread = {3, 0, 109 * kMs};
  snapshot.paths[work].spread = {2, 2, 4 * kMs};
  takt::TableForm form;
  form.columns = "threads,thread_mean,thread_max";
  const std::string text = takt::format_table(snapshot, form);
  CHECK(cells_of(row_of(text, "region")) == Cells{"region", "threads", "thread mean", "thread max"});
  CHECK(cells_of(row_of(text, "Even")) == Cells{"Even", "3", "100 ms", "109 ms"});
  CHECK(cells_of(row_of(text, "Work")) == Cells{"Work", "2", "2.50 ms", "4.00 ms"});
  CHECK(cells_of(row_of(text, "Unknown")) == Cells{"Unknown", "-", "-", "-"});
  CHECK(line_mentions(wide(snapshot), {"Work", "2 threads", "2.50 ms", "4.00 ms", "pool 2"}));
  snapshot.paths[even].spread.longest_ns = 111 * kMs;  // 11 ms above the mean, more than 1.5 ms
  CHECK(line_mentions(wide(snapshot), {"Even", "3 threads", "100 ms", "111 ms", "main"}));
}

TEST_CASE("the memory of regions is reported") {
  Snapshot snapshot = one_second();
  snapshot.region_memories.push_back({"Forward", {600, 12'000'000, 3'000'000, 1'200'000'000}, {}});
  snapshot.region_memories.push_back({"Backward", {0, 0, 0, 0}, {1, -500, -500, 700}});
  snapshot.region_memories.resize(10);
  const std::string text = wide(snapshot);
  CHECK(line_mentions(text, {"memory", "Forward", "+12.0 MB", "600 calls", "+3.00 MB", "1.20 GB"}));
  CHECK(line_mentions(text, {"memory", "Backward", "allocator", "-500 B", "1 call,", "700 B"}));
  CHECK(line_mentions(text, {"2 more regions"}));
}

TEST_CASE("the form says how many findings are printed") {
  Snapshot snapshot = sample_snapshot();
  for (const char* sentence : {"first", "second", "third", "fourth", "fifth"}) {
    takt::Finding finding;
    finding.sentence = std::string("the ") + sentence + " finding";
    snapshot.findings.push_back(finding);
  }
  const std::string three = takt::format_table(snapshot, {100, false});
  CHECK(contains(three, "the third finding\n2 more findings: takt report\n"));
  CHECK_FALSE(contains(three, "the fourth"));
  takt::TableForm all;
  all.findings = 100;
  CHECK(contains(takt::format_table(snapshot, all), "the fourth finding\nthe fifth finding\n\n"));
}

TEST_CASE("colour changes only the style") {
  std::string colored = takt::format_table(sample_snapshot(), {100, true});
  CHECK(contains(colored, "\x1b[1mTakt: digits"));
  CHECK(contains(colored, "\x1b[2m"));
  for (const std::string code : {"\x1b[1m", "\x1b[2m", "\x1b[0m"}) {
    for (std::size_t at = colored.find(code); at != std::string::npos; at = colored.find(code)) {
      colored.erase(at, code.size());
    }
  }
  CHECK(colored == table(sample_snapshot(), 100));
}

TEST_CASE("the exporter prints only when the run has finished") {
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

TEST_CASE("a table that cannot be printed is reported and dropped") {
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  takt::detail::forget_errors();
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

TEST_CASE("on a terminal the table fits its width and has colour unless disabled") {
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
  CHECK(printed() == takt::format_table(four_calls(), {50, true}));
  setenv("NO_COLOR", "1", 1);
  CHECK(printed() == takt::format_table(four_calls(), {50, false}));
  options.color = takt::ConsoleOptions::Color::always;
  CHECK(printed() == takt::format_table(four_calls(), {50, true}));
  options.color = takt::ConsoleOptions::Color::automatic;
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  CHECK(printed() == takt::format_table(four_calls(), {50, false}));
  setenv("TERM", "xterm-256color", 1);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  CHECK(printed() == takt::format_table(four_calls(), {50, false}));
  options.color = takt::ConsoleOptions::Color::always;
  CHECK(printed() == takt::format_table(four_calls(), {50, true}));
  unsetenv("OMPI_COMM_WORLD_RANK");
  options.color = takt::ConsoleOptions::Color::never;
  options.width = 70;
  CHECK(printed() == takt::format_table(four_calls(), {70, false}));
}

TEST_CASE("the sample in docs/report.md equals the printed text") {
  const std::string page = read_text((tests_directory() / "../docs/report.md").string());
  REQUIRE_FALSE(page.empty());
  CHECK(contains(page, "```text" + table(sample_snapshot(), 100) + "```\n"));
}
