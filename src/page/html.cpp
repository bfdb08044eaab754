// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/html.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "page/run_page.hpp"

#include <takt/exporters/html.hpp>

#include <algorithm>
#include <new>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns the entity; empty if the character needs none.
std::string_view html_entity(char character) noexcept {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char each : printable(text)) {
    const std::string_view entity = html_entity(each);
    if (entity.empty()) {
      out += each;
    } else {
      out += entity;
    }
  }
  return out;
}

std::string json_in_html(std::string_view json) {
  std::string out;
  for (const char each : printable_json(json)) {
    if (each == '<') {
      out += "\\u003c";
    } else {
      out += each;
    }
  }
  return out;
}

std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string out;
  for (;;) {
    const std::size_t begin = text.find("{{");
    const std::size_t end = text.find("}}", begin);
    if (end == std::string_view::npos) { return out.append(text); }
    out += text.substr(0, begin);
    const auto value = values.find(text.substr(begin + 2, end - begin - 2));
    if (value != values.end()) { out += value->second; }
    text.remove_prefix(end + 2);
  }
}

void HtmlTable::add(const std::vector<std::string>& cells, std::size_t depth, const std::string& attributes) {
  constexpr std::size_t kDeepest = 12;
  rows_ += detail::format("<tr{}{}>", attributes.empty() ? "" : " ", attributes);
  for (std::size_t at = 0; at < std::min(cells.size(), columns_.size()); ++at) {
    if (at == 0) {
      rows_ += detail::format("<th scope=\"row\" class=\"d{}\"><span class=\"name\">{}</span></th>",
                              std::min(depth, kDeepest), html_text(cells[at]));
    } else {
      rows_ += detail::format("<td{}>{}</td>", columns_[at].is_number ? " class=\"n\"" : "", html_text(cells[at]));
    }
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::html() const {
  std::string out = detail::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table id=\"{1}\">"
      "<caption>{0}</caption>\n<thead><tr>",
      html_text(caption_), html_text(id_));
  for (const HtmlColumn& each : columns_) {
    out += detail::format("<th scope=\"col\"{}>{}</th>", each.is_number ? " class=\"n\"" : "", html_text(each.head));
  }
  return out + "</tr></thead>\n<tbody>\n" + rows_ + "</tbody></table></div>\n";
}

std::string page_document(const PageParts& parts) {
  return filled(kPageDocument.text, {{"title", html_text(parts.title)},
                                     {"style", std::string(kPageStyle.text)},
                                     {"style_hash", std::string(kPageStyle.hash)},
                                     {"common", std::string(kPageCommonScript.text)},
                                     {"common_hash", std::string(kPageCommonScript.hash)},
                                     {"script", std::string(parts.script->text)},
                                     {"script_hash", std::string(parts.script->hash)},
                                     {"body", parts.body},
                                     {"data", json_in_html(parts.data)}});
}

std::string page_version() {
  return detail::format("{}.{}.{}", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR, TAKT_VERSION_PATCH);
}

}  // namespace detail

namespace {

constexpr const char* kPageFile = "run.html";

}  // namespace

std::string format_html(const Snapshot& snapshot) { return detail::page_of(snapshot); }

ExportResult HtmlExporter::export_snapshot(const Snapshot& snapshot) {
  if (!snapshot.finished) { return ExportResult::ok; }
  std::string error;
  const std::string page = format_html(snapshot);
  if (detail::write_whole(
          detail::path_or_in(snapshot.run.directory, kPageFile, path_),
          [&page](detail::WholeFile& file) { return file.write(page); }, error)) {
    return ExportResult::ok;
  }
  detail::report_error("html", error);
  return ExportResult::retry;
}

TAKT_END_NAMESPACE
