// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kEllipsis = "\xE2\x80\xA6";
constexpr const char* kReplacement = "\xEF\xBF\xBD";
constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};

struct TimeUnit {
  double ns;
  const char* name;
};
constexpr TimeUnit kTimeUnits[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}};

/// Bytes of the well-formed code point that `text` begins with, 0 where there is none (Unicode 15, table 3-7).
std::size_t code_point_bytes(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80U                    ? 1U
                            : lead >= 0xC2U && lead < 0xE0U ? 2U
                            : lead >= 0xE0U && lead < 0xF0U ? 3U
                            : lead >= 0xF0U && lead < 0xF5U ? 4U
                                                            : 0U;
  if (bytes < 2) { return bytes; }
  if (text.size() < bytes || !std::all_of(text.begin() + 1, text.begin() + bytes, is_continuation)) { return 0; }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0U && second < 0xA0U) || (lead == 0xF0U && second < 0x90U);
  const bool beyond = (lead == 0xEDU && second >= 0xA0U) || (lead == 0xF4U && second >= 0x90U);
  return overlong || beyond ? 0 : bytes;
}

/// C0, DEL and C1: a terminal may take any of them as a command.
bool is_control(std::string_view code_point) noexcept {
  const auto lead = static_cast<unsigned char>(code_point[0]);
  return lead < 0x20U || lead == 0x7FU || (lead == 0xC2U && static_cast<unsigned char>(code_point[1]) < 0xA0U);
}

/// Bytes of the first `columns` code points of well-formed text.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) noexcept {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!is_continuation(text[at]) && columns-- == 0) { break; }
  }
  return at;
}

/// The last space up to byte `end` at which a line may break, 0 without one. A number keeps its unit, and its thousands.
std::size_t last_break(std::string_view text, std::size_t end) noexcept {
  const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
  std::size_t space = text.rfind(' ', end);
  while (space != std::string_view::npos && space > 0) {
    if (!is_digit(text[space - 1])) { return space; }
    space = text.rfind(' ', space - 1);
  }
  return 0;
}

std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/// Scales to the first prefix under which three digits are enough.
std::string with_prefix(double value, const char* unit) {
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{} {}{}", three_digits(value), kPrefixes[prefix], unit);
}

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ' ');
  }
  return digits;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = code_point_bytes(text);
    if (bytes == 0) {
      out += kReplacement;
    } else if (is_control(text)) {
      out += '?';
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

std::size_t columns_of(std::string_view text) noexcept {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string fit(const std::string& text, std::size_t columns) {
  if (columns_of(text) <= columns) { return text; }
  return text.substr(0, bytes_of_columns(text, columns - 1)) + kEllipsis;
}

std::string fit_end(const std::string& text, std::size_t columns) {
  const std::size_t all = columns_of(text);
  if (all <= columns) { return text; }
  return kEllipsis + text.substr(bytes_of_columns(text, all - (columns - 1)));
}

std::vector<std::string> wrap(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  std::string_view indent;
  while (columns_of(indent) + columns_of(rest) > columns) {
    const std::size_t room = bytes_of_columns(rest, columns - indent.size());
    const std::size_t space = last_break(rest, room);
    lines.push_back(std::string(indent).append(rest.substr(0, space == 0 ? room : space)));
    rest.remove_prefix(space == 0 ? room : space + 1);
    indent = "  ";
  }
  lines.push_back(std::string(indent).append(rest));
  return lines;
}

std::string human_time(double ns) {
  const TimeUnit* unit = kTimeUnits;
  while (ns / unit->ns >= 999.5 && unit + 1 != std::end(kTimeUnits)) { ++unit; }
  const double value = ns / unit->ns;
  if (unit == kTimeUnits && value == std::floor(value)) { return fmt::format("{:.0f} ns", value); }
  return fmt::format("{} {}", three_digits(value), unit->name);
}

std::string human_count(std::uint64_t count) {
  return count < 1'000'000 ? grouped(count) : with_prefix(static_cast<double>(count), "");
}

std::string human_rate(double per_second) {
  if (per_second < 99.95) { return three_digits(per_second); }
  if (per_second < 999'999.5) { return grouped(static_cast<std::uint64_t>(std::llround(per_second))); }
  return with_prefix(per_second, "");
}

std::string human_bytes(double bytes) {
  return bytes < 999.5 ? fmt::format("{:.0f} B", bytes) : with_prefix(bytes, "B");
}

std::string percent(double part, double whole) {
  if (whole <= 0) { return "-"; }
  const double share = 100 * part / whole;
  return share != 0 && share < 0.05 ? fmt::format("{:.2g} %", share) : fmt::format("{:.1f} %", share);
}

}  // namespace detail
TAKT_END_NAMESPACE
