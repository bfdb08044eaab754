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

/// A column of figures, or of words.
struct TextColumn {
  const char* head;
  unsigned priority;   ///< 0: always shown; else where there is room, 1 first. Columns of one priority go together
  bool shown = true;   ///< false: never, whatever the room
  bool words = false;  ///< begin below each other, where figures end so
};

/// A table: names as a tree, such as those of regions, and the columns for which there is room. Printable text. One
/// thread at a time.
class TextTable {
 public:
  struct Line {
    std::string name;
    std::size_t depth = 0;
    std::vector<std::string> cells;  ///< one a column
  };

  /// REQUIRES: each line has a cell for each column.
  /// \param name_head stands above the names; static storage.
  TextTable(std::vector<TextColumn> columns, std::vector<Line> lines, std::size_t width,
            const char* name_head = "region");

  std::string head() const;
  std::vector<std::string> body() const;
  /// Whether the columns of a priority found room.
  bool shows(unsigned priority) const;
  /// Of a whole line.
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
  std::size_t cells_width_ = 0;  // of those shown, the space between them included
  std::size_t name_width_ = 0;
};

/// Lines in one style, one below the other; what is longer than the width is wrapped. One thread at a time.
class Page {
 public:
  enum class Style { plain, bold, dim };
  /// \param width in columns; a narrow page is made wider, to 40.
  Page(int width, bool color);

  std::size_t width() const noexcept { return width_; }
  void add(const std::vector<std::string>& lines, Style style);
  /// The same with an empty line behind them, or nothing if there are none.
  void add_part(const std::vector<std::string>& lines, Style style);
  void gap() { text_ += '\n'; }
  const std::string& text() const noexcept { return text_; }

 private:
  void print(const std::string& line, Style style);

  std::size_t width_;
  bool color_;
  std::string text_;
};

/// Whether colours are wanted there: NO_COLOR, TERM, and what started the process decide where the option does not.
bool wants_color(std::FILE* stream, ConsoleOptions::Color color);
/// In columns: as wanted, or, for 0, as the terminal is, or `without_terminal`.
int width_of(std::FILE* stream, int wanted, int without_terminal = 100);
/// A page for stdout. Where that is no terminal, programs may read it: its lines are not broken.
Page page_on_stdout(const ConsoleOptions& drawn);

}  // namespace detail
TAKT_END_NAMESPACE
