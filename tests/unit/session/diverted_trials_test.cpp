// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Data recorded during trials is excluded from the run's statistics.
#include <takt/trials.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include "journal/journal_reader.hpp"
#include "process/diversion.hpp"
#include "process/process.hpp"

#include <takt/backends/manual.hpp>
#include <takt/exporters/memory.hpp>
#include <takt/takt.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using takt::Row;
using takt::Session;
using takt::Snapshot;
using takt::TrialOptions;
using takt_test::by_hand;
using takt_test::calls_of;
using takt_test::contains;
using takt_test::find_path;

constexpr int kSteps = 40;
constexpr takt::Key LoadInTrials{"Load", takt::Kind::io};

TrialOptions trials_and_on() {
  TrialOptions options;
  options.io = options.synthetic = options.full = options.go_on = true;
  options.steps = 5;
  options.save = options.restore = [] {};
  return options;
}

std::uint64_t now_ns() { return takt::detail::process_clock().now_ns(); }

void spin(std::uint64_t ns) {
  for (const std::uint64_t end = now_ns() + ns; now_ns() < end;) {}
}

/// Runs a training program that records everything, below `top`, so that two in one process do not collide.
void excluded_trials_train(Session& session, const char* top, const TrialOptions& options) {
  takt::ManualClock device;
  const takt::Scope outer(takt::key(top));
  const takt::Scope epoch(takt::Epoch);
  std::vector<int> batches(kSteps);
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  int number = 100;
  TrialOptions with = options;
  with.save = with.restore = [&number] { number = 100; };
  for (auto&& each : takt::trials(session, batches, with)) {
    each = number;
    session.step(number++);
    takt::Scope batch(takt::Batch);
    batch.items(8);
    {
      takt::Scope load(LoadInTrials, takt::every(2));
      load.bytes(100);
    }
    { takt::Scope forward(takt::Forward, takt::ManualBackend(device).stream()); }
    takt::Scope laps(takt::Backward);
    laps.lap(takt::Comm);
    takt::record(takt::IO, std::chrono::microseconds(3));
    timer.start(takt::Other);
    timer.end(takt::Other);
    const takt::Handle handle = timer.start(takt::Other);
    timer.end(handle);
    session.metric("loss", 1.5);
    std::thread([] { const takt::Scope elsewhere(takt::key("elsewhere")); }).join();
  }
}

/// A report's data of one path, except times.
struct Place {
  std::uint64_t n, warmup, items, bytes, skipped, spans;
  bool operator==(const Place& other) const {
    return n == other.n && warmup == other.warmup && items == other.items && bytes == other.bytes &&
           skipped == other.skipped && spans == other.spans;
  }
};

std::vector<Place> places_below(const Snapshot& snapshot, const std::string& top) {
  std::vector<Place> places;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    if (snapshot.path_name(path).rfind(top + "/", 0) != 0) { continue; }
    const takt::PathStats& each = snapshot.paths[path];
    places.push_back({each.host.n(), each.host.warmup_n(), each.items, each.bytes, each.skipped, each.device.n()});
  }
  return places;
}

takt::Throughput throughput_of(const Snapshot& snapshot, const std::string& batch) {
  for (const takt::Series& each : snapshot.series) {
    if (each.path == find_path(snapshot, batch)) { return each.throughput; }
  }
  return {};
}

}  // namespace

