// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <memory>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Keeps what it is shown, for tests. Copies share one store, so keep one and add the other to the Session. Bounded:
/// beyond `max_rows` the oldest rows, metrics, spans and samples are forgotten. Any thread.
class TAKT_EXPORT MemoryExporter final : public Exporter {
 public:
  explicit MemoryExporter(std::size_t max_rows = 100'000);
  ~MemoryExporter() override;
  MemoryExporter(const MemoryExporter&);
  MemoryExporter& operator=(const MemoryExporter&);

  const char* name() const noexcept override { return "memory"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

  /// What the next exports answer, for tests of retry and drop. Nothing is kept of a snapshot that is not answered
  /// `ok`.
  void answer(ExportResult result);

  Snapshot last() const;          ///< the newest snapshot, without its rows, metrics, spans and samples
  std::vector<Row> rows() const;  ///< all rows so far
  std::vector<Metric> metrics() const;
  std::vector<Span> spans() const;
  std::vector<Sample> samples() const;
  std::size_t snapshots() const;  ///< how often export_snapshot was called

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
