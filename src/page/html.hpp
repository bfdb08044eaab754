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

/// Escapes any text for use in an element or a quoted attribute: printable, without markup. Any thread.
std::string html_text(std::string_view text);

/// Returns equivalent JSON that cannot end its surrounding element. Any thread.
std::string json_in_html(std::string_view json);

/// Replaces each `{{name}}` in `text` by its value, or by nothing if it has none. Values are inserted unchanged. Any
/// thread.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values);

/// A column of an HtmlTable.
struct HtmlColumn {
  std::string head;
  bool is_number = false;  ///< right-aligned
};

/// A table whose first column names the row. Cells may be any text. Value type; not thread-safe.
class HtmlTable {
 public:
  /// \param id of the element, used by scripts. \param caption description for screen readers.
  HtmlTable(std::string id, std::string caption, std::vector<HtmlColumn> columns)
      : id_(std::move(id)), caption_(std::move(caption)), columns_(std::move(columns)) {}

  /// \param depth indentation of the name. \param attributes of the row: HTML.
  void add(const std::vector<std::string>& cells, std::size_t depth = 0, const std::string& attributes = "");
  std::string html() const;

 private:
  std::string id_;
  std::string caption_;
  std::vector<HtmlColumn> columns_;
  std::string rows_;
};

/// A file of this directory as text, with its hash for a Content-Security-Policy. Made by cmake/TaktPageFiles.cmake.
struct PageFile {
  std::string_view text;
  std::string_view hash;  ///< "sha256-..."
};

extern const PageFile kPageDocument;  ///< frame of each page
extern const PageFile kPageStyle;
extern const PageFile kPageCommonScript;
extern const PageFile kPageRunBody;
extern const PageFile kPageRunScript;
extern const PageFile kPageDiffBody;  ///< this and the next ones are only in the command
extern const PageFile kPageDiffScript;
extern const PageFile kPageScalingBody;
extern const PageFile kPageScalingScript;

/// Parts of a page besides the common style.
struct PageParts {
  std::string title;                 ///< any text
  std::string body;                  ///< HTML
  std::string data;                  ///< JSON, for the script
  const PageFile* script = nullptr;  ///< in addition to the common script
};

/// Returns a page as a single file whose policy allows only its own style and script. Any thread.
std::string page_document(const PageParts& parts);

/// "0.1.0"
std::string page_version();

}  // namespace detail
TAKT_END_NAMESPACE
