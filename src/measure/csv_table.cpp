// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/csv_table.hpp"

#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kShownColumns = 40;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string shown_field(std::string_view text) {
  return fit(printable(text.substr(0, 4 * kShownColumns)), kShownColumns);
}

/// Files that people write have blanks beside their commas.
std::string_view without_blanks(std::string_view field) noexcept {
  const std::size_t first = field.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

bool is_line_end(std::string_view text) noexcept { return text[0] == '\n' || text.substr(0, 2) == "\r\n"; }

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file) : file_(std::move(file)) {
  if (text.size() > kMostBytes) { refuse(1, detail::format("the file has more than {} bytes", kMostBytes)); }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) { text.remove_prefix(kByteOrderMark.size()); }
  if (text.empty()) { refuse(1, "the file is empty; its first line names the columns"); }
  std::size_t line = 1;
  head_ = take_row(text, line);
  check_head();
  while (!text.empty()) {
    Row row = take_row(text, line);
    if (row.fields.size() == 1 && row.fields[0].empty()) { continue; }  // an empty line
    if (row.fields.size() != head_.fields.size()) {
      refuse(row.line, detail::format("there are {} fields, and {} columns", row.fields.size(), head_.fields.size()));
    }
    if (rows_.size() == kMostRows) { refuse(row.line, detail::format("there are more than {} rows", kMostRows)); }
    rows_.push_back(std::move(row));
  }
}

void CsvTable::refuse(std::size_t line, const std::string& what) const {
  throw Error(detail::format("{}, line {}: {}", fit_end(printable(file_), 200), line, what));
}

void CsvTable::check_head() const {
  std::vector<std::string_view> names(head_.fields.begin(), head_.fields.end());
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    refuse(head_.line, detail::format("the column '{}' is there twice", shown_field(*twice)));
  }
}

CsvTable::Row CsvTable::take_row(std::string_view& text, std::size_t& line) const {
  Row row;
  row.line = line;
  for (;;) {
    if (row.fields.size() == kMostColumns) {
      refuse(line, detail::format("there are more than {} fields", kMostColumns));
    }
    row.fields.push_back(take_field(text, line));
    if (text.empty()) { return row; }
    const bool ends = is_line_end(text);
    text.remove_prefix(text[0] == '\r' ? 2 : 1);
    if (ends) {
      ++line;
      return row;
    }
  }
}

/// Up to the comma or the end of line behind it.
std::string CsvTable::take_field(std::string_view& text, std::size_t& line) const {
  const std::size_t begin = line;
  if (text.empty() || text[0] != '"') {
    std::size_t size = 0;
    while (size < text.size() && text[size] != ',' && !is_line_end(text.substr(size))) { ++size; }
    const std::string_view field = text.substr(0, size);
    text.remove_prefix(size);
    return checked(without_blanks(field), begin);
  }
  std::string field;
  for (text.remove_prefix(1); !text.empty(); text.remove_prefix(1)) {
    if (text[0] == '"') {
      text.remove_prefix(1);
      if (text.empty() || text[0] == ',' || is_line_end(text)) { return checked(field, begin); }
      if (text[0] != '"') { refuse(line, "something stands behind the quote that ends a field"); }
    }
    line += text[0] == '\n' ? 1 : 0;
    field += text[0];
  }
  refuse(begin, "a quoted field has no end");
}

std::string CsvTable::checked(std::string_view field, std::size_t line) const {
  if (field.find('\0') != std::string_view::npos) { refuse(line, "there is a zero byte: this is no text"); }
  return std::string(field);
}

std::size_t CsvTable::column(std::string_view name) const noexcept {
  const auto found = std::find(head_.fields.begin(), head_.fields.end(), name);
  return found == head_.fields.end() ? kNoColumn : static_cast<std::size_t>(found - head_.fields.begin());
}

std::optional<double> CsvTable::amount(std::size_t row, std::size_t column) const {
  if (column == kNoColumn || text(row, column).empty()) { return {}; }
  const std::string& field = text(row, column);
  double value = 0;
  const auto [stopped, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || stopped != field.data() + field.size() || !std::isfinite(value) || value < 0) {
    refuse(line(row), detail::format("{} is '{}', which is no number of 0 or more", shown_field(head_.fields[column]),
                                     shown_field(field)));
  }
  return value;
}

}  // namespace detail
TAKT_END_NAMESPACE
