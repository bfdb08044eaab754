// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Writes step rows to a CSV file in long form, one line a step and path (docs/files.md), as they come, to "<path>.part";
/// renamed to its name at the end of the run.
class TAKT_EXPORT CsvExporter final : public Exporter {
 public:
  explicit CsvExporter(std::string path);
  ~CsvExporter() override;
  CsvExporter(CsvExporter&&) noexcept;
  CsvExporter& operator=(CsvExporter&&) noexcept;
  const char* name() const noexcept override { return "csv"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
