// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A column of an HtmlTable.
struct HtmlColumn {
  std::string head;
  bool is_number = false;  ///< at the right
};

/// A table whose first column names the row. Cells are any text. A value; one thread at a time.
class HtmlTable {
 public:
  /// \param id of the element, which scripts know. \param caption what the table is, for those who cannot see it.
  HtmlTable(std::string id, std::string caption, std::vector<HtmlColumn> columns)
      : id_(std::move(id)), caption_(std::move(caption)), columns_(std::move(columns)) {}

  /// \param depth by so much the name is moved to the right. \param attributes of the row: HTML.
  void add(const std::vector<std::string>& cells, std::size_t depth = 0, const std::string& attributes = "");
  std::string html() const;

 private:
  std::string id_;
  std::string caption_;
  std::vector<HtmlColumn> columns_;
  std::string rows_;
};

}  // namespace detail
TAKT_END_NAMESPACE