TEST_CASE("Excluded trials: totals, rows, metrics, steps and losses of the run are as without them") {
  const support::ScopedEnvironment environment;
  const takt::MemoryExporter memory;
  takt::SessionOptions options = by_hand();
  options.warmup = 3;
  Session session("trials", options);
  session.add(memory);
  excluded_trials_train(session, "without", TrialOptions());
  const std::uint64_t elsewhere = calls_of(session.snapshot(), "elsewhere");
  const std::size_t losses = session.snapshot().losses.size();
  excluded_trials_train(session, "with", trials_and_on());
  session.close();
  const Snapshot last = memory.last();
  REQUIRE(last.trials != nullptr);
  REQUIRE(last.trials->steps_done == 40);
  REQUIRE(last.losses.size() == losses);
  REQUIRE(places_below(last, "with") == places_below(last, "without"));
  REQUIRE(calls_of(last, "with/Epoch/Batch") == kSteps);
  REQUIRE(calls_of(last, "elsewhere") == 2 * elsewhere);
  const std::vector<Row> with = takt_test::rows_of(memory, "with/Epoch/Batch");
  const std::vector<Row> without = takt_test::rows_of(memory, "without/Epoch/Batch");
  REQUIRE(with.size() == kSteps);
  REQUIRE(without.size() == kSteps);
  for (std::size_t row = 0; row < with.size(); ++row) {
    REQUIRE(with[row].step == static_cast<std::int64_t>(100 + row));
    REQUIRE(with[row].step == without[row].step);
    REQUIRE(with[row].items == without[row].items);
    REQUIRE(with[row].warmup == without[row].warmup);
    REQUIRE(with[row].cells.size() == without[row].cells.size());
  }
  REQUIRE(takt_test::metrics_of(memory, "loss").size() == 2 * kSteps);
  const takt::Throughput with_trials = throughput_of(last, "with/Epoch/Batch");
  const takt::Throughput without_trials = throughput_of(last, "without/Epoch/Batch");
  REQUIRE(with_trials.steps == kSteps - 3);
  REQUIRE(with_trials.steps == without_trials.steps);
  REQUIRE(with_trials.items == without_trials.items);
}

TEST_CASE("Excluded trials: their time is neither in enclosing open regions nor in uncovered time") {
  Session session("trials", by_hand());
  TrialOptions options = trials_and_on();
  const std::uint64_t kWait = 5'000'000;
  options.wait = [&] { spin(kWait); };
  const std::int64_t uncovered_before = session.snapshot().uncovered_ns;
  const std::uint64_t begin = now_ns();
  std::uint64_t inside = 0;
  {
    takt::Scope top(takt::key("around trials"));
    spin(1'000'000);
    std::vector<int> batches(3);
    for (auto&& each : takt::trials(session, batches, options)) { each = 1; }
    takt::Scope behind(takt::key("behind trials"));
    inside = now_ns() - begin;
    spin(1'000'000);
  }
  const std::uint64_t whole = now_ns() - begin;
  const Snapshot snapshot = session.snapshot();
  const takt::PathStats& around = snapshot.paths[find_path(snapshot, "around trials")];
  const std::uint64_t trials = 12 * kWait;
  REQUIRE(static_cast<std::uint64_t>(snapshot.trials->took_ns) >= trials);
  REQUIRE(around.host.total_ns() >= 2'000'000);
  REQUIRE(around.host.total_ns() <= whole - trials);
  REQUIRE(around.self_ns <= inside - trials);
  REQUIRE(around.self_ns >= 1'000'000);
  // It is part of the wall time and in no region, but not counted as uncovered.
  const std::int64_t uncovered = snapshot.uncovered_ns - uncovered_before;
  REQUIRE(uncovered <= static_cast<std::int64_t>(now_ns() - begin - trials));
}

TEST_CASE("Excluded trials: a region that ends inside them adds no excess time to enclosing ones") {
  Session session("trials", by_hand());
  TrialOptions options = trials_and_on();
  options.wait = [] { spin(1'000'000); };
  {
    takt::Scope top(takt::key("outer of laps"));
    takt::Scope laps(takt::key("lap before"));
    std::vector<int> batches(3);
    for (auto&& each : takt::trials(session, batches, options)) {
      laps.lap(takt::key("lap inside"));
      each = 1;
    }
  }
  const Snapshot snapshot = session.snapshot();
  const takt::PathStats& top = snapshot.paths[find_path(snapshot, "outer of laps")];
  REQUIRE(top.self_ns <= top.host.total_ns());
  REQUIRE(calls_of(snapshot, "outer of laps/lap before") == 1);
  REQUIRE(calls_of(snapshot, "outer of laps/lap inside") == 3);  // after the trials
  REQUIRE(takt_test::losses_of(snapshot, "never_ended") == 0);
}

