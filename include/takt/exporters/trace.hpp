// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Writes spans as Chrome trace-event JSON for Perfetto and chrome://tracing: one named track per thread, and samples
/// as counter curves. Spans need SessionOptions::trace. Streams to "<path>.part", renamed at the end of the run.
class TAKT_EXPORT TraceExporter final : public Exporter {
 public:
  /// \param path file to write.
  /// \param max_events maximum number of spans, and of curve points; further ones are dropped and counted in the file.
  explicit TraceExporter(std::string path, std::uint64_t max_events = 1'000'000);
  ~TraceExporter() override;
  TraceExporter(TraceExporter&&) noexcept;
  TraceExporter& operator=(TraceExporter&&) noexcept;
  const char* name() const noexcept override { return "trace"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
