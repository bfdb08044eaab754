// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <memory>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Keeps exported data in memory, for tests. Copies share one store: keep one and add the other to the Session.
/// Bounded: beyond `max_rows` the oldest rows, metrics, spans and samples are dropped. Any thread.
class TAKT_EXPORT MemoryExporter final : public Exporter {
 public:
  explicit MemoryExporter(std::size_t max_rows = 100'000);
  ~MemoryExporter() override;
  MemoryExporter(const MemoryExporter&);
  MemoryExporter& operator=(const MemoryExporter&);

  const char* name() const noexcept override { return "memory"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

  /// Sets the result of the next exports, to test retry and drop. A snapshot with a result other than `ok` is not kept.
  void answer(ExportResult result);

  Snapshot last() const;          ///< the newest snapshot, without its rows, metrics, spans and samples
  std::vector<Row> rows() const;  ///< all rows so far
  std::vector<Metric> metrics() const;
  std::vector<Span> spans() const;
  std::vector<Sample> samples() const;
  std::size_t snapshots() const;  ///< number of export_snapshot() calls

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
