// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/console.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
