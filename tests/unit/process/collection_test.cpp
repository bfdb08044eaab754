// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Data recorded between two collections, and the handling of excess data.
#include <takt/session.hpp>

#include "base/report_error.hpp"
#include "process/process.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/patience.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include <takt/exporter.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using takt::Scope;
using takt::Session;
using takt_test::by_hand;
using takt_test::contains;
using takt_test::losses_of;

constexpr int kColumns = 8;

void step_of_eight_columns() {
  static const std::vector<const takt::Key*> keys = [] {
    std::vector<const takt::Key*> made;
    for (int column = 0; column < kColumns; ++column) {
      made.push_back(&takt::key(("column " + std::to_string(column)).c_str()));
    }
    return made;
  }();
  const Scope batch(takt::Batch);
  for (const takt::Key* key : keys) { const Scope s(*key); }
}

/// Runs `work` on `count` threads concurrently.
template <class Work>
void on_threads(int count, Work work) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int thread = 0; thread < count; ++thread) { threads.emplace_back(work); }
  for (std::thread& thread : threads) { thread.join(); }
}

/// The data an exporter received.
struct Shown {
  std::atomic<std::uint64_t> rows{0};
  std::uint64_t metrics = 0;
  std::size_t cells = 0;  // of the last row
  takt::Snapshot last;
};
class Counter final : public takt::Exporter {
 public:
  explicit Counter(Shown& shown) : shown_(shown) {}
  const char* name() const noexcept override { return "counter"; }
  takt::ExportResult export_snapshot(const takt::Snapshot& snapshot) override {
    shown_.rows += snapshot.rows.size();
    shown_.metrics += snapshot.metrics.size();
    if (!snapshot.rows.empty()) { shown_.cells = snapshot.rows.back().cells.size(); }
    shown_.last = snapshot;
    return takt::ExportResult::ok;
  }

 private:
  Shown& shown_;
};

void expect_no_loss(const takt::Snapshot& snapshot) {
  REQUIRE_FALSE(takt::detail::lost_records(snapshot.losses).any());
}

}  // namespace

TEST_CASE("Collection: buffers hold bursts of 20 000 metrics on each of eight threads") {
  Shown shown;
  Session session("bursts", by_hand());
  session.add(Counter(shown));
  on_threads(8, [&session] {
    for (int value = 0; value < 20'000; ++value) { session.metric(value % 2 == 0 ? "loss" : "accuracy", value); }
  });
  session.poll();
  REQUIRE(shown.metrics == 160'000);
  REQUIRE(session.close());
  expect_no_loss(shown.last);
}

TEST_CASE("Collection: buffers hold a quarter of a second of 100 000 steps per second") {
  Shown shown;
  Session session("steps", by_hand());
  session.add(Counter(shown));
  for (int step = 0; step < 25'000; ++step) { step_of_eight_columns(); }
  session.poll();
  REQUIRE(shown.rows == 25'000);
  REQUIRE(shown.cells == kColumns);
  REQUIRE(session.close());
  expect_no_loss(shown.last);
}

TEST_CASE("Collection: the background collects before its period ends if memory fills up", "[timed]") {
  takt::SessionOptions options = by_hand();
  options.background = true;
  options.period = std::chrono::milliseconds(3'600'000);
  options.exit_timeout = std::chrono::milliseconds(60'000);
  Shown shown;
  Session session("early", options);
  session.add(Counter(shown));
  constexpr int kSteps = 100'000;  // three times the capacity
  constexpr int kBehind = 12'000;  // half the capacity of an exporter's backlog
  const takt::detail::OutboxPool& pool = takt::detail::registry().shared().outbox_pool;
  for (int step = 0; step < kSteps; ++step) {
    step_of_eight_columns();
    if (step % 1000 == 0) {
      // The collector and exporter threads may be slow under load.
      const auto has_space = [&] {
        return pool.used() < pool.limit() / 2 && step - static_cast<int>(shown.rows) <= kBehind;
      };
      REQUIRE(takt_test::until(has_space, [] { std::this_thread::yield(); }));
    }
  }
  REQUIRE(session.close());
  REQUIRE(shown.rows == kSteps);
  expect_no_loss(shown.last);
}

TEST_CASE("Collection: data beyond the limit is counted, reported once, and makes close() return false") {
  const support::CaughtErrors errors;
  Shown shown;
  Session session("beyond", by_hand());
  session.add(Counter(shown));
  constexpr std::uint64_t kMetrics = 300'000;
  for (std::uint64_t value = 0; value < kMetrics; ++value) { session.metric("loss", static_cast<double>(value)); }
  session.poll();
  for (int step = 0; step < 40'000; ++step) { step_of_eight_columns(); }
  session.poll();
  const takt::detail::LostRecords lost = takt::detail::lost_records(shown.last.losses);
  REQUIRE(lost.metrics > 0);
  REQUIRE(lost.rows > 0);
  REQUIRE(shown.metrics + lost.metrics == kMetrics);
  REQUIRE(shown.rows + lost.rows == 40'000);
  REQUIRE(losses_of(shown.last, "metrics_dropped") == lost.metrics);
  REQUIRE(losses_of(shown.last, "rows_dropped") == lost.rows);
  REQUIRE_FALSE(session.close());
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(contains(errors.text(), "dropped"));
  REQUIRE(contains(errors.text(), "TAKT_MEMORY_MB"));
  // Data dropped in an earlier run does not count for a later one.
  Session again("again", by_hand());
  expect_no_loss(again.snapshot());
  REQUIRE(again.close());
}

TEST_CASE("Collection: more memory holds more data") {
  takt::SessionOptions options = by_hand();
  options.memory_bytes = 128U << 20U;
  Shown shown;
  Session session("more", options);
  session.add(Counter(shown));
  for (int value = 0; value < 600'000; ++value) { session.metric("loss", value); }
  session.poll();
  REQUIRE(shown.metrics == 600'000);
  REQUIRE(session.close());
}

TEST_CASE("Collection: steps beyond the journal's limit make close() return false, those beyond steps.csv do not") {
  const takt_test::Scratch scratch;
  const support::CaughtErrors errors;
  const auto run = [&](const char* name, std::size_t journal_bytes, std::size_t csv_bytes, bool journal) {
    takt::SessionOptions options = by_hand();
    options.directory = scratch.path("");
    options.files = true;
    options.journal = journal;
    options.journal_bytes = journal_bytes;
    options.csv_bytes = csv_bytes;
    Session session(name, options);
    step_of_eight_columns();
    session.poll();
    step_of_eight_columns();
    return session.close();
  };
  REQUIRE(run("room", 1U << 20U, 1U << 20U, true));
  REQUIRE(errors.lines().empty());
  REQUIRE_FALSE(run("no room in the journal", 0, 1U << 20U, true));
  REQUIRE(errors.lines().size() == 2);  // one of them, logged once, says that this is a later Session
  REQUIRE(contains(errors.text(), "TAKT_JOURNAL_MB"));
  REQUIRE(run("no room in steps.csv", 1U << 20U, 0, true));
  REQUIRE(errors.lines().size() == 3);
  REQUIRE(contains(errors.text(), "TAKT_CSV_MB"));
  REQUIRE_FALSE(run("no room at all", 1U << 20U, 0, false));
}
