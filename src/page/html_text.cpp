// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/html_text.hpp"

#include "base/text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Empty: it stands for itself.
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

}  // namespace detail
TAKT_END_NAMESPACE
