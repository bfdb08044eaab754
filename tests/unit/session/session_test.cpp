// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/session.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include "journal/journal_reader.hpp"
#include "process/registry.hpp"

#include <takt/backends/manual.hpp>
#include <takt/detail/process.hpp>
#include <takt/exporters/memory.hpp>
#include <takt/takt.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using takt::Cell;
using takt::MemoryExporter;
using takt::Row;
using takt::Scope;
using takt::Session;
using takt::SessionOptions;
using takt::Snapshot;
using takt_test::by_hand;
using takt_test::calls_of;
using takt_test::cell_of;
using takt_test::contains;
using takt_test::find_path;
using takt_test::line_mentions;
using takt_test::losses_of;
using takt_test::metrics_of;
using takt_test::rows_of;

constexpr takt::Key Load{"Load", takt::Kind::io};

/// Runs one step below `top`, so that tests in one process use separate series.
void step_below(const char* top, std::int64_t items = 0) {
  const Scope outer(takt::key(top));
  Scope batch(takt::Batch);
  { const Scope load(Load); }
  { const Scope forward(takt::Forward); }
  if (items != 0) { batch.items(items); }
}

std::vector<std::int64_t> steps_of(const std::vector<Row>& rows) {
  std::vector<std::int64_t> steps;
  for (const Row& row : rows) { steps.push_back(row.step); }
  return steps;
}

/// Returns the output of one call of Session::print().
std::string printed_by(Session& session) {
  const takt_test::Scratch scratch;
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  std::FILE* const file = std::fopen(scratch.path("out").c_str(), "w");
  ::dup2(::fileno(file), STDOUT_FILENO);
  session.print();
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  std::fclose(file);
  return takt_test::read_text(scratch.path("out"));
}

}  // namespace

