// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/exporters/console.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A column of figures or words.
struct TextColumn {
  const char* head;
  unsigned priority;   ///< 0: always shown; others if they fit, 1 first; columns of one priority together
  bool shown = true;   ///< false: never shown
  bool words = false;  ///< left-aligned; figures are right-aligned
};

/// A table with a name tree, such as of regions, and the columns that fit. Printable text. Not thread-safe.
class TextTable {
 public:
  struct Line {
    std::string name;
    std::size_t depth = 0;
    std::vector<std::string> cells;  ///< one per column
  };

  /// REQUIRES: each line has a cell for each column.
  /// \param name_head heading of the names; static storage.
  TextTable(std::vector<TextColumn> columns, std::vector<Line> lines, std::size_t width,
            const char* name_head = "region");

  std::string head() const;
  std::vector<std::string> body() const;
  /// Returns true if the columns of a priority are shown.
  bool shows(unsigned priority) const;
  /// Returns the width of a whole line.
  std::size_t width() const noexcept { return name_width_ + cells_width_; }

 private:
  void measure();
  void choose(std::size_t width);
  void show(unsigned priority, std::size_t space);
  std::string name_cell(const Line& line) const;
  void append_cell(std::string& text, std::size_t column, const std::string& cell) const;

  const char* name_head_;
  std::vector<TextColumn> columns_;
  std::vector<Line> lines_;
  std::vector<std::size_t> widths_;
  std::vector<bool> has_space_;
  std::size_t cells_width_ = 0;  // of the shown columns, with spaces between them
  std::size_t name_width_ = 0;
};

/// Styled lines, wrapped at the width. Not thread-safe.
class Page {
 public:
  enum class Style { plain, bold, dim };
  /// \param width in columns; at least 40 is used.
  Page(int width, bool color);

  std::size_t width() const noexcept { return width_; }
  void add(const std::vector<std::string>& lines, Style style);
  /// The same, followed by an empty line; nothing if there are no lines.
  void add_part(const std::vector<std::string>& lines, Style style);
  void gap() { text_ += '\n'; }
  const std::string& text() const noexcept { return text_; }

 private:
  void print(const std::string& line, Style style);

  std::size_t width_;
  bool color_;
  std::string text_;
};

/// Returns true if colours are wanted. If the option is automatic, NO_COLOR, TERM and the launcher decide.
bool wants_color(std::FILE* stream, ConsoleOptions::Color color);
/// Returns the width in columns: `wanted`; if that is 0, the terminal's width or `without_terminal`.
int width_of(std::FILE* stream, int wanted, int without_terminal = 100);
/// Returns a page for stdout. Lines are not wrapped if it is not a terminal, because programs may read it.
Page page_on_stdout(const ConsoleOptions& drawn);

}  // namespace detail
TAKT_END_NAMESPACE
