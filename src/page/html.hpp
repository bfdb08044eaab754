// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Any text as HTML that shows it, in an element or in quotes: printable, and none of it is markup. Any thread.
std::string html_text(std::string_view text);

/// JSON that means the same, and cannot end the element that it stands in. Any thread.
std::string json_in_html(std::string_view json);

/// `text` with the value of each `{{name}}` in its place; a name without one has none. What a value holds stays as it
/// is. Any thread.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values);

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

/// A file of this directory as text, and what a Content-Security-Policy calls it. cmake/TaktPageFiles.cmake makes them.
struct PageFile {
  std::string_view text;
  std::string_view hash;  ///< "sha256-..."
};

extern const PageFile kPageDocument;  ///< around each page
extern const PageFile kPageStyle;
extern const PageFile kPageCommonScript;
extern const PageFile kPageRunBody;
extern const PageFile kPageRunScript;
extern const PageFile kPageDiffBody;  ///< in the command alone, as is what follows
extern const PageFile kPageDiffScript;

/// What a page consists of, beside the style that all have.
struct PageParts {
  std::string title;                 ///< any text
  std::string body;                  ///< HTML
  std::string data;                  ///< JSON, for the script
  const PageFile* script = nullptr;  ///< beside what all have in common
};

/// A page as one file, whose policy lets in nothing but its own style and script. Any thread.
std::string page_document(const PageParts& parts);

/// "0.1.0"
std::string page_version();

}  // namespace detail
TAKT_END_NAMESPACE
