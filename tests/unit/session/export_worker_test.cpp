// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/export_worker.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;
using takt::ExportResult;
using takt::MemoryExporter;
using takt::Snapshot;
using takt::detail::Drained;
using takt::detail::ExportWorker;
using takt::detail::Time;
using takt_test::contains;

constexpr std::chrono::seconds kLong(60);  // longer than any operation takes; a test that waits for it has failed

Time after(milliseconds time) { return std::chrono::steady_clock::now() + time; }

/// The calls that an exporter received. Outlives the exporter.
struct Log {
  std::vector<std::vector<std::int64_t>> steps;  // of the rows, by call
  std::vector<bool> finished;
  int shutdowns = 0;
  milliseconds deadline{-1};
  const char* name = "scripted";
};

/// An exporter that answers as scripted.
class Scripted final : public takt::Exporter {
 public:
  using Answer = std::function<ExportResult(std::size_t call)>;
  explicit Scripted(Log& log, Answer answer = nullptr, std::function<bool()> shutdown = nullptr)
      : log_(log), answer_(std::move(answer)), shutdown_(std::move(shutdown)) {}
  const char* name() const noexcept override { return log_.name; }
  ExportResult export_snapshot(const Snapshot& snapshot) override {
    std::vector<std::int64_t> steps;
    for (const takt::Row& row : snapshot.rows) { steps.push_back(row.step); }
    log_.steps.push_back(steps);
    log_.finished.push_back(snapshot.finished);
    return answer_ ? answer_(log_.steps.size() - 1) : ExportResult::ok;
  }
  bool shutdown(milliseconds deadline) override {
    ++log_.shutdowns;
    log_.deadline = deadline;
    return shutdown_ ? shutdown_() : true;
  }

 private:
  Log& log_;
  Answer answer_;
  std::function<bool()> shutdown_;
};

std::shared_ptr<const Drained> drained_of(std::initializer_list<std::int64_t> steps) {
  auto drained = std::make_shared<Drained>();
  for (const std::int64_t step : steps) {
    takt::Row row;
    row.step = step;
    drained->rows.push_back(row);
  }
  return drained;
}

std::shared_ptr<const Snapshot> snapshot_of(bool finished = false) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->finished = finished;
  return snapshot;
}

using Steps = std::vector<std::vector<std::int64_t>>;
using takt_test::mentions;

/// Blocks callers until the test opens it.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    passed_ = true;
    changed_.notify_all();
  }
  bool wait_until_somebody_waits() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kLong, [this] { return waiting_; });
  }
  bool wait_until_somebody_passed() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kLong, [this] { return passed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool waiting_ = false;
  bool passed_ = false;
};

/// Waits at a gate in its first export.
class Blocked final : public takt::Exporter {
 public:
  explicit Blocked(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  const char* name() const noexcept override { return "blocked"; }
  ExportResult export_snapshot(const Snapshot&) override {
    gate_->pass();
    return ExportResult::ok;
  }

 private:
  std::shared_ptr<Gate> gate_;
};

/// Counts the rows that it received.
class Counting final : public takt::Exporter {
 public:
  struct Count {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t rows = 0;
    bool wait_for(std::size_t wanted) {
      std::unique_lock<std::mutex> lock(mutex);
      return changed.wait_for(lock, kLong, [this, wanted] { return rows >= wanted; });
    }
  };
  explicit Counting(std::shared_ptr<Count> count) : count_(std::move(count)) {}
  const char* name() const noexcept override { return "counting"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override {
    const std::lock_guard<std::mutex> lock(count_->mutex);
    count_->rows += snapshot.rows.size();
    count_->changed.notify_all();
    return ExportResult::ok;
  }

 private:
  std::shared_ptr<Count> count_;
};

takt::SessionOptions in_background() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  options.period = std::chrono::milliseconds(10);
  return options;
}

}  // namespace

TEST_CASE("ExportWorker: exports all offered data together, once") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(log));
  worker.run_once();
  REQUIRE(log.steps.empty());
  worker.offer(snapshot_of(), drained_of({1, 2}));
  worker.offer(snapshot_of(), drained_of({3}));
  worker.run_once();
  worker.run_once();
  REQUIRE(log.steps == Steps{{1, 2, 3}});
  worker.offer(snapshot_of(), drained_of({}));  // nothing new, but time has passed
  worker.run_once();
  REQUIRE(log.steps == Steps{{1, 2, 3}, {}});
  REQUIRE(worker.lost() == 0);
}