TEST_CASE("Session: poll() exports one row per step, each once") {
  Session session("poll", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  step_below("poll", 64);
  step_below("poll", 32);
  REQUIRE(rows_of(memory, "poll/Batch").empty());
  session.poll();
  session.poll();

  const std::vector<Row> rows = rows_of(memory, "poll/Batch");
  REQUIRE(steps_of(rows) == std::vector<std::int64_t>{0, 1});
  REQUIRE(rows[0].items == 64);
  REQUIRE(rows[1].items == 32);
  REQUIRE(rows[1].sequence == rows[0].sequence + 1);
  REQUIRE(rows[0].begin_ns >= 0);
  REQUIRE(rows[1].begin_ns >= rows[0].begin_ns + rows[0].host_ns);
  REQUIRE(rows[1].begin_ns + rows[1].host_ns <= memory.last().wall_ns);
  REQUIRE(rows[0].complete);
  const Cell* load = cell_of(rows[0], find_path(memory.last(), "poll/Batch/Load"));
  REQUIRE(load != nullptr);
  REQUIRE(load->calls == 1);
  REQUIRE(load->host_ns >= 0);
  REQUIRE(load->host_ns <= rows[0].host_ns);
  REQUIRE(load->device_ns == Cell::kAbsent);
  REQUIRE(calls_of(memory.last(), "poll/Batch") == 2);
}

TEST_CASE("Session: its own cost includes blocking in the constructor and in close()") {
  const auto now_ns = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  const std::int64_t before = now_ns();
  Session session("blocked", by_hand());
  const std::int64_t opened = now_ns();
  const takt::Snapshot first = session.snapshot();
  CHECK(first.process.blocked_ns > 0);
  CHECK(first.process.blocked_ns <= opened - before);
  CHECK(first.overhead_ns >= first.process.blocked_ns);
  CHECK(session.snapshot().process.blocked_ns == first.process.blocked_ns);  // work of the program is not blocking
  const MemoryExporter memory;
  session.add(memory);
  const std::int64_t added = now_ns();
  const std::int64_t by_then = session.snapshot().process.blocked_ns;
  CHECK(by_then > first.process.blocked_ns);
  const std::int64_t closing = now_ns();
  session.close();
  CHECK(memory.last().process.blocked_ns > by_then);
  CHECK(memory.last().process.blocked_ns <= (added - before) + (now_ns() - closing));
}

TEST_CASE("Session: params and tags are in every snapshot, and later values win") {
  Session session("params", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  session.param("lr", 0.1);
  session.param("float", 0.1F);
  session.param("layers", 12);
  session.param("shuffle", true);
  session.param("optimizer", "sgd");
  session.tag("git", "4e593bb");
  session.poll();
  session.param("lr", 0.01);
  session.unit("tokens");
  session.poll();
  const std::map<std::string, std::string> expected{{"lr", "0.01"},      {"float", "0.1"},     {"layers", "12"},
                                                    {"shuffle", "true"}, {"optimizer", "sgd"}, {"item_unit", "tokens"}};
  REQUIRE(memory.last().params == expected);
  REQUIRE(memory.last().tags == std::map<std::string, std::string>{{"git", "4e593bb"}});
}

TEST_CASE("Session: a rank set in code is that of the process during the Session") {
  const int before = takt::detail::this_rank();
  SessionOptions options = by_hand();
  options.rank = before + 7;
  options.world_size = before + 8;
  {
    const Session session("test", options);
    CHECK(takt::detail::this_rank() == before + 7);
  }
  CHECK(takt::detail::this_rank() == before);
}

TEST_CASE("Session: the run starts with it if nothing was recorded before") {
  REQUIRE(takt::enabled());  // starts the process's clock
  const std::uint64_t begin_ns = takt::detail::process_clock().now_ns();
  Session session("nothing before", by_hand());
  const Snapshot first = session.snapshot();
  REQUIRE(first.process.before_ns == 0);
  REQUIRE(first.wall_ns <= static_cast<std::int64_t>(takt::detail::process_clock().now_ns() - begin_ns));
}

TEST_CASE("Session: adopts data recorded before it") {
  step_below("before");
  std::thread([] { step_below("before"); }).join();
  Session session("before", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  step_below("before");
  session.poll();
  REQUIRE(calls_of(memory.last(), "before/Batch/Load") == 3);
  REQUIRE(rows_of(memory, "before/Batch").size() == 3);
}

TEST_CASE("Session: the first Batches of a path are warm-up, as many as the options say") {
  SessionOptions options = by_hand();
  options.warmup = 3;
  Session session("warmup", options);
  const MemoryExporter memory;
  session.add(memory);
  for (int step = 0; step < 5; ++step) { step_below("warmup"); }
  std::thread([] { step_below("warmup"); }).join();  // also on a thread that starts later
  session.poll();
  std::map<std::uint32_t, std::vector<bool>> warmup;  // by series
  for (const Row& row : rows_of(memory, "warmup/Batch")) { warmup[row.series].push_back(row.warmup); }
  REQUIRE(warmup.size() == 2);
  REQUIRE(warmup.begin()->second == std::vector<bool>{true, true, true, false, false});
  REQUIRE(warmup.rbegin()->second == std::vector<bool>{true});
  const Snapshot last = memory.last();
  const takt::PathStats& load = last.paths[find_path(last, "warmup/Batch/Load")];
  REQUIRE(load.host.n() == 6);
  REQUIRE(load.host.warmup_n() == 4);
}

TEST_CASE("Session: step() numbers the open Batch, or else the next one") {
  Session session("step", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  session.step(100);
  step_below("step");
  step_below("step");
  session.step(200);
  step_below("step");
  {
    const Scope outer(takt::key("step"));
    const Scope batch(takt::Batch);
    session.step(300);
  }
  step_below("step");
  session.step(-7);
  step_below("step");
  session.poll();
  REQUIRE(steps_of(rows_of(memory, "step/Batch")) == std::vector<std::int64_t>{100, 101, 200, 300, 301, -7});
}

TEST_CASE("Session: step() between two Batch paths numbers the next one") {
  Session session("step_paths", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  step_below("training");
  session.step(50);
  step_below("validation");
  step_below("training");
  session.poll();
  REQUIRE(steps_of(rows_of(memory, "validation/Batch")) == std::vector<std::int64_t>{50});
  REQUIRE(steps_of(rows_of(memory, "training/Batch")) == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("Session: a metric has the step of the open Batch, else of the last ended one") {
  Session session("metric_step", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  // On a separate thread, because one with steps from other tests has a last step.
  std::thread([&session] {
    session.metric("before any Batch", 1);
    {
      const Scope batch(takt::Batch);
      session.metric("in the first", 1);
    }
    session.metric("after the first", 1);
    {
      const Scope batch(takt::Batch);
      session.metric("in the second", 1);
    }
    session.metric("after the second", 1);
    session.step(20);
    session.metric("after the second, with the next numbered", 1);
    {
      const Scope batch(takt::Batch);
      session.metric("in step 20", 1);
    }
    session.metric("after step 20", 1);
    session.metric("explicit", 1, -3);
  }).join();
  session.poll();
  const auto step_of = [&memory](const char* name) { return metrics_of(memory, name).at(0).step; };
  CHECK(step_of("before any Batch") == 0);
  CHECK(step_of("in the first") == 0);
  CHECK(step_of("after the first") == 0);
  CHECK(step_of("in the second") == 1);
  CHECK(step_of("after the second") == 1);
  CHECK(step_of("after the second, with the next numbered") == 1);
  CHECK(step_of("in step 20") == 20);
  CHECK(step_of("after step 20") == 20);
  CHECK(step_of("explicit") == -3);
}

TEST_CASE("Session: the end of an Epoch logs its steps, rate and time, and the snapshot lists it") {
  Session session("epochs", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  std::thread([&session] {
    for (int number = 0; number < 2; ++number) {
      const Scope epoch(takt::Epoch);
      for (int step = 0; step < 3 + number; ++step) {
        Scope batch(takt::Batch);
        batch.items(10);
      }
      session.metric("loss", 2 - number);
    }
    const Scope empty(takt::Epoch);
  }).join();
  session.poll();
  const auto steps = metrics_of(memory, "epoch/steps");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].value == 3);
  CHECK(steps[1].value == 4);
  CHECK(steps[1].step == 6);
  REQUIRE(metrics_of(memory, "epoch/time_s").size() == 3);
  const Snapshot snapshot = session.snapshot();
  REQUIRE(snapshot.epochs.size() == 3);
  const takt::EpochStats& second = snapshot.epochs[1];
  CHECK(second.steps == 4);
  CHECK(second.last_step == 6);
  REQUIRE(second.samples_per_s);
  CHECK(*second.samples_per_s == Approx(40 / second.seconds));
  CHECK(second.metrics == std::map<std::string, double>{{"loss", 1}});
  CHECK_FALSE(snapshot.epochs[2].steps);
  const std::uint32_t path = find_path(snapshot, "Epoch");
  REQUIRE(path != takt_test::kNowhere);
  double sum = 0;
  for (const takt::EpochStats& each : snapshot.epochs) { sum += each.seconds; }
  CHECK(1e9 * sum == Approx(static_cast<double>(snapshot.paths[path].host.total_ns())).margin(3));
}

TEST_CASE("Session: an Epoch that ends on another thread logs nothing") {
  Session session("moved_epoch", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  takt::Handle epoch = timer.start(takt::Epoch);
  std::thread([&] { timer.end(epoch); }).join();
  session.poll();
  CHECK(metrics_of(memory, "epoch/time_s").empty());
  CHECK(session.snapshot().epochs.empty());
}

TEST_CASE("Session: a metric before the first Batch has the step that was set for it") {
  Session session("metric_set", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  std::thread([&session] {
    session.step(1000);
    session.metric("resumed", 1);
  }).join();
  session.poll();
  REQUIRE(metrics_of(memory, "resumed").at(0).step == 1000);
}

TEST_CASE("Session: a metric on a thread without steps, while others have some, is reported once") {
  const support::CaughtErrors errors;
  Session session("helper", by_hand());
  step_below("helper");
  session.metric("loss", 1);
  std::thread([&] {
    session.metric("with a step", 1, 7);
    session.metric("validation", 2);
    session.metric("validation", 3);
  }).join();
  std::thread([&] {
    session.step(8);
    session.metric("told", 4);
  }).join();
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(line_mentions(errors.text(), {"metric(\"validation\")", "Batch", "step is 0"}));
}

TEST_CASE("Session: metrics keep their order, wall clock, NaN and infinities") {
  Session session("metrics", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  session.metric("loss", 0.5);
  session.metric("loss", std::numeric_limits<double>::quiet_NaN());
  session.metric("loss", -std::numeric_limits<double>::infinity());
  session.poll();
  const std::vector<takt::Metric> loss = metrics_of(memory, "loss");
  REQUIRE(loss.size() == 3);
  REQUIRE(loss[0].value == 0.5);
  REQUIRE(std::isnan(loss[1].value));
  REQUIRE(loss[2].value == -std::numeric_limits<double>::infinity());
  REQUIRE(loss[1].sequence == loss[0].sequence + 1);
  const std::int64_t age_ns = loss[0].time_unix_ns - session.run().start_unix_ns;
  REQUIRE(age_ns >= 0);
  REQUIRE(age_ns <= memory.last().wall_ns);
}

TEST_CASE("Session: names are repaired, values are unchanged") {
  Session session("names", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  const std::string control = "a\x1b[31m\nb";
  const std::string repaired = "a?[31m?b";
  const std::string huge(10'000, 'x');
  const std::string cut = std::string(191, 'x') + "_76bb4805";
  const std::string no_text(10'000, '\x80');  // continuation bytes: no place to cut between characters
  for (const std::string& name : {control, huge, no_text, std::string()}) {
    session.param(name, name);
    session.tag(name, name);
    session.metric(name, 1);
  }
  session.poll();
  const Snapshot last = memory.last();
  REQUIRE(last.params.at(repaired) == control);
  REQUIRE(last.tags.at(repaired) == control);
  REQUIRE(metrics_of(memory, repaired).size() == 1);
  REQUIRE(last.params.at(cut) == huge);
  REQUIRE(last.tags.at(cut) == huge);
  REQUIRE(metrics_of(memory, cut).size() == 1);
  REQUIRE(last.params.at("(unnamed)").empty());
  REQUIRE(metrics_of(memory, "(unnamed)").size() == 1);
  for (const auto& [name, value] : last.params) {
    REQUIRE(!name.empty());
    REQUIRE(name.size() <= 200);
  }
  REQUIRE(last.params.size() == 4);
}

TEST_CASE("Session: names that differ only after the cut stay distinct, with one warning per kind") {
  const support::CaughtErrors errors;
  Session session("long names", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  const std::string start(250, 'm');
  for (const char* const end : {"/train", "/val"}) {
    session.param(start + end, end);
    session.tag(start + end, end);
    session.metric(start + end, 1);
  }
  session.poll();
  const Snapshot last = memory.last();
  REQUIRE(last.params.size() == 2);
  REQUIRE(last.tags.size() == 2);
  for (const auto& [name, value] : last.params) {
    REQUIRE(name.size() == 200);
    REQUIRE(last.tags.at(name) == value);
    REQUIRE(metrics_of(memory, name).size() == 1);
    if (value == "/train") {
      for (const char* const kind : {"parameter", "tag", "metric"}) {
        REQUIRE(line_mentions(errors.text(), {kind, "\"" + name + "\""}));
      }
    }
  }
  REQUIRE(errors.lines().size() == 3);
  takt::name_thread("");
  REQUIRE(line_mentions(errors.text(), {"thread", "\"(unnamed)\""}));
  takt::name_thread("main");
}

TEST_CASE("Session: two Batch paths and two threads are separate series with separate counts") {
  Session session("series", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  step_below("series_a");
  step_below("series_b");
  step_below("series_a");
  std::thread([] {
    takt::name_thread("second");
    step_below("series_a");
    step_below("series_a");
    step_below("series_a");
  }).join();
  session.poll();

  const Snapshot last = memory.last();
  std::map<std::string, std::vector<std::int64_t>> steps;
  for (const Row& row : memory.rows()) {
    const takt::Series& series = last.series.at(row.series);
    steps[last.path_name(series.path) + " on " + last.threads.at(series.thread).name].push_back(row.step);
  }
  REQUIRE(steps["series_a/Batch on second"] == std::vector<std::int64_t>{0, 1, 2});
  std::size_t others = 0;
  for (const auto& [name, numbers] : steps) {
    if (name.rfind("series_a/Batch on ", 0) == 0 && !contains(name, "second")) {
      REQUIRE(numbers == std::vector<std::int64_t>{0, 1});
      ++others;
    }
    if (name.rfind("series_b/Batch on ", 0) == 0) {
      REQUIRE(numbers == std::vector<std::int64_t>{0});
      ++others;
    }
  }
  REQUIRE(others == 2);
}

TEST_CASE("Session: a row waits for its device values and is exported with them") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  Session session("late", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  const auto step = [&stream, &clock] {
    const Scope outer(takt::key("late"));
    const Scope batch(takt::Batch);
    for (int call = 0; call < 2; ++call) {
      const Scope forward(takt::Forward, stream);
      clock.advance(std::chrono::nanoseconds(500));
    }
  };
  clock.hold(true);
  step();
  session.poll();
  REQUIRE(rows_of(memory, "late/Batch").empty());
  REQUIRE(memory.last().paths[find_path(memory.last(), "late/Batch/Forward")].device_pending == 2);

  clock.resolve_all();
  clock.hold(false);
  step();  // the thread that made the marks polls them
  session.poll();
  const std::vector<Row> rows = rows_of(memory, "late/Batch");
  REQUIRE(rows.size() == 2);
  for (const Row& row : rows) {
    REQUIRE(row.complete);
    const Cell* forward = cell_of(row, find_path(memory.last(), "late/Batch/Forward"));
    REQUIRE(forward != nullptr);
    REQUIRE(forward->calls == 2);
    REQUIRE(forward->device_ns == 1000);
  }
  REQUIRE(memory.last().paths[find_path(memory.last(), "late/Batch/Forward")].device.total_ns() == 2000);
  session.close();
  REQUIRE(clock.outstanding() == 0);
  REQUIRE(clock.misuses() == 0);
}

TEST_CASE("Session: the Batch's own stream span is in its row, early or late") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  Session session("own", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  const auto step = [&stream, &clock] {
    const Scope outer(takt::key("own"));
    const Scope batch(takt::Batch, stream);
    clock.advance(std::chrono::nanoseconds(700));
  };
  step();
  clock.hold(true);
  step();
  clock.resolve_all();
  clock.hold(false);
  step();
  session.poll();
  const std::vector<Row> rows = rows_of(memory, "own/Batch");
  REQUIRE(rows.size() == 3);
  for (const Row& row : rows) {
    const Cell* own = cell_of(row, find_path(memory.last(), "own/Batch"));
    REQUIRE(own != nullptr);
    REQUIRE(own->calls == 1);
    REQUIRE(own->host_ns == row.host_ns);
    REQUIRE(own->device_ns == 700);
    REQUIRE(row.complete);
  }
}

TEST_CASE("Session: paths beyond the 64th column share one cell, including early and late stream spans") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  Session session("many", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  const auto step = [&stream, &clock] {
    const Scope outer(takt::key("many"));
    const Scope batch(takt::Batch);
    for (int path = 0; path < 70; ++path) {
      const Scope region(takt::key(("column " + std::to_string(path)).c_str()), stream);
      clock.advance(std::chrono::nanoseconds(10));
    }
  };
  step();
  clock.hold(true);
  step();
  clock.resolve_all();
  clock.hold(false);
  step();
  session.poll();
  const std::vector<Row> rows = rows_of(memory, "many/Batch");
  REQUIRE(rows.size() == 3);
  for (const Row& row : rows) {
    REQUIRE(row.cells.size() == 65);
    REQUIRE(row.complete);
    const Cell* other = cell_of(row, takt::kNoIndex);
    REQUIRE(other != nullptr);
    REQUIRE(other->calls == 6);
    REQUIRE(other->host_ns <= row.host_ns);
    REQUIRE(other->device_ns == 60);
    REQUIRE(cell_of(row, find_path(memory.last(), "many/Batch/column 63"))->device_ns == 10);
  }
}

TEST_CASE("Session: a region that started before the Batch is no column of it, and neither is its span") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  Session session("across", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  {
    const Scope outer(takt::key("across"));
    struct Held {
      explicit Held(const takt::ManualBackend& stream) : scope(takt::Comm, stream) {}
      Scope scope;
    };
    auto held = std::make_unique<Held>(stream);
    clock.hold(true);
    const Scope batch(takt::Batch);
    clock.advance(std::chrono::nanoseconds(10));
    held.reset();  // ends inside the Batch
  }
  clock.resolve_all();
  clock.hold(false);
  step_below("across");
  session.poll();
  REQUIRE(takt::complete(std::chrono::milliseconds(0)));
  session.poll();
  const std::uint32_t comm = find_path(memory.last(), "across/Comm");
  REQUIRE(comm != takt_test::kNowhere);
  REQUIRE(memory.last().paths[comm].device.total_ns() == 10);
  const std::vector<Row> rows = memory.rows();
  REQUIRE(rows.size() == 2);
  REQUIRE(cell_of(rows[0], comm) == nullptr);
  REQUIRE(rows[0].complete);
}

TEST_CASE("Session: exports a pending row without device values after 1 024 later ones, and counts it") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  Session session("stuck", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  session.poll();
  const std::uint64_t before = losses_of(memory.last(), "rows_incomplete");
  clock.hold(true);
  {
    const Scope outer(takt::key("stuck"));
    const Scope batch(takt::Batch);
    const Scope forward(takt::Forward, stream);
  }
  clock.hold(false);
  for (int step = 0; step < 1023; ++step) {
    step_below("stuck");
    if (step % 100 == 0) { session.poll(); }
  }
  session.poll();
  REQUIRE(rows_of(memory, "stuck/Batch").size() == 1023);
  step_below("stuck");
  session.poll();
  const std::vector<Row> rows = rows_of(memory, "stuck/Batch");
  REQUIRE(rows.size() == 1025);
  const Row& stuck = rows[1023].step == 0 ? rows[1023] : rows[1024];
  REQUIRE(stuck.step == 0);
  REQUIRE_FALSE(stuck.complete);
  REQUIRE(cell_of(stuck, find_path(memory.last(), "stuck/Batch/Forward"))->device_ns == Cell::kAbsent);
  REQUIRE(losses_of(memory.last(), "rows_incomplete") == before + 1);

  // Later values are in the totals, and no row is exported twice.
  clock.resolve_all();
  step_below("stuck");
  REQUIRE(takt::complete(std::chrono::milliseconds(0)));
  session.poll();
  REQUIRE(rows_of(memory, "stuck/Batch").size() == 1026);
  REQUIRE(memory.last().paths[find_path(memory.last(), "stuck/Batch/Forward")].device.n() == 1);
}

TEST_CASE("Session: exports rows at the end without pending device values, and counts them") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  const MemoryExporter memory;
  {
    Session session("absent", by_hand());
    session.add(memory);
    clock.hold(true);
    {
      const Scope outer(takt::key("absent"));
      const Scope batch(takt::Batch);
      const Scope forward(takt::Forward, stream);
    }
    session.poll();
    REQUIRE(rows_of(memory, "absent/Batch").empty());
  }
  const std::vector<Row> rows = rows_of(memory, "absent/Batch");
  REQUIRE(rows.size() == 1);
  REQUIRE_FALSE(rows[0].complete);
  const std::uint32_t forward = find_path(memory.last(), "absent/Batch/Forward");
  REQUIRE(cell_of(rows[0], forward)->device_ns == Cell::kAbsent);
  REQUIRE(memory.last().paths[forward].device_lost == 1);
  REQUIRE(losses_of(memory.last(), "device_unresolved") >= 1);
  REQUIRE(losses_of(memory.last(), "rows_incomplete") >= 1);
  REQUIRE(clock.outstanding() == 0);
}

TEST_CASE("Session: a failed device span makes its row incomplete, and the others keep their values") {
  takt::ManualClock clock;
  const takt::ManualBackend stream(clock);
  Session session("failed_span", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  clock.hold(true);
  {
    const Scope outer(takt::key("failed_span"));
    const Scope batch(takt::Batch);
    { const Scope forward(takt::Forward, stream); }
    clock.fail(clock.held().back());
    const Scope backward(takt::Backward, stream);
    clock.advance(std::chrono::nanoseconds(30));
  }
  clock.resolve_all();
  REQUIRE(takt::complete(std::chrono::milliseconds(0)));
  session.poll();
  const std::vector<Row> rows = rows_of(memory, "failed_span/Batch");
  REQUIRE(rows.size() == 1);
  REQUIRE_FALSE(rows[0].complete);
  REQUIRE(cell_of(rows[0], find_path(memory.last(), "failed_span/Batch/Forward"))->device_ns == Cell::kAbsent);
  REQUIRE(cell_of(rows[0], find_path(memory.last(), "failed_span/Batch/Backward"))->device_ns == 30);
}

TEST_CASE("Session: throughput excludes warm-up and periods that contain an Epoch boundary or another Batch path") {
  SessionOptions options = by_hand();
  options.warmup = 2;
  Session session("rates", options);
  const MemoryExporter memory;
  session.add(memory);
  std::thread([] {
    for (int epoch = 0; epoch < 2; ++epoch) {
      const Scope scope(takt::Epoch);
      for (int step = 0; step < 5; ++step) {
        Scope batch(takt::Batch);
        batch.items(10);
      }
      const Scope validation(takt::key("Validation"));
      for (int step = 0; step < 3; ++step) { const Scope batch(takt::Batch); }
    }
  }).join();
  session.poll();
  const Snapshot last = memory.last();
  const takt::Series* training = nullptr;
  const takt::Series* validation = nullptr;
  for (const takt::Series& series : last.series) {
    if (last.path_name(series.path) == "Epoch/Batch") { training = &series; }
    if (last.path_name(series.path) == "Epoch/Validation/Batch") { validation = &series; }
  }
  REQUIRE(training != nullptr);
  REQUIRE(validation != nullptr);
  REQUIRE(training->steps == 10);
  REQUIRE(training->warmup_steps == 2);
  // Steps 2, 3, 4 and, after the boundary, 6 to 9.
  REQUIRE(training->throughput.steps == 7);
  REQUIRE(training->throughput.items == 70);
  REQUIRE(training->throughput.excluded_steps == 1);
  REQUIRE(training->throughput.items_per_s > 0);
  REQUIRE(validation->steps == 6);
  REQUIRE(validation->throughput.steps == 3);  // step 2 of the first epoch, 4 and 5
  REQUIRE(validation->throughput.excluded_steps == 1);
  REQUIRE(validation->throughput.items == 0);

  std::uint64_t counted_ns = 0;
  std::vector<bool> has_period;
  for (const Row& row : rows_of(memory, "Epoch/Batch")) {
    has_period.push_back(row.period_ns.has_value());
    if (row.period_ns && !row.warmup) { counted_ns += static_cast<std::uint64_t>(*row.period_ns); }
  }
  REQUIRE(has_period == std::vector<bool>{false, true, true, true, true, false, true, true, true, true});
  REQUIRE(training->throughput.period_ns == counted_ns);
}

TEST_CASE("Session: an exporter added late gets all totals, and rows from then on") {
  Session session("added_late", by_hand());
  const MemoryExporter early;
  session.add(early);
  step_below("added_late");
  session.poll();
  const MemoryExporter late;
  session.add(late);
  step_below("added_late");
  session.poll();
  REQUIRE(calls_of(late.last(), "added_late/Batch") == 2);
  REQUIRE(steps_of(rows_of(early, "added_late/Batch")) == std::vector<std::int64_t>{0, 1});
  REQUIRE(steps_of(rows_of(late, "added_late/Batch")) == std::vector<std::int64_t>{1});
}

TEST_CASE("Session: after retry an exporter gets the same data and newer data, and drop counts") {
  Session session("answers", by_hand());
  const MemoryExporter good;
  MemoryExporter moody;
  session.add(good);
  session.add(moody);
  moody.answer(takt::ExportResult::retry);
  step_below("answers");
  session.poll();
  session.metric("answers", 1);
  step_below("answers");
  session.poll();
  REQUIRE(moody.rows().empty());
  REQUIRE(losses_of(good.last(), "not_exported") == 0);
  moody.answer(takt::ExportResult::ok);
  session.poll();
  REQUIRE(steps_of(rows_of(moody, "answers/Batch")) == std::vector<std::int64_t>{0, 1});
  REQUIRE(metrics_of(moody, "answers").size() == 1);

  moody.answer(takt::ExportResult::drop);
  step_below("answers");
  session.poll();
  moody.answer(takt::ExportResult::ok);
  session.poll();
  REQUIRE(steps_of(rows_of(moody, "answers/Batch")) == std::vector<std::int64_t>{0, 1});
  REQUIRE(steps_of(rows_of(good, "answers/Batch")) == std::vector<std::int64_t>{0, 1, 2});
  REQUIRE(losses_of(good.last(), "not_exported") == 1);
}

TEST_CASE("Session: a concurrent second one is refused with a helpful message") {
  Session session("first", by_hand());
  std::string what;
  try {
    const Session second("second", by_hand());
  } catch (const takt::Error& error) { what = error.what(); }
  REQUIRE(contains(what, "\"first\""));
  REQUIRE(contains(what, "close()"));
  session.close();
  REQUIRE_NOTHROW(Session("third", by_hand()));
}

// docs/decisions/0007-session-adopts.md
TEST_CASE("Session: a later one continues the totals with its own time, rows, params and overhead, and reports that") {
  const support::CaughtErrors caught;
  const MemoryExporter first;
  {
    Session session("sequence", by_hand());
    session.add(first);
    for (int region = 0; region < 20'000; ++region) { const Scope many(takt::key("sequence")); }
    step_below("sequence", 5);
    session.metric("sequence", 1);
    session.param("lr", 1);
  }
  step_below("sequence", 6);  // between the two: adopted by the second
  const MemoryExporter second;
  Session session("sequence", by_hand());
  session.add(second);
  step_below("sequence", 7);
  session.poll();
  REQUIRE(calls_of(first.last(), "sequence/Batch") == 1);
  REQUIRE(calls_of(second.last(), "sequence/Batch") == 3);
  REQUIRE(steps_of(rows_of(first, "sequence/Batch")) == std::vector<std::int64_t>{0});
  REQUIRE(steps_of(rows_of(second, "sequence/Batch")) == std::vector<std::int64_t>{1, 2});
  REQUIRE(metrics_of(second, "sequence").empty());
  REQUIRE(second.last().params.empty());
  REQUIRE(second.last().run.start_unix_ns >= first.last().run.start_unix_ns + first.last().wall_ns);
  REQUIRE(second.last().uncovered_ns <= second.last().wall_ns);
  REQUIRE(first.last().overhead_ns > 0);
  const auto cost_of_recording = [](const takt::Snapshot& run) { return run.overhead_ns - run.process.blocked_ns; };
  REQUIRE(cost_of_recording(second.last()) < cost_of_recording(first.last()) / 100);
  REQUIRE(first.last().process.earlier_sessions == 0);
  REQUIRE(second.last().process.earlier_sessions == 1);
  REQUIRE(caught.lines().size() == 1);
}

TEST_CASE("Session: close() exports the last snapshot once, and later calls do nothing") {
  Session session("closing", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  step_below("closing");
  REQUIRE(session.close());
  REQUIRE(memory.last().finished);
  REQUIRE_FALSE(memory.last().failed);
  REQUIRE(rows_of(memory, "closing/Batch").size() == 1);
  const std::size_t shown = memory.snapshots();
  REQUIRE(session.close());
  session.poll();
  session.metric("closing", 1);
  session.param("closing", 1);
  session.step(1);
  REQUIRE_NOTHROW(session.snapshot());
  REQUIRE(memory.snapshots() == shown);
  REQUIRE_THROWS_AS(session.add(MemoryExporter()), takt::Error);
  REQUIRE_THROWS_AS(session.add(std::unique_ptr<takt::Exporter>()), takt::Error);
}

TEST_CASE("Session: an exception that unwinds it, or fail(), sets the run to failed") {
  const MemoryExporter thrown;
  const MemoryExporter caught;
  const MemoryExporter reported;
  try {
    Session session("thrown", by_hand());
    session.add(thrown);
    throw std::runtime_error("out of data");
  } catch (const std::runtime_error&) {
    // No unwinding happens in a handler.
    Session session("caught", by_hand());
    session.add(caught);
  }
  {
    Session session("told", by_hand());
    session.add(reported);
    session.fail();
  }
  REQUIRE(thrown.last().failed);
  REQUIRE_FALSE(caught.last().failed);
  REQUIRE(reported.last().failed);
}

TEST_CASE("Session: print() writes the table of the run so far") {
  Session session("printing", by_hand());
  step_below("printing");
  const Scope open(takt::key("not ended"));
  const std::string text = printed_by(session);
  REQUIRE(contains(text, "Takt: printing, run "));
  REQUIRE(contains(text, "so far"));
  REQUIRE(contains(text, "Forward"));
  REQUIRE(contains(text, "unfinished: not ended"));
}

TEST_CASE("Session: with little memory regions overflow and are counted without other effects") {
  const support::CaughtErrors errors;
  SessionOptions options = by_hand();
  options.memory_bytes = 64U << 10U;
  Session session("small", options);
  const MemoryExporter memory;
  session.add(memory);
  std::vector<std::string> names;
  for (int path = 0; path < 300; ++path) { names.push_back("small " + std::to_string(path)); }
  {
    const Scope outer(takt::key("small"));
    for (const std::string& name : names) { const Scope region(takt::key(name.c_str())); }
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] { step_below("small"); });
  }
  for (std::thread& thread : threads) { thread.join(); }
  session.poll();
  std::uint64_t calls = 0;
  for (const std::string& name : names) { calls += calls_of(memory.last(), "small/" + name); }
  REQUIRE(calls < names.size());
  REQUIRE(losses_of(memory.last(), "overflow") >= names.size() - calls);
  REQUIRE(calls_of(memory.last(), "(overflow)") > 0);
  session.close();
  Session again("large", by_hand());
  again.add(memory);
  std::thread([] { step_below("after small"); }).join();
  again.poll();
  REQUIRE(calls_of(memory.last(), "after small/Batch") == 1);
}

TEST_CASE("Session: short-lived threads do not accumulate while a reader runs", "[timed]") {
  const std::size_t before = takt::detail::registry().shared().budget.used();
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int thread = 0; thread < 2; ++thread) {
    others.emplace_back([&stop] {  // enough paths to make reading them slow
      for (int path = 0; path < 300; ++path) {
        const Scope region(takt::key(("churn " + std::to_string(path)).c_str()));
      }
      while (!stop) { std::this_thread::yield(); }
    });
  }
  others.emplace_back([&stop] {
    while (!stop) { takt::snapshot(); }
  });
  std::vector<std::thread> spawners;
  for (int spawner = 0; spawner < 4; ++spawner) {
    spawners.emplace_back([] {
      for (int brief = 0; brief < 1000; ++brief) {
        std::thread([] { const Scope region(takt::key("churn")); }).join();
      }
    });
  }
  for (std::thread& thread : spawners) { thread.join(); }
  stop = true;
  for (std::thread& thread : others) { thread.join(); }
  const Snapshot after = takt::snapshot();
  REQUIRE(calls_of(after, "churn") == 4000);
  REQUIRE(losses_of(after, "threads_without_memory") == 0);
  REQUIRE(takt::detail::registry().shared().budget.used() < before + (4U << 20U));
}

TEST_CASE("Session: throughput excludes periods in which recording was off") {
  SessionOptions options = by_hand();
  options.warmup = 0;
  Session session("half off", options);
  std::thread([] {
    for (int step = 0; step < 12; ++step) {
      takt::set_enabled(step < 5 || step == 8);
      step_below("half off", 10);
    }
    takt::set_enabled(true);
    takt::set_enabled(true);  // changes nothing
  }).join();
  session.poll();
  const Snapshot snapshot = takt::snapshot();
  const takt::Series* found = nullptr;
  for (const takt::Series& series : snapshot.series) {
    if (snapshot.path_name(series.path) == "half off/Batch") { found = &series; }
  }
  REQUIRE(found != nullptr);
  REQUIRE(found->steps == 6);
  REQUIRE(found->throughput.steps == 4);
  REQUIRE(found->throughput.items == 40);
  REQUIRE(found->throughput.excluded_steps == 1);
}

TEST_CASE("Session: while timing is off it records metrics but no regions") {
  Session session("off", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  takt::set_enabled(false);
  step_below("off");
  session.metric("off", 1);
  takt::set_enabled(true);
  step_below("off");
  session.metric("off", 2);
  session.poll();
  REQUIRE(calls_of(memory.last(), "off/Batch") == 1);
  REQUIRE(rows_of(memory, "off/Batch").size() == 1);
  REQUIRE(metrics_of(memory, "off").size() == 2);
}

TEST_CASE("Session: several threads may poll and close, but never call an exporter concurrently") {
  struct Narrow final : takt::Exporter {
    explicit Narrow(std::atomic<int>& worst) : max(worst) {}
    const char* name() const noexcept override { return "narrow"; }
    takt::ExportResult export_snapshot(const Snapshot&) override {
      const int now = inside.fetch_add(1) + 1;
      if (now > max) { max = now; }
      for (int turn = 0; turn < 20; ++turn) { std::this_thread::yield(); }
      inside.fetch_sub(1);
      return takt::ExportResult::ok;
    }
    std::atomic<int> inside{0};
    std::atomic<int>& max;
  };
  std::atomic<int> max{0};
  Session session("many_polls", by_hand());
  session.add(std::make_unique<Narrow>(max));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&session] {
      for (int call = 0; call < 50; ++call) { session.poll(); }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  REQUIRE(max == 1);
}

// Last in this file, because it uses up the metric names of its process.
TEST_CASE("Session: beyond 1 024 metric names the value is dropped, counted and reported once") {
  const support::CaughtErrors errors;
  Session session("metric_names", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  for (int name = 0; name < 1100; ++name) { session.metric("name " + std::to_string(name), name); }
  const std::uint64_t refused = losses_of(session.snapshot(), "metrics_over_bound");
  session.metric("one too many", 1);
  session.poll();
  REQUIRE(memory.metrics().size() <= 1024);
  REQUIRE(memory.metrics().size() >= 1000);  // other tests in this process may have used some names
  REQUIRE(metrics_of(memory, "one too many").empty());
  REQUIRE(metrics_of(memory, "name 0").size() == 1);
  REQUIRE(losses_of(memory.last(), "metrics_over_bound") == refused + 1);
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(contains(errors.text(), "1 024 metric names"));
}

TEST_CASE("Session: the step after the last number repeats that number and is counted") {
  Session session("last step", by_hand());
  const MemoryExporter memory;
  session.add(memory);
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  session.step(kLast - 1);
  for (int step = 0; step < 4; ++step) { step_below("last step"); }
  session.metric("after the last", 1);
  session.poll();
  REQUIRE(steps_of(rows_of(memory, "last step/Batch")) == std::vector<std::int64_t>{kLast - 1, kLast, kLast, kLast});
  REQUIRE(metrics_of(memory, "after the last").at(0).step == kLast);
  REQUIRE(losses_of(memory.last(), "steps_beyond_last_number") == 3);
}

TEST_CASE("Session: totals, items and bytes saturate, and the report names them") {
  const takt::Key& full = takt::key("full sums");
  const Snapshot before = takt::snapshot();
  for (int round = 0; round < 5; ++round) { takt::record(full, std::chrono::nanoseconds::max()); }
  for (int round = 0; round < 3; ++round) {
    Scope scope(takt::key("full amounts"));
    scope.items(std::numeric_limits<std::int64_t>::max());
    scope.bytes(std::numeric_limits<std::int64_t>::max() - 1);
  }
  // Another thread has its own sums, which are added to these.
  std::thread([&full] { takt::record(full, std::chrono::nanoseconds::max()); }).join();
  const Snapshot after = takt::snapshot();
  const takt::PathStats& times = after.paths.at(find_path(after, "full sums"));
  REQUIRE(times.host.n() == 6);
  REQUIRE(times.host.total_ns() == takt::detail::kMaxSum);
  REQUIRE(times.self_ns <= takt::detail::kMaxSum);
  const takt::PathStats& amounts = after.paths.at(find_path(after, "full amounts"));
  REQUIRE(amounts.items == takt::detail::kMaxSum);
  REQUIRE(amounts.bytes == takt::detail::kMaxSum);
  REQUIRE(losses_of(after, "sums_at_limit") == losses_of(before, "sums_at_limit") + 3);
}

TEST_CASE("Session: the journal and added exporters start at once, before the first period", "[timed]") {
  struct Beginner final : takt::Exporter {
    explicit Beginner(std::vector<std::string>& said) : calls(said) {}
    const char* name() const noexcept override { return "beginner"; }
    takt::ExportResult export_snapshot(const Snapshot&) override {
      calls.emplace_back("export");
      return takt::ExportResult::ok;
    }
    void begin(const Snapshot& snapshot) override { calls.push_back("begin " + snapshot.params.at("lr")); }
    std::vector<std::string>& calls;
  };
  const bool background = GENERATE(true, false);
  const takt_test::Scratch scratch;
  SessionOptions options;
  options.directory = scratch.path("runs");
  options.table = false;
  options.background = background;
  options.period = std::chrono::milliseconds(3'600'000);
  std::vector<std::string> calls;
  Session session("early", options);
  {
    takt::detail::JournalReader reader(session.run().directory);
    Snapshot read;
    REQUIRE(reader.read(read));
    CHECK(read.run.id == session.run().id);
    CHECK_FALSE(read.clock.name.empty());
    CHECK_FALSE(reader.ended());
  }
  session.param("lr", "0.1");
  session.add(std::make_unique<Beginner>(calls));
  REQUIRE(calls == std::vector<std::string>{"begin 0.1"});
  REQUIRE(session.close());
  // Once, or twice if its thread saw the data before the last collection.
  REQUIRE(calls.size() > 1);
  REQUIRE(std::count(calls.begin(), calls.end(), "export") == static_cast<std::ptrdiff_t>(calls.size()) - 1);
}

TEST_CASE("Session: an exporter's start that fails or hangs is reported and delays nothing for long") {
  struct Bad final : takt::Exporter {
    explicit Bad(std::function<void()> does) : what(std::move(does)) {}
    const char* name() const noexcept override { return "bad"; }
    takt::ExportResult export_snapshot(const Snapshot&) override { return takt::ExportResult::ok; }
    void begin(const Snapshot&) override { what(); }
    std::function<void()> what;
  };
  const support::CaughtErrors caught;
  SessionOptions options = by_hand();
  options.background = true;
  options.exit_timeout = std::chrono::milliseconds(100);
  Session session("bad beginnings", options);
  session.add(std::make_unique<Bad>([] { throw std::runtime_error("no disk"); }));
  REQUIRE(line_mentions(caught.text(), {"\"bad\"", "no disk"}));
  std::promise<void> leave;
  const std::shared_future<void> left = leave.get_future().share();
  session.add(std::make_unique<Bad>([left] { left.wait(); }));
  REQUIRE(contains(caught.text(), "takes too long to start"));
  REQUIRE_FALSE(session.close());
  leave.set_value();
}

TEST_CASE("Session: times too long for any clock are clamped") {
  SessionOptions options = by_hand();
  options.background = true;
  options.exit_timeout = options.period = std::chrono::milliseconds::max();
  Session session("long", options);
  const MemoryExporter memory;
  session.add(memory);
  step_below("long");
  REQUIRE(session.close());
  CHECK(memory.last().finished);
}

TEST_CASE("Session: if no directory can be made for files, close() returns false") {
  const support::CaughtErrors caught;
  const takt_test::Scratch scratch;
  takt_test::write_text(scratch.path("file"), "mine");
  SessionOptions options = by_hand();
  options.files = true;
  options.directory = scratch.path("file");
  Session session("homeless", options);
  const MemoryExporter memory;
  session.add(memory);
  step_below("homeless");
  REQUIRE_FALSE(session.close());
  REQUIRE(session.run().directory.empty());
  REQUIRE(rows_of(memory, "homeless/Batch").size() == 1);
  REQUIRE(line_mentions(caught.text(), {scratch.path("file")}));
}

TEST_CASE("Session: a null pointer for a text is reported and ignored", "[session]") {
  const char* const unset = nullptr;  // as returned by std::getenv()
  const support::CaughtErrors errors;
  Session session(unset, by_hand());
  session.param("host", unset);
  session.param(unset, 1);
  session.tag("partition", unset);
  session.tag(unset, std::string("gpu"));
  session.metric(unset, 1.0);
  session.metric(unset, 1.0, 3);
  session.metric(nullptr, 1.0);
  takt::name_thread(unset);
  takt::key(unset);
  CHECK_THROWS_AS(session.group(unset, 1), takt::Error);
  const Snapshot seen = session.snapshot();
  CHECK(seen.run.name == "run");
  CHECK(seen.params.empty());
  CHECK(seen.tags.empty());
  for (const char* function : {"Session", "param", "tag", "metric"}) {
    CHECK(contains(errors.text(), std::string("Session::") + function + "() was given a null pointer"));
  }
  CHECK(line_mentions(errors.text(), {"param", "\"host\""}));
}
