// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <cstdio>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Options of the table.
struct ConsoleOptions {
  /// Use of colours.
  enum class Color {
    automatic,  ///< see docs/report.md
    always,
    never
  };
  std::FILE* stream = nullptr;     ///< not owned; nullptr: stdout
  Color color = Color::automatic;  ///< use of colours in the table
  int width = 0;                   ///< columns; 0: width of the terminal, or 100 without one; at least 40
};

/// The form of a table.
struct TableForm {
  int width = 100;           ///< in columns of text; at least 40
  bool color = false;        ///< bold and dim lines by ANSI escapes
  std::size_t findings = 3;  ///< maximum number of findings; the table says how many more there are
  /// Names separated by commas, in the order wanted, such as "n,mean,min,stdev"; empty: the usual ones that fit.
  /// Tables of one rank know n, total, mean, stdev, min, p50, p90, p99, max, self, share, first, span_total and
  /// span_mean. Names that a table does not know are left out.
  std::string columns = {};
};

/// Returns the table of a snapshot as text. Any thread.
TAKT_EXPORT std::string format_table(const Snapshot& snapshot, const TableForm& form = {});

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