TEST_CASE("ExportWorker: retry repeats the same data, followed by newer data") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(
      log, [](std::size_t call) { return call < 2 ? ExportResult::retry : ExportResult::ok; }));
  worker.offer(snapshot_of(), drained_of({1}));
  worker.run_once();
  worker.offer(snapshot_of(), drained_of({2}));
  worker.run_once();
  worker.offer(snapshot_of(), drained_of({}));
  worker.run_once();
  worker.offer(snapshot_of(), drained_of({3}));
  worker.run_once();
  REQUIRE(log.steps == Steps{{1}, {1, 2}, {1, 2}, {3}});
  REQUIRE(worker.lost() == 0);
}

TEST_CASE("ExportWorker: drop counts the exported data and does not repeat it") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(
      log, [](std::size_t call) { return call == 0 ? ExportResult::drop : ExportResult::ok; }));
  auto drained = std::make_shared<Drained>(*drained_of({1, 2}));
  drained->metrics.resize(3);
  drained->spans.resize(4);
  worker.offer(snapshot_of(), drained);
  worker.run_once();
  REQUIRE(worker.lost() == 9);
  worker.offer(snapshot_of(), drained_of({3}));
  worker.run_once();
  REQUIRE(log.steps == Steps{{1, 2}, {3}});
  REQUIRE(worker.lost() == 9);
}

TEST_CASE("ExportWorker: an exception is contained, reported, and counts as drop") {
  const support::CaughtErrors errors;
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(log, [](std::size_t call) -> ExportResult {
    if (call == 0) { throw std::runtime_error("no such host"); }
    if (call == 1) { throw 42; }
    return ExportResult::ok;
  }));
  for (int step = 0; step < 3; ++step) {
    worker.offer(snapshot_of(), drained_of({step}));
    REQUIRE_NOTHROW(worker.run_once());
  }
  REQUIRE(worker.lost() == 2);
  REQUIRE(log.steps == Steps{{0}, {1}, {2}});
  REQUIRE(contains(errors.text(), "\"scripted\" failed: no such host"));
}

TEST_CASE("ExportWorker: the backlog is limited by dropping, counting and reporting the oldest data") {
  const support::CaughtErrors errors;
  const bool is_journal = GENERATE(false, true);
  Log log;
  if (is_journal) { log.name = "journal"; }
  ExportWorker worker(std::make_unique<Scripted>(log, [](std::size_t) { return ExportResult::retry; }));
  constexpr std::size_t kRows = 1000;
  std::size_t offered = 0;
  for (std::int64_t part = 0; part < 200; ++part) {
    auto drained = std::make_shared<Drained>();
    drained->rows.resize(kRows);
    for (takt::Row& row : drained->rows) { row.step = part; }
    worker.offer(snapshot_of(), drained);
    offered += kRows;
  }
  worker.run_once();
  const std::vector<std::int64_t>& shown = log.steps.at(0);
  REQUIRE(shown.size() * sizeof(takt::Row) <= ExportWorker::kMaxBacklog);
  REQUIRE(shown.size() * sizeof(takt::Row) >= ExportWorker::kMaxBacklog / 2);
  REQUIRE(shown.back() == 199);
  REQUIRE(worker.lost() == offered - shown.size());
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(mentions(errors.text(), {"\"" + std::string(log.name) + "\""}));
  // Data that the journal has not taken is not in the run directory.
  REQUIRE(contains(errors.text(), is_journal ? "lost" : "kept"));
}

TEST_CASE("ExportWorker: repeats the last snapshot until it is taken, then shuts the exporter down once") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(
      log, [](std::size_t call) { return call < 2 ? ExportResult::retry : ExportResult::ok; }));
  worker.offer(snapshot_of(true), drained_of({1}));
  worker.finish_by(after(kLong));
  for (int call = 0; call < 5; ++call) { worker.run_once(); }
  REQUIRE(log.steps == Steps{{1}, {1}, {1}});
  REQUIRE(log.finished == std::vector<bool>{true, true, true});
  REQUIRE(log.shutdowns == 1);
  REQUIRE(log.deadline > milliseconds(0));
  REQUIRE(log.deadline <= kLong);
  REQUIRE(worker.wait(Time()));
  REQUIRE(worker.delivered());
  REQUIRE(worker.lost() == 0);
}

TEST_CASE("ExportWorker: does not repeat a last snapshot that was taken before the end") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(log));
  worker.offer(snapshot_of(true), drained_of({1}));
  worker.run_once();
  worker.finish_by(after(kLong));
  worker.run_once();
  CHECK(log.steps == Steps{{1}});
  CHECK(log.shutdowns == 1);
  CHECK(worker.delivered());
}

