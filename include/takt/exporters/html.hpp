// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE

/// Returns the page of a snapshot (docs/page.md): one self-contained HTML file that needs no network. It includes steps
/// if the snapshot has a history, that is, for the last one of a run. Any thread.
TAKT_EXPORT std::string format_html(const Snapshot& snapshot);

/// Writes the page of the run at its end, atomically (write, then rename).
class TAKT_EXPORT HtmlExporter final : public Exporter {
 public:
  /// Writes run.html into the directory of the run (RunInfo::directory), even if that was moved; without one, into the
  /// current directory.
  HtmlExporter() = default;
  /// \param path of the file to write.
  explicit HtmlExporter(std::string path) : path_(std::move(path)) {}
  const char* name() const noexcept override { return "html"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

 private:
  std::string path_;
};

TAKT_END_NAMESPACE
