// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/text_table.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kGap = 2;

std::string without_end(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

}  // namespace

TextTable::TextTable(std::vector<TextColumn> columns, std::vector<Line> lines, std::size_t width, const char* name_head)
    : name_head_(name_head),
      columns_(std::move(columns)),
      lines_(std::move(lines)),
      widths_(columns_.size()),
      has_space_(columns_.size()) {
  measure();
  choose(width);
}

void TextTable::measure() {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    widths_[column] = std::strlen(columns_[column].head);
    for (const Line& line : lines_) { widths_[column] = std::max(widths_[column], columns_of(line.cells[column])); }
  }
  name_width_ = std::strlen(name_head_);
  for (const Line& line : lines_) { name_width_ = std::max(name_width_, 2 * line.depth + columns_of(line.name)); }
}

void TextTable::show(unsigned priority, std::size_t space) {
  std::size_t wanted = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].priority == priority && columns_[column].shown) { wanted += kGap + widths_[column]; }
  }
  if (wanted == 0 || wanted > space) { return; }
  cells_width_ += wanted;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].priority == priority && columns_[column].shown) { has_space_[column] = true; }
  }
}

void TextTable::choose(std::size_t width) {
  // Cutting a name below this width hides more than dropping a column.
  const std::size_t name = std::min(name_width_, 3 * width / 10);
  unsigned last = 0;
  for (const TextColumn& each : columns_) { last = std::max(last, each.priority); }
  show(0, std::numeric_limits<std::size_t>::max());
  for (unsigned priority = 1; priority <= last; ++priority) {
    const std::size_t used = name + cells_width_;
    show(priority, width > used ? width - used : 0);
  }
  // Never cut the heading, so that columns always stay aligned with theirs.
  name_width_ = std::max(std::min(name_width_, width - std::min(width, cells_width_)), std::strlen(name_head_));
}

bool TextTable::shows(unsigned priority) const {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].priority == priority && has_space_[column]) { return true; }
  }
  return false;
}

std::string TextTable::head() const {
  std::string text = name_head_ + std::string(name_width_ - std::strlen(name_head_), ' ');
  for (std::size_t column = 0; column < columns_.size(); ++column) { append_cell(text, column, columns_[column].head); }
  return without_end(text);
}

std::vector<std::string> TextTable::body() const {
  std::vector<std::string> out;
  for (const Line& line : lines_) {
    std::string text = name_cell(line);
    for (std::size_t column = 0; column < columns_.size(); ++column) { append_cell(text, column, line.cells[column]); }
    out.push_back(without_end(text));
  }
  return out;
}

/// Limits the indentation in deep trees to keep space for the name.
std::string TextTable::name_cell(const Line& line) const {
  const std::size_t indent = std::min(2 * line.depth, name_width_ / 2);
  const std::string name = fit(line.name, name_width_ - indent);
  return std::string(indent, ' ') + name + std::string(name_width_ - indent - columns_of(name), ' ');
}

void TextTable::append_cell(std::string& text, std::size_t column, const std::string& cell) const {
  if (!has_space_[column]) { return; }
  const std::string space(widths_[column] - columns_of(cell), ' ');
  text += std::string(kGap, ' ') + (columns_[column].words ? cell + space : space + cell);
}

namespace {

constexpr int kNarrowest = 40;
constexpr int kUnbroken = 1000;

}  // namespace

Page::Page(int width, bool color) : width_(static_cast<std::size_t>(std::max(width, kNarrowest))), color_(color) {}

void Page::add(const std::vector<std::string>& lines, Style style) {
  for (const std::string& line : lines) {
    for (const std::string& part : wrap(line, width_)) { print(part, style); }
  }
}

void Page::add_part(const std::vector<std::string>& lines, Style style) {
  if (lines.empty()) { return; }
  add(lines, style);
  gap();
}

void Page::print(const std::string& line, Style style) {
  const bool styled = color_ && style != Style::plain;
  text_ += styled ? (style == Style::bold ? "\x1b[1m" : "\x1b[2m") : "";
  text_ += line;
  text_ += styled ? "\x1b[0m\n" : "\n";
}

bool wants_color(std::FILE* stream, ConsoleOptions::Color color) {
  if (color != ConsoleOptions::Color::automatic) { return color == ConsoleOptions::Color::always; }
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* terminal = std::getenv("TERM");
  // MPI launchers give ranks a terminal of their own whose output may go to a file.
  for (const char* const launcher : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}) {
    if (std::getenv(launcher) != nullptr) { return false; }
  }
  return ::isatty(::fileno(stream)) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

int width_of(std::FILE* stream, int wanted, int without_terminal) {
  winsize size = {};
  if (wanted == 0 && ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0) { wanted = size.ws_col; }
  return wanted == 0 ? without_terminal : wanted;
}

Page page_on_stdout(const ConsoleOptions& drawn) {
  return {width_of(stdout, drawn.width, kUnbroken), wants_color(stdout, drawn.color)};
}

}  // namespace detail
TAKT_END_NAMESPACE
