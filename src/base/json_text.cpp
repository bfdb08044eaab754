// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json_text.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns a JSON string; invalid UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t bytes = code_point_bytes(text);
    const std::string_view here = text.substr(0, std::max<std::size_t>(bytes, 1));
    text.remove_prefix(here.size());
    const std::size_t known = std::string_view("\"\\\b\f\n\r\t").find(here[0]);
    if (bytes == 0) {
      out += "\xEF\xBF\xBD";
    } else if (known != std::string_view::npos) {
      out.append(1, '\\').append(1, "\"\\bfnrt"[known]);
    } else if (static_cast<unsigned char>(here[0]) < 0x20U) {
      out += detail::format("\\u{:04x}", static_cast<unsigned>(here[0]));
    } else {
      out += here;
    }
  }
  return out += '"';
}

/// Returns the shortest JSON number that reads back unchanged; "null" if it is not finite.
std::string shortest(double number) {
  if (!std::isfinite(number)) { return "null"; }
  std::string text = detail::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) { text += ".0"; }
  return text;
}

}  // namespace

JsonText::JsonText(double number) : text_(shortest(number)) {}
JsonText::JsonText(std::string_view text) : kind_(Kind::string), text_(quoted(text)) {}

JsonText::JsonText(const std::map<std::string, std::string>& texts) : JsonText(object()) {
  for (const auto& [name, text] : texts) { add(name, text); }
}

JsonText::JsonText() = default;
JsonText::JsonText(const JsonText& other) = default;
JsonText::JsonText(JsonText&& other) noexcept = default;
JsonText& JsonText::operator=(const JsonText& other) = default;
JsonText& JsonText::operator=(JsonText&& other) noexcept = default;
JsonText::~JsonText() = default;

JsonText::JsonText(Kind kind, const char* text) : kind_(kind), text_(text) {}
JsonText::JsonText(Whole<true> number) : text_(std::to_string(number.number)) {}
JsonText::JsonText(Whole<false> number) : text_(std::to_string(number.number)) {}
JsonText::JsonText(bool value) : text_(value ? "true" : "false") {}
JsonText::JsonText(const std::string& text) : JsonText(std::string_view(text)) {}
JsonText::JsonText(const char* text) : JsonText(std::string_view(text)) {}
JsonText JsonText::array() { return JsonText(Kind::array, "[]"); }
JsonText JsonText::object() { return JsonText(Kind::object, "{}"); }

JsonText JsonText::raw(std::string_view json) {
  JsonText value;
  value.text_ = json.substr(0, json.find_last_not_of(" \t\r\n") + 1);
  return value;
}

JsonText JsonText::rounded(double number, int digits) {
  const std::string text = detail::format("{:.{}e}", number, std::max(digits, 1) - 1);
  const std::size_t mark = text.find('e');
  std::string figures = text.substr(0, mark);
  int exponent = std::atoi(text.c_str() + mark + 1);
  const std::size_t point = figures.find('.');
  if (point != std::string::npos) {
    exponent -= static_cast<int>(figures.size() - point - 1);
    figures.erase(point, 1);
  }
  while (figures.back() == '0' && figures.size() > 1 && figures[figures.size() - 2] != '-') {
    figures.pop_back();
    ++exponent;
  }
  const std::size_t first = figures.find_first_not_of("-0");
  if (first == std::string::npos) { return 0; }
  if (exponent > 0 && exponent < 3) { figures.append(static_cast<std::size_t>(exponent), '0'); }
  if (exponent > 2 || exponent < 0) { figures += detail::format("e{}", exponent); }
  return JsonText(Kind::scalar, figures.c_str());
}

JsonText::JsonText(std::initializer_list<JsonText> members)
    : JsonText(std::all_of(members.begin(), members.end(), [](const JsonText& each) { return each.is_member(); })
                   ? object()
                   : array()) {
  for (const JsonText& each : members) {
    if (is_array()) {
      push_back(each);
    } else {
      append(std::string(each.element(0)).append(":").append(each.element(1)));
    }
  }
}

/// Inserts `member` before the closing bracket.
void JsonText::append(std::string_view member) {
  text_.reserve(text_.size() + member.size() + 1);
  const char last = text_.back();
  text_.pop_back();
  if (text_.size() > 1) { text_ += ','; }
  text_.append(member);
  text_ += last;
}

void JsonText::push_back(const JsonText& element) {
  if (ends_.empty()) { first_is_string_ = element.kind_ == Kind::string; }
  if (ends_.size() == ends_.capacity()) { ends_.reserve(2 * ends_.size() + 1); }  // allocated before the text changes
  append(element.text_);
  ends_.push_back(text_.size() - 1);
}

void JsonText::add(std::string_view name, const JsonText& value) {
  append(quoted(name).append(":").append(value.text_));
}

std::string_view JsonText::element(std::size_t index) const noexcept {
  const std::size_t begin = index == 0 ? 1 : ends_[index - 1] + 1;
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

std::string JsonText::indented() const {
  std::string out;
  std::size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] { out.append(1, '\n').append(depth, ' '); };
  for (std::size_t at = 0; at < text_.size(); ++at) {
    const char each = text_[at];
    if (in_string) {
      out += each;
      if (each == '\\') { out += text_[++at]; }
      in_string = each != '"';
    } else if (each == '{' || each == '[') {
      out += each;
      ++depth;
      at = std::min(text_.find_first_not_of(" \n", at + 1), text_.size()) - 1;  // raw() may contain spaces
      if (text_[at + 1] == each + 2) {                                          // the closing bracket
        out += text_[++at];
        --depth;
      } else {
        new_line();
      }
    } else if (each == '}' || each == ']') {
      --depth;
      new_line();
      out += each;
    } else if (each == ',') {
      out += each;
      new_line();
    } else if (each == ':') {
      out += ": ";
    } else if (each != ' ' && each != '\n') {
      out += each;
      in_string = each == '"';
    }
  }
  return out;
}

}  // namespace detail
TAKT_END_NAMESPACE
