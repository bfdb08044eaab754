// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstdio>
#include <string>

TAKT_BEGIN_NAMESPACE

/// How the table is drawn.
struct ConsoleOptions {
  /// When there are colours.
  enum class Color {
    automatic,  ///< as docs/report.md says
    always,
    never
  };
  std::FILE* stream = nullptr;     ///< not owned; nullptr: stdout
  Color color = Color::automatic;  ///< when the table has colours
  int width = 0;                   ///< columns; 0: of the terminal, 100 where there is none; at least 40
};

/// The table of a snapshot as text. Any thread.
TAKT_EXPORT std::string format_table(const Snapshot& snapshot, int width, bool color);

/// Prints the table when the run has finished.
class TAKT_EXPORT ConsoleExporter final : public Exporter {
 public:
  explicit ConsoleExporter(ConsoleOptions options = {}) noexcept : options_(options) {}
  const char* name() const noexcept override { return "console"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  /// Prints the table now.
  void print(const Snapshot& snapshot) const;

 private:
  ConsoleOptions options_;
};

TAKT_END_NAMESPACE
