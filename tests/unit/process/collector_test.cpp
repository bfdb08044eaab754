// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/collector.hpp"

#include "support/catch.hpp"
#include "support/recorder_fixture.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace takt::detail;
using takt_test::RecorderFixture;

namespace {

constexpr std::size_t kLimit = 1U << 20U;

/// Enables tracing during one test.
struct Tracing {
  Tracing() { tracing = true; }
  ~Tracing() { tracing = false; }
};

struct CollectorTest : RecorderFixture {
  OutboxPool pool{1U << 20U};

  std::vector<takt::Span> spans() {
    recorder->fold();
    if (Outbox* outbox = recorder->outbox()) { collector->drain(*outbox, outbox->end(), recorder, 7, {}); }
    return collector->drained(false).spans;
  }
  /// Writes a row of `cells` cells as a series does.
  void put_row(Outbox& outbox, std::uint64_t number, std::uint32_t cells, std::uint32_t pending,
               std::uint32_t series = 0) {
    RowRecord row;
    row.series = series;
    row.type = Record::Type::row;
    row.flags = RowRecord::kHasDevice;
    row.row = number;
    row.step = static_cast<std::int64_t>(number);
    const RowDevice device{pending, 0, pending};
    std::vector<std::uint64_t> words(cells * PackedCell::kMaxWords);
    std::uint64_t* to = words.data();
    for (std::uint32_t cell = 0; cell < cells; ++cell) { to = PackedCell::put(to, {cell, 1, 2, -1}); }
    const std::size_t cell_bytes = static_cast<std::size_t>(to - words.data()) * sizeof(std::uint64_t);
    row.bytes = static_cast<std::uint16_t>(sizeof(row) + sizeof(device) + cell_bytes);
    auto* place = static_cast<unsigned char*>(outbox.reserve(row.bytes, row.type));
    REQUIRE(place != nullptr);
    std::memcpy(place, &row, sizeof(row));
    std::memcpy(place + sizeof(row), &device, sizeof(device));
    std::memcpy(place + sizeof(row) + sizeof(device), words.data(), cell_bytes);
    outbox.push(row.bytes);
  }
  void amend(Outbox& outbox, std::uint64_t row, std::uint32_t node, std::int64_t ns) {
    AmendmentRecord amendment;
    amendment.row = row;
    amendment.node = node;
    amendment.device_ns = ns;
    outbox.put(amendment, Record::Type::amendment);
  }
  Drained drain_all(Outbox& outbox, bool all = false) {
    collector->drain(outbox, outbox.end(), recorder, 0, {0, 1, 2, 3, 4, 5, 6, 7});
    return collector->drained(all);
  }
};

}  // namespace

TEST_CASE_METHOD(CollectorTest, "Collector: with tracing on, every region is a span") {
  const Tracing on;
  const std::uint64_t start = time.now_ns();
  const Region outer = begin(kA);
  pass(10);
  region(kB, 5);
  recorder->amount(outer, Amount::items, 3);
  recorder->skip(kC);
  pass(1);
  end(outer);
  const std::vector<takt::Span> all = spans();
  REQUIRE(all.size() == 2);
  REQUIRE(std::string(all[0].name) == "Backward");
  REQUIRE(all[0].begin_ns == static_cast<std::int64_t>(start) + 10);
  REQUIRE(all[0].duration_ns == 5);
  REQUIRE(all[1].duration_ns == 16);
  REQUIRE(all[1].thread == 7);
  REQUIRE(all[1].sequence == 1);
  REQUIRE(collector->lost_spans() == 0);
}

TEST_CASE_METHOD(CollectorTest, "Collector: finds spans across many blocks, including long ones") {
  const Tracing on;
  const Region outer = begin(kA);
  std::size_t found = 0;
  for (int round = 0; round < 300; ++round) {
    for (int count = 0; count < 40; ++count) { region(kB, 5); }
    found += spans().size();
  }
  end(outer);
  found += spans().size();
  REQUIRE(found == 300 * 40 + 1);
  REQUIRE(collector->lost_spans() == 0);
}

TEST_CASE_METHOD(CollectorTest, "Collector: counts spans without a recorded start") {
  const Region outer = begin(kA);
  recorder->fold();
  const Tracing on;
  end(outer);
  region(kB, 1);
  REQUIRE(spans().size() == 1);
  REQUIRE(collector->lost_spans() == 1);
}

TEST_CASE_METHOD(CollectorTest, "Collector: an end of an ended region is neither a span nor a lost one") {
  const Tracing on;
  Region ended = begin(kA);
  pass(10);
  SECTION("here") {
    end(ended);
    pass(1000);
    end(ended);
    REQUIRE(spans().size() == 1);
  }
  SECTION("on another thread") {
    recorder->leave_notice(region_id(ended), time.now_ns());
    pass(1000);
    end(ended);  // before the notice was taken
    pass(1000);
    REQUIRE(spans().empty());
    end(ended);
    REQUIRE(spans().empty());  // the other thread has passed on its span
  }
  region(kB, 5);
  const std::vector<takt::Span> others = spans();
  REQUIRE(others.size() == 1);
  REQUIRE(others[0].duration_ns == 5);
  REQUIRE(collector->lost_spans() == 0);
}

