// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/live_delivery.hpp"

#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/journal_helpers.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace takt_test;
using takt::Snapshot;
using takt::detail::JournalFeed;
using Numbers = std::vector<std::uint64_t>;

namespace {

constexpr takt::detail::Tracker kTracker{"abacus", "Abacus", "takt sync --to abacus", "abacus.json", "abacus.lease"};

/// Takes new data.
struct Consumer : takt::detail::RunConsumer {
  bool take(const Snapshot& snapshot) override {
    ++asked;
    if (rows.size() >= max) { return false; }
    for (const takt::Row& row : snapshot.rows) {
      if (row.sequence >= next_row()) { rows.push_back(row.sequence); }
    }
    for (const takt::Metric& metric : snapshot.metrics) {
      if (metric.sequence >= next_metric()) { metrics.push_back(metric.sequence); }
    }
    for (const takt::Sample& sample : snapshot.samples) {
      if (sample.sequence >= next_sample()) { samples.push_back(sample.sequence); }
    }
    finished = finished || snapshot.finished;
    return true;
  }
  std::uint64_t next_row() const noexcept override { return rows.empty() ? 0 : rows.back() + 1; }
  std::uint64_t next_metric() const noexcept override { return metrics.empty() ? 0 : metrics.back() + 1; }
  std::uint64_t next_sample() const noexcept override { return samples.empty() ? 0 : samples.back() + 1; }
  bool has_space() const noexcept override { return space; }

  Numbers rows;
  Numbers metrics;
  Numbers samples;
  bool finished = false;
  bool space = true;
  std::size_t max = 1'000'000;
  int asked = 0;
};

/// A run, its journal, and the feed of its exporter.
struct JournalFeedRig {
  JournalFeedRig() {
    REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
    add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  }
  /// Returns a snapshot with the next rows and metrics.
  Snapshot next(int rows, int metrics, bool finished = false) {
    snapshot.rows.clear();
    snapshot.metrics.clear();
    for (; rows > 0; --rows) { add_row(snapshot, 0, next_row++); }
    for (; metrics > 0; --metrics) { snapshot.metrics.push_back({next_metric++, "loss", 0.5, 0, 0}); }
    snapshot.wall_ns += 1'000'000'000;
    snapshot.finished = finished;
    return snapshot;
  }
  void write(const Snapshot& each) { REQUIRE(journal.export_snapshot(each) == takt::ExportResult::ok); }

