// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE

/// The page of a snapshot (docs/page.md): one HTML file that needs no other, and no network. Steps are on it where the
/// snapshot has a history: in the last one of a run. Any thread.
TAKT_EXPORT std::string format_html(const Snapshot& snapshot);

/// Writes the page of the run, whole and then renamed, at its end.
class TAKT_EXPORT HtmlExporter final : public Exporter {
 public:
  /// Writes run.html into the directory of the run (RunInfo::directory), wherever that has been moved; into the current
  /// directory where there is none.
  HtmlExporter() = default;
  /// \param path of the file to write.
  explicit HtmlExporter(std::string path) : path_(std::move(path)) {}
  const char* name() const noexcept override { return "html"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

 private:
  std::string path_;
};

TAKT_END_NAMESPACE