TEST_CASE("ExportWorker: after the deadline it tries once more, shuts down, and counts the rest") {
  const support::CaughtErrors errors;
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(log, [](std::size_t) { return ExportResult::retry; }));
  worker.offer(snapshot_of(true), drained_of({1, 2}));
  worker.finish_by(after(milliseconds(0)));
  worker.run_once();
  REQUIRE(log.steps == Steps{{1, 2}});
  REQUIRE(log.shutdowns == 1);
  REQUIRE(log.deadline == milliseconds(0));
  REQUIRE(worker.wait(Time()));
  REQUIRE_FALSE(worker.delivered());
  REQUIRE(worker.lost() == 2);
  REQUIRE(errors.lines().size() == 1);
}

TEST_CASE("ExportWorker: a shutdown that fails or throws is reported and still ends it") {
  for (const bool throws : {false, true}) {
    const support::CaughtErrors errors;
    Log log;
    ExportWorker worker(std::make_unique<Scripted>(log, nullptr, [throws]() -> bool {
      if (throws) { throw std::runtime_error("gone"); }
      return false;
    }));
    worker.offer(snapshot_of(true), drained_of({}));
    worker.finish_by(after(kLong));
    worker.run_once();
    REQUIRE(worker.wait(Time()));
    REQUIRE_FALSE(worker.delivered());
    REQUIRE_FALSE(errors.lines().empty());
  }
}

TEST_CASE("ExportWorker: shuts down an exporter that was never offered data", "[timed]") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(log));
  worker.finish_by(after(kLong));
  std::thread runner([&worker] { worker.run(); });
  REQUIRE(worker.wait(after(kLong)));
  runner.join();
  REQUIRE(log.steps.empty());
  REQUIRE(log.shutdowns == 1);
}

TEST_CASE("ExportWorker: ignores data offered after the end") {
  Log log;
  ExportWorker worker(std::make_unique<Scripted>(log));
  worker.offer(snapshot_of(true), drained_of({1}));
  worker.finish_by(after(kLong));
  worker.run_once();
  worker.offer(snapshot_of(), drained_of({2}));
  worker.run_once();
  REQUIRE(log.steps == Steps{{1}});
  REQUIRE(log.shutdowns == 1);
}

TEST_CASE("ExportWorker: run() exports on its own thread until stopped", "[timed]") {
  auto gate = std::make_shared<Gate>();
  ExportWorker worker(std::make_unique<Blocked>(gate));
  std::thread runner([&worker] { worker.run(); });
  worker.offer(snapshot_of(), drained_of({1}));
  REQUIRE(gate->wait_until_somebody_waits());
  worker.offer(snapshot_of(), drained_of({2}));  // does not wait for the export in progress
  worker.finish_by(after(kLong));
  REQUIRE_FALSE(worker.wait(after(milliseconds(1))));
  gate->open();
  REQUIRE(worker.wait(after(kLong)));
  runner.join();
}

TEST_CASE("ExportWorker: a slow exporter delays neither the loop, nor other exporters, nor the end", "[timed]") {
  const support::CaughtErrors errors;
  auto gate = std::make_shared<Gate>();
  auto count = std::make_shared<Counting::Count>();
  takt::SessionOptions options = in_background();
  options.exit_timeout = std::chrono::milliseconds(3000);
  takt::Session session("slow", options);
  session.add(std::make_unique<Blocked>(gate));
  session.add(std::make_unique<Counting>(count));
  const auto steps = [](int n) {
    for (int step = 0; step < n; ++step) { const takt::Scope batch(takt::Batch); }
  };
  steps(1);
  REQUIRE(gate->wait_until_somebody_waits());
  steps(100);
  REQUIRE(count->wait_for(101));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE_FALSE(session.close());
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took < kLong);  // the machine may be busy
  REQUIRE(mentions(errors.text(), {"\"blocked\"", "TAKT_EXIT_MS=3000"}));
  REQUIRE_FALSE(contains(errors.text(), "end of the run"));
  gate->open();
  REQUIRE(gate->wait_until_somebody_passed());
}

TEST_CASE("ExportWorker: poll() makes the background write its files at once", "[timed]") {
  const takt_test::Scratch scratch;
  takt::SessionOptions options = in_background();
  options.period = std::chrono::milliseconds(3'600'000);
  options.files = true;
  options.directory = scratch.path("runs");
  takt::Session session("now", options);
  { const takt::Scope batch(takt::Batch); }
  session.poll();
  const std::string file = session.run().directory + "/steps.csv.part";
  const auto written = [&file] { return contains(takt_test::read_text(file), ",Batch,"); };
  const Time deadline = after(kLong);
  while (!written() && std::chrono::steady_clock::now() < deadline) { std::this_thread::yield(); }
  REQUIRE(written());
}
