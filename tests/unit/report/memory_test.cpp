// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/memory.hpp>

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <thread>

using takt::ExportResult;
using takt::MemoryExporter;
using takt::Snapshot;
using namespace takt_test;

namespace {

/// Returns a row, a metric and a span with the same sequence number.
Snapshot with_one_of_each(std::uint64_t sequence) {
  Snapshot snapshot;
  snapshot.wall_ns = static_cast<std::int64_t>(sequence);
  add_row(snapshot, 0, sequence);
  takt::Metric metric;
  metric.sequence = sequence;
  snapshot.metrics.push_back(metric);
  takt::Span span;
  span.sequence = sequence;
  snapshot.spans.push_back(span);
  return snapshot;
}

}  // namespace

TEST_CASE("MemoryExporter: keeps exported data in order, and the last snapshot without it") {
  MemoryExporter exporter;
  CHECK(exporter.export_snapshot(with_one_of_each(0)) == ExportResult::ok);
  CHECK(exporter.export_snapshot(with_one_of_each(1)) == ExportResult::ok);
  REQUIRE(exporter.rows().size() == 2);
  CHECK(exporter.rows()[0].sequence == 0);
  CHECK(exporter.rows()[1].sequence == 1);
  CHECK(exporter.metrics()[1].sequence == 1);
  CHECK(exporter.spans()[1].sequence == 1);
  CHECK(exporter.last().wall_ns == 1);
  CHECK(exporter.last().rows.empty());
  CHECK(exporter.last().metrics.empty());
  CHECK(exporter.last().spans.empty());
  CHECK(exporter.snapshots() == 2);
}

TEST_CASE("MemoryExporter: copies share one store") {
  const MemoryExporter kept(10);
  MemoryExporter given = kept;
  given.export_snapshot(with_one_of_each(5));
  CHECK(kept.rows().size() == 1);
  CHECK(kept.snapshots() == 1);
}

TEST_CASE("MemoryExporter: keeps nothing of a snapshot that is not answered ok, but counts it") {
  MemoryExporter exporter;
  const ExportResult answer = GENERATE(ExportResult::retry, ExportResult::drop);
  exporter.export_snapshot(with_one_of_each(0));
  exporter.answer(answer);
  CHECK(exporter.export_snapshot(with_one_of_each(1)) == answer);
  CHECK(exporter.rows().size() == 1);
  CHECK(exporter.last().wall_ns == 0);
  CHECK(exporter.snapshots() == 2);
  exporter.answer(ExportResult::ok);
  CHECK(exporter.export_snapshot(with_one_of_each(1)) == ExportResult::ok);
  CHECK(exporter.rows().size() == 2);
}

TEST_CASE("MemoryExporter: drops the oldest data beyond the limit") {
  MemoryExporter exporter(3);
  for (std::uint64_t sequence = 0; sequence < 5; ++sequence) { exporter.export_snapshot(with_one_of_each(sequence)); }
  REQUIRE(exporter.rows().size() == 3);
  CHECK(exporter.rows()[0].sequence == 2);
  CHECK(exporter.metrics()[0].sequence == 2);
  CHECK(exporter.spans()[2].sequence == 4);
}

TEST_CASE("MemoryExporter: can be read while it is written") {
  MemoryExporter exporter(50);
  MemoryExporter given = exporter;
  std::thread writer([&] {
    for (std::uint64_t sequence = 0; sequence < 200; ++sequence) { given.export_snapshot(with_one_of_each(sequence)); }
  });
  std::size_t seen = 0;
  while (seen < 200) {
    CHECK(exporter.rows().size() <= 50);
    seen = exporter.snapshots();
  }
  writer.join();
  CHECK(exporter.last().wall_ns == 199);
}
