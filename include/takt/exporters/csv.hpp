// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Writes rows to a CSV file in long form, one line per step and path (docs/files.md), as they arrive. Writes to
/// "<path>.part", renamed at the end of the run. Steps beyond the size limit are dropped, counted and reported once.
class TAKT_EXPORT CsvExporter final : public Exporter {
 public:
  /// \param max_bytes limit of the file size; one snapshot may exceed it.
  explicit CsvExporter(std::string path, std::size_t max_bytes = 256U << 20U);
  ~CsvExporter() override;
  CsvExporter(CsvExporter&&) noexcept;
  CsvExporter& operator=(CsvExporter&&) noexcept;
  const char* name() const noexcept override { return "csv"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  /// Returns the number of steps dropped because of the limit. Any thread.
  std::uint64_t left_out() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
