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

/// Writes rows to a CSV file in long form, one line a step and path (docs/files.md), as they come, to
/// "<path>.part"; renamed to its name at the end of the run. Steps beyond a bound are left out, counted and told of
/// once.
class TAKT_EXPORT CsvExporter final : public Exporter {
 public:
  /// \param max_bytes of the file; what goes beyond is what one snapshot brings at most.
  explicit CsvExporter(std::string path, std::size_t max_bytes = 256U << 20U);
  ~CsvExporter() override;
  CsvExporter(CsvExporter&&) noexcept;
  CsvExporter& operator=(CsvExporter&&) noexcept;
  const char* name() const noexcept override { return "csv"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  /// Steps beyond the bound. Any thread.
  std::uint64_t left_out() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