  const support::CaughtErrors errors;
  const Scratch scratch;
  const std::string directory = scratch.path("rank-0-0-1");
  takt::detail::JournalExporter journal{directory, plain_journal(20'000)};
  Snapshot snapshot;
  std::uint64_t next_row = 0;
  std::uint64_t next_metric = 0;
  Consumer consumer;
  JournalFeed feed{consumer, kTracker, directory};
};

Numbers up_to(std::uint64_t end) {
  Numbers all;
  for (std::uint64_t each = 0; each < end; ++each) { all.push_back(each); }
  return all;
}

std::chrono::steady_clock::time_point soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

}  // namespace

TEST_CASE("journal feed: data that an exporter could not take is read from the journal, once and in order") {
  JournalFeedRig rig;
  for (int period = 0; period < 20; ++period) {
    const bool last = period == 19;
    const Snapshot now = rig.next(5, 1, last);
    rig.write(now);
    if (period < 5 || period >= 12) { CHECK(rig.feed.take(now)); }
  }
  CHECK(rig.feed.deliver(soon()));
  CHECK(rig.consumer.rows == up_to(100));
  CHECK(rig.consumer.metrics == up_to(20));
  CHECK(rig.consumer.finished);
  CHECK(rig.errors.lines().size() == 1);
  CHECK(contains(rig.errors.text(), "Abacus"));
}

TEST_CASE(
    "journal feed: samples that an exporter could not take are read from the journal, even if nothing else is "
    "missing") {
  JournalFeedRig rig;
  for (int second = 0; second < 20; ++second) {
    Snapshot now = rig.next(0, 0, second == 19);
    sample_second(now, second);
    rig.write(now);
    if (second < 5 || second >= 12) { CHECK(rig.feed.take(now)); }
  }
  CHECK(rig.feed.deliver(soon()));
  CHECK(rig.consumer.samples == up_to(80));
  CHECK(rig.consumer.finished);
}

TEST_CASE("journal feed: if the consumer is full, data waits in the journal instead of in memory") {
  JournalFeedRig rig;
  const Snapshot first = rig.next(5, 0);
  rig.write(first);
  rig.feed.take(first);
  rig.consumer.space = false;
  for (int period = 0; period < 10; ++period) {
    const Snapshot now = rig.next(5, 0, period == 9);
    rig.write(now);
    rig.feed.take(now);
    CHECK(rig.feed.is_behind());
  }
  CHECK(rig.consumer.rows == up_to(5));
  CHECK(contains(rig.errors.text(), "takt sync --to abacus " + rig.directory));
  rig.consumer.space = true;
  CHECK(rig.feed.deliver(soon()));
  CHECK_FALSE(rig.feed.is_behind());
  CHECK(rig.consumer.rows == up_to(55));
  CHECK(rig.consumer.finished);
}

TEST_CASE("journal feed: does not skip a metric first shown while rows came from the journal") {
  JournalFeedRig rig;
  const Snapshot first = rig.next(5, 0);
  rig.write(first);
  rig.feed.take(first);
  const Snapshot missed = rig.next(5, 0);
  const Snapshot shown = rig.next(1, 1);
  rig.feed.take(shown);
  CHECK(rig.feed.is_behind());
  rig.write(missed);
  Snapshot row_alone = shown;  // its metric is in the journal later
  row_alone.metrics.clear();
  rig.write(row_alone);
  const Snapshot later = rig.next(0, 1);
  rig.feed.take(later);
  CHECK(rig.feed.is_behind());
  Snapshot metrics = later;
  metrics.metrics.insert(metrics.metrics.begin(), shown.metrics.begin(), shown.metrics.end());
  rig.write(metrics);
  const Snapshot end = rig.next(1, 0, true);
  rig.write(end);
  rig.feed.take(end);
  CHECK(rig.feed.deliver(soon()));
  CHECK(rig.consumer.rows == up_to(12));
  CHECK(rig.consumer.metrics == up_to(2));
}

TEST_CASE("journal feed: an exporter that was added at the start can be delayed before its first row, too") {
  JournalFeedRig rig;
  const int steps_before = GENERATE(0, 5);
  rig.snapshot.series[0].steps = static_cast<std::uint64_t>(steps_before);
  rig.feed.begin(rig.snapshot);
  rig.write(rig.next(10, 2));
  const Snapshot first_shown = rig.next(5, 1);
  rig.write(first_shown);
  rig.feed.take(first_shown);
  CHECK(rig.feed.deliver(soon()));
  CHECK(rig.consumer.rows == up_to(15));
  CHECK(rig.consumer.metrics == up_to(3));
}

TEST_CASE("journal feed: a late exporter misses nothing, and without a journal nothing waits") {
  JournalFeedRig rig;
  rig.write(rig.next(5, 1));
  rig.snapshot.series[0].steps = 5;
  rig.feed.begin(rig.snapshot);
  const Snapshot first_shown = rig.next(5, 1);
  rig.feed.take(first_shown);
  CHECK_FALSE(rig.feed.is_behind());
  CHECK(rig.consumer.rows == Numbers{5, 6, 7, 8, 9});

  Consumer alone;
  JournalFeed memory(alone, kTracker, "");
  memory.take(first_shown);
  rig.next(5, 1);
  CHECK(memory.take(rig.next(5, 1, true)));
  CHECK_FALSE(memory.is_behind());
  CHECK(memory.deliver(soon()));
  CHECK(alone.rows == Numbers{5, 6, 7, 8, 9, 15, 16, 17, 18, 19});
  CHECK(alone.finished);
  CHECK(rig.errors.text().empty());
}

TEST_CASE("journal feed: a consumer that stopped while reading the journal is not called or awaited again") {
  JournalFeedRig rig;
  const Snapshot first = rig.next(5, 0);
  rig.write(first);
  CHECK(rig.feed.take(first));
  for (int period = 0; period < 8; ++period) { rig.write(rig.next(5, 0)); }
  rig.consumer.max = 5;
  CHECK_FALSE(rig.feed.take(rig.next(5, 0)));
  CHECK(rig.feed.is_behind());
  const int asked = rig.consumer.asked;
  CHECK_FALSE(rig.feed.take(rig.next(5, 0, true)));
  CHECK_FALSE(rig.feed.deliver(std::chrono::steady_clock::time_point::max()));
  CHECK(rig.consumer.asked == asked);
}