TEST_CASE_METHOD(CollectorTest, "Collector: a region that ended on another thread keeps the start of a later one") {
  const Tracing on;
  Outbox late(pool);  // of the other thread, read after that of this one
  const Region first = begin(kA);
  const std::uint64_t started = time.now_ns();
  pass(10);
  REQUIRE(spans().empty());
  SpanRecord span;
  span.opener = recorder;
  span.region = region_id(first);
  span.key = kA;
  span.begin_ns = started;
  span.end_ns = time.now_ns();
  late.put(span, Record::Type::span);
  recorder->leave_notice(region_id(first), time.now_ns());
  Region again = 0;
  while (again != first) {
    if (again != 0) { end(again); }
    again = begin(kB);
    pass(1);
    if (again != first) { recorder->skip(kC); }  // shifts by one event, so that every place is a start at some time
  }
  while (!spans().empty()) {}  // up to here, including the start of the region in the same place
  collector->drain(late, late.end(), nullptr, 8, {});
  REQUIRE(collector->drained(false).spans.size() == 1);
  pass(7);
  end(again);
  const std::vector<takt::Span> others = spans();
  REQUIRE(others.size() == 1);
  REQUIRE(others[0].duration_ns == 8);
  REQUIRE(collector->lost_spans() == 0);
}

TEST_CASE_METHOD(CollectorTest, "Collector: rows wait for missing device values") {
  Outbox outbox(pool);
  put_row(outbox, 0, 3, 2);
  put_row(outbox, 1, 3, 0);
  REQUIRE(drain_all(outbox).rows.size() == 1);
  amend(outbox, 0, 1, 50);
  REQUIRE(drain_all(outbox).rows.empty());
  amend(outbox, 0, 1, 60);
  amend(outbox, 1, 1, 60);  // of an exported row
  const Drained drained = drain_all(outbox);
  REQUIRE(drained.rows.size() == 1);
  REQUIRE(drained.rows[0].step == 0);
  REQUIRE(drained.rows[0].sequence == 1);
  REQUIRE(drained.rows[0].complete);
  REQUIRE(drained.rows[0].cells[1].device_ns == 110);
  REQUIRE(drained.rows[0].cells[0].device_ns == takt::Cell::kAbsent);
}

TEST_CASE_METHOD(CollectorTest, "Collector: exports waiting rows early, and again after a change") {
  Outbox outbox(pool);
  put_row(outbox, 0, 3, 2);
  put_row(outbox, 1, 3, 0);
  Drained drained = drain_all(outbox);
  REQUIRE(drained.rows.size() == 1);
  REQUIRE(drained.rows[0].early == 0);  // it was final at once
  REQUIRE(drained.early.size() == 1);
  REQUIRE(drained.early[0].early == 1);
  REQUIRE_FALSE(drained.early[0].complete);
  REQUIRE(drained.early[0].step == 0);
  REQUIRE(drain_all(outbox).early.empty());
  amend(outbox, 0, 1, 50);
  drained = drain_all(outbox);
  REQUIRE(drained.rows.empty());
  REQUIRE(drained.early.size() == 1);
  REQUIRE(drained.early[0].cells[1].device_ns == 50);
  amend(outbox, 0, 2, 60);
  drained = drain_all(outbox);
  REQUIRE(drained.early.empty());
  REQUIRE(drained.rows.size() == 1);
  REQUIRE(drained.rows[0].early == 1);
  REQUIRE(drained.rows[0].complete);
}

TEST_CASE_METHOD(CollectorTest, "Collector: exports waiting rows unchanged at the end") {
  Outbox outbox(pool);
  put_row(outbox, 0, 1, 1);
  put_row(outbox, 1, 1, 1);
  amend(outbox, 1, 0, -1);
  Drained drained = drain_all(outbox);
  REQUIRE(drained.rows.size() == 1);
  REQUIRE(!drained.rows[0].complete);
  drained = drain_all(outbox, true);
  REQUIRE(drained.rows.size() == 1);
  REQUIRE(!drained.rows[0].complete);
  REQUIRE(collector->incomplete_rows() == 2);
  REQUIRE(drain_all(outbox, true).rows.empty());
}

TEST_CASE_METHOD(CollectorTest, "Collector: limits unread data by dropping and counting the oldest") {
  collector->set_limit(kLimit);
  Outbox outbox(pool);
  const auto row_bytes = sizeof(takt::Row) + 8 * sizeof(takt::Cell);
  const std::uint64_t count = 3 * kLimit / row_bytes;
  for (std::uint64_t row = 0; row < count; ++row) {
    put_row(outbox, row, 8, 0);
    collector->drain(outbox, outbox.end(), recorder, 0, {});
  }
  const Drained drained = drain_all(outbox);
  REQUIRE(drained.rows.size() * row_bytes <= kLimit);
  REQUIRE(drained.rows.size() * row_bytes > kLimit / 2);
  REQUIRE(collector->dropped().rows == count - drained.rows.size());
  REQUIRE(drained.rows.back().step == static_cast<std::int64_t>(count) - 1);
}

