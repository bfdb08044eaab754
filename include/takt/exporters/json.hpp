// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE

/// Returns the summary of a snapshot as JSON, in schema "takt-summary/2" (docs/files.md). Any thread.
TAKT_EXPORT std::string format_json(const Snapshot& snapshot);

/// Writes format_json() to a file every ten seconds and at the end of the run, atomically (write, then rename).
class TAKT_EXPORT JsonExporter final : public Exporter {
 public:
  /// Writes summary.json into the directory of the run (RunInfo::directory), even if that was moved; without one, into
  /// the current directory.
  JsonExporter() = default;
  /// \param path of the file to write.
  explicit JsonExporter(std::string path) : path_(std::move(path)) {}
  const char* name() const noexcept override { return "json"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

 private:
  std::string path_;
  std::int64_t written_at_ns_ = 0;  // wall_ns of the snapshot last written
};

TAKT_END_NAMESPACE