TEST_CASE("Excluded trials: the run directory has them only in trials.json") {
  const takt_test::Scratch scratch;
  takt::SessionOptions run;
  run.directory = scratch.path("runs");
  run.table = false;
  run.background = false;
  run.run_id = "trials";
  std::string directory;
  {
    Session session("trials", run);
    directory = session.run().directory;
    excluded_trials_train(session, "files", trials_and_on());
  }
  takt::detail::JournalReader reader(directory);
  Snapshot reported;
  std::size_t rows = 0;
  while (reader.read_part(reported)) {
    rows += reported.rows.size();
    reported.rows.clear();
  }
  REQUIRE(rows == kSteps);
  REQUIRE(calls_of(reported, "files/Epoch/Batch") == kSteps);
  const auto document = nlohmann::json::parse(takt_test::read_text(directory + "/trials.json"));
  REQUIRE(document["schema"] == "takt-trials/1");
  REQUIRE(document["run_id"] == "trials-trials");
  REQUIRE(document["unit"] == "samples");
  REQUIRE(document["kinds"].size() == 3);
  REQUIRE(document["kinds"][2]["kind"] == "FULL");
  REQUIRE(document["kinds"][2]["trials"] == 3);
  REQUIRE(document["steps_done"] == 40);
  REQUIRE(document["went_on"] == true);
  REQUIRE(document["streams"] == 1);
  REQUIRE(takt_test::mode_of(directory + "/trials.json") == 0600);
}

TEST_CASE("Excluded trials: regions from before and after keep their time on any thread") {
  Session session("trials", by_hand());
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  takt::detail::Diversion& diversion = takt::detail::diversion();
  const takt::Handle before = timer.start(takt::key("begun before"));
  REQUIRE(diversion.begin());
  REQUIRE_FALSE(diversion.begin());
  const takt::detail::Region inside = takt::detail::begin_on(takt::key("begun inside"), {});
  timer.end(before);
  REQUIRE(takt::detail::lap_slow(inside, takt::key("lap")) != 0);
  std::thread([&] { takt::detail::end_slow(inside); }).join();
  takt::detail::note_amount(inside, takt::detail::Amount::items, 3);
  diversion.end();
  takt::detail::end_slow(inside);  // harmless: it was never recorded
  takt::detail::note_amount(inside, takt::detail::Amount::bytes, 3);
  const Snapshot snapshot = session.snapshot();
  REQUIRE(calls_of(snapshot, "begun before") == 1);
  REQUIRE(find_path(snapshot, "begun inside") == takt_test::kNowhere);
  REQUIRE(takt_test::losses_of(snapshot, "end_without_start") == 0);
}

TEST_CASE("Excluded trials: step numbers set during trials do not apply to the run") {
  const takt::MemoryExporter memory;
  Session session("trials", by_hand());
  session.add(memory);
  REQUIRE(takt::detail::diversion().begin());
  session.step(500);
  takt::detail::diversion().end();
  {
    const takt::Scope top(takt::key("numbered"));
    const takt::Scope batch(takt::Batch);
  }
  session.close();
  REQUIRE(takt_test::rows_of(memory, "numbered/Batch").at(0).step == 0);
}

TEST_CASE("Excluded trials: reports streams beyond the maximum") {
  takt::ManualClock clocks[70];
  takt::detail::Diversion& diversion = takt::detail::diversion();
  REQUIRE(diversion.begin());
  for (takt::ManualClock& clock : clocks) {
    for (int twice = 0; twice < 2; ++twice) { takt::Scope scope(takt::Forward, takt::ManualBackend(clock)); }
  }
  std::thread([&] { takt::Scope scope(takt::Forward, takt::ManualBackend(clocks[0])); }).join();
  REQUIRE(diversion.streams() == takt::detail::Diversion::kStreams);
  REQUIRE(diversion.has_more_streams());
  diversion.end();
}