TEST_CASE_METHOD(CollectorTest, "Collector: a consumer that reads in parts loses nothing") {
  collector->set_limit(kLimit);
  Outbox outbox(pool);
  MetricRecord metric;
  metric.name = metric_names().number("loss");
  std::uint64_t put = 0;
  for (; outbox.put_metric(metric); ++put) { metric.ns += 100; }
  REQUIRE(put * sizeof(takt::Metric) > 2 * kLimit);
  std::uint64_t taken = 0;
  int parts = 0;
  for (bool all = false; !all; ++parts) {
    all = collector->drain(outbox, outbox.end(), recorder, 0, {}, Collector::Much::some);
    const std::vector<takt::Metric> metrics = collector->drained(false).metrics;
    REQUIRE(metrics.size() * sizeof(takt::Metric) <= kLimit);
    for (const takt::Metric& each : metrics) { REQUIRE(each.sequence == taken++); }
  }
  REQUIRE(taken == put);
  REQUIRE(parts > 2);
  REQUIRE(collector->dropped().metrics == 0);
}

TEST_CASE_METHOD(CollectorTest, "Collector: waiting rows count towards the limit") {
  collector->set_limit(kLimit);
  Outbox outbox(pool);
  const auto row_bytes = sizeof(takt::Row) + 60 * sizeof(takt::Cell);
  const std::uint64_t count = 3 * kLimit / row_bytes;
  REQUIRE(count / 16 < Collector::kMaxLag);
  for (std::uint64_t row = 0; row < count; ++row) {
    // None is 1,024 rows older than the newest of its series.
    put_row(outbox, row / 16, 60, 1, static_cast<std::uint32_t>(row % 16));
    collector->drain(outbox, outbox.end(), recorder, 0, {});
  }
  const Drained drained = drain_all(outbox, true);
  REQUIRE((drained.rows.size()) * row_bytes <= kLimit + row_bytes);
  REQUIRE(collector->dropped().rows + drained.rows.size() == count);
}

TEST_CASE("MetricNames: each name has one number and invalid names are repaired") {
  MetricNames& names = metric_names();
  const std::uint64_t loss = names.number("loss");
  REQUIRE(loss != 0);
  REQUIRE(names.number("loss") == loss);
  REQUIRE(names.number("accuracy") != loss);
  REQUIRE(names.name(loss) == "loss");
  REQUIRE(names.name(names.number("lo\nss")) == "lo?ss");
}

TEST_CASE_METHOD(CollectorTest, "Collector: a region that ended on another thread is one span of its starting thread") {
  const Tracing on;
  const Region region = begin(kA);
  REQUIRE(spans().empty());
  Outbox outbox(pool);  // of the other thread
  SpanRecord record;
  record.opener = recorder;
  record.region = region_id(region);
  record.thread = 7;
  record.key = kA;
  record.begin_ns = time.now_ns();
  record.end_ns = record.begin_ns + 5;
  outbox.put(record, Record::Type::span);
  collector->drain(outbox, outbox.end(), nullptr, 8, {});
  const std::vector<takt::Span> all = collector->drained(false).spans;
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].thread == 7);
  REQUIRE(all[0].duration_ns == 5);
  end(region);  // a surplus end: its start is already used
  REQUIRE(spans().empty());
  REQUIRE(collector->lost_spans() == 1);
}

TEST_CASE_METHOD(CollectorTest, "Collector: counts spans across a clock change without moving later ones") {
  Outbox outbox(pool);
  const auto put_events = [&](ClockSource source, std::uint64_t last_ticks, std::uint32_t place,
                              const std::vector<Event>& events) {
    EventsRecord record;
    record.bytes = static_cast<std::uint16_t>(sizeof(record) + events.size() * sizeof(Event));
    record.type = Record::Type::events;
    record.last_ticks = last_ticks;
    record.source = static_cast<std::uint32_t>(source);
    record.place = place;
    auto* to = static_cast<unsigned char*>(outbox.reserve(record.bytes, record.type));
    REQUIRE(to != nullptr);
    std::memcpy(to, &record, sizeof(record));
    std::memcpy(to + sizeof(record), events.data(), events.size() * sizeof(Event));
    outbox.push(record.bytes);
  };
  const auto end_of = [](std::uint64_t place, std::uint64_t ticks) { return (ticks << kCodeBits) + place; };
  const std::uint64_t counter = time.fake.ticks();
  const std::uint64_t monotonic = 5'000'000'000;
  put_events(ClockSource::counter, counter, 2, {begin_event(kA, counter + 10)});
  // The region ends with a reading of the old clock, as taken on the hot path.
  put_events(ClockSource::monotonic, monotonic, 3,
             {end_of(2, counter + 500), begin_event(kB, monotonic + 100), end_of(4, monotonic + 107)});
  collector->drain(outbox, outbox.end(), recorder, 0, {});
  const std::vector<takt::Span> all = collector->drained(false).spans;
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].duration_ns == 7);
  REQUIRE(collector->lost_spans() == 1);
}
