// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.hpp"

#include "base/format.hpp"
#include "base/report_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongest = 64;

/// Returns the Levenshtein distance, computed with one row.
std::size_t edit_distance(std::string_view a, std::string_view b) noexcept {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  std::array<std::size_t, kLongest + 1> row{};
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::string_view* known, std::size_t count) noexcept {
  if (count == 0) { return {}; }
  const std::string_view found = *std::min_element(
      known, known + count,
      [word](std::string_view a, std::string_view b) { return edit_distance(word, a) < edit_distance(word, b); });
  const std::size_t size = std::min(word.size(), found.size());
  return edit_distance(word, found) <= std::max<std::size_t>(size / 3, size < 4 ? 1 : 2) ? found : std::string_view();
}

namespace {

constexpr std::size_t kHashDigits = 8;

bool is_control(char byte) noexcept { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }

}  // namespace

RepairedName::RepairedName(std::string_view name) noexcept {
  if (name.empty()) { name = "(unnamed)"; }
  const bool cut = name.size() > kMaxBytes;
  size_ = cut ? kMaxBytes - 1 - kHashDigits : name.size();
  // A UTF-8 character has up to three continuation bytes; more in a row are not UTF-8.
  for (int more = 0; more < 3 && size_ < name.size() && is_continuation(name[size_]); ++more) { --size_; }
  for (std::size_t at = 0; at < size_; ++at) { text_[at] = is_control(name[at]) ? '?' : name[at]; }
  if (cut) {  // keeps names distinct that differ only after the cut
    text_[size_++] = '_';
    const std::uint32_t hash = short_hash(name);
    for (std::size_t digit = kHashDigits; digit-- > 0;) {
      text_[size_++] = "0123456789abcdef"[hash >> 4 * digit & 0xFU];
    }
  }
  text_[size_] = '\0';
}

std::string repaired_name(std::string_view name) { return std::string(RepairedName(name)); }

bool needs_repair(std::string_view name) noexcept {
  return name.empty() || name.size() > RepairedName::kMaxBytes || std::any_of(name.begin(), name.end(), is_control);
}

void report_repaired(const char* cause, const char* what, std::string_view name) noexcept {
  if (!needs_repair(name)) { return; }
  report_error(cause, Words("the ", what, " \"", RepairedName(name),
                            "\" replaces a name that is empty, longer than 200 bytes, or has control "
                            "characters; it is reported as written here."));
}

namespace {

constexpr const char* kEllipsis = "\xE2\x80\xA6";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};

struct TimeUnit {
  double ns;
  const char* name;
};
constexpr TimeUnit kTimeUnits[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}};

/// Decodes a well-formed code point.
std::uint32_t value_of(std::string_view code_point) noexcept {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(code_point[at]));
  };
  if (code_point.size() == 1) { return byte(0); }
  std::uint32_t value = byte(0) & (0xFFU >> (code_point.size() + 1));
  for (std::size_t at = 1; at < code_point.size(); ++at) { value = (value << 6U) | (byte(at) & 0x3FU); }
  return value;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// Sorted. Characters that a terminal may take as a command, that change the display order, or that are invisible: with
// them a name can look like another one.
constexpr Range kUnseen[] = {
    {0x0000, 0x001F},    // C0
    {0x007F, 0x009F},    // DEL and C1
    {0x00AD, 0x00AD},    // soft hyphen
    {0x034F, 0x034F},    // combining grapheme joiner
    {0x061C, 0x061C},    // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x17B4, 0x17B5},    // invisible Khmer vowels
    {0x180B, 0x180F},    // Mongolian separators
    {0x200B, 0x200F},    // zero width and direction marks
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides
    {0x2060, 0x206F},    // joiners, isolates, deprecated shaping characters
    {0x3164, 0x3164},    // Hangul filler
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler
    {0xFFF0, 0xFFFB},    // annotations
    {0x1BCA0, 0x1BCA3},  // shorthand format controls
    {0x1D173, 0x1D17A},  // musical format controls
    {0xE0000, 0xE0FFF},  // tags and selectors
};

// Sorted. Combining marks (Unicode 14, categories Mn and Me; without scripts whose marks terminals place differently).
constexpr Range kMarks[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x1AB0, 0x1ACE},
    {0x1DC0, 0x1DFF}, {0x20D0, 0x20F0}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};
// Sorted. Characters two columns wide (Unicode 14, EastAsianWidth.txt, W and F; emoji blocks are included whole).
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23F3},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274E},   {0x2753, 0x2757},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},
    {0x2B50, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4C6},   {0xA960, 0xA97C},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x1B2FB}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A},
    {0x1F200, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAF6},
    {0x20000, 0x3FFFD},
};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t code_point) noexcept {
  const Range* const range = std::lower_bound(std::begin(ranges), std::end(ranges), code_point,
                                              [](const Range& one, std::uint32_t value) { return one.last < value; });
  return range != std::end(ranges) && range->first <= code_point;
}

bool is_unseen(std::uint32_t code_point) noexcept { return is_in(kUnseen, code_point); }

/// Returns the first code point of printable text, which must not be empty.
std::string_view first_code_point(std::string_view text) noexcept {
  return text.substr(0, std::max<std::size_t>(code_point_bytes(text), 1));
}

std::size_t columns_of_code_point(std::string_view code_point) noexcept {
  if (code_point.size() == 1) { return 1; }
  const std::uint32_t value = value_of(code_point);
  return is_in(kMarks, value) ? 0 : is_in(kWide, value) ? 2 : 1;
}

/// Returns the length in bytes of the longest prefix of printable text that fits in `columns`.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view code_point = first_code_point(text.substr(at));
    const std::size_t wide = columns_of_code_point(code_point);
    if (wide > columns) { break; }
    columns -= wide;
    at += code_point.size();
  }
  return at;
}

/// Returns the longest suffix of printable text that fits in `columns`, without combining marks of a removed character.
std::string_view end_of(std::string_view text, std::size_t columns) noexcept {
  for (std::size_t left = columns_of(text); !text.empty();) {
    const std::string_view code_point = first_code_point(text);
    const std::size_t wide = columns_of_code_point(code_point);
    if (left <= columns && wide != 0) { break; }
    left -= wide;
    text.remove_prefix(code_point.size());
  }
  return text;
}

/// Returns the position of the last space up to byte `end` at which a line may break, or 0. Never separates a number
/// from its unit or its digit groups.
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
  return detail::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/// Scales to the first prefix that needs at most three digits.
std::string with_prefix(double value, const char* unit) {
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return detail::format("{} {}{}", three_digits(value), kPrefixes[prefix], unit);
}

}  // namespace

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

std::string_view next_printable(std::string_view& text) noexcept {
  const std::size_t bytes = code_point_bytes(text);
  const std::string_view here = text.substr(0, std::max<std::size_t>(bytes, 1));
  text.remove_prefix(here.size());
  if (bytes == 0) { return kReplacement; }
  return is_unseen(value_of(here)) ? std::string_view("?") : here;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) { out += next_printable(text); }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return out + printable(text);
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t bytes = std::max<std::size_t>(code_point_bytes(json), 1);
    const std::string_view here = json.substr(0, bytes);
    json.remove_prefix(bytes);
    const std::uint32_t value = value_of(here);
    if (value < 0x20U || !is_unseen(value)) {
      out += here;
    } else if (value <= 0xFFFFU) {
      out += detail::format("\\u{:04x}", value);
    } else {
      out += detail::format("\\u{:04x}\\u{:04x}", 0xD7C0U + (value >> 10U), 0xDC00U + (value & 0x3FFU));
    }
  }
  return out;
}

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::string_view code_point = first_code_point(text);
    columns += columns_of_code_point(code_point);
    text.remove_prefix(code_point.size());
  }
  return columns;
}

std::string fit(const std::string& text, std::size_t columns) {
  if (columns_of(text) <= columns) { return text; }
  const std::size_t at_end = (columns - 1) / 2;
  const std::size_t at_start = columns - 1 - at_end;
  return (text.substr(0, bytes_of_columns(text, at_start)) + kEllipsis).append(end_of(text, at_end));
}

std::string fit_end(const std::string& text, std::size_t columns) {
  return columns_of(text) <= columns ? text : std::string(kEllipsis).append(end_of(text, columns - 1));
}

std::vector<std::string> wrap(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  std::string_view indent;
  while (!rest.empty()) {
    const std::size_t fitting = bytes_of_columns(rest, columns - indent.size());
    if (fitting == rest.size()) { break; }
    const std::size_t width = std::max(fitting, first_code_point(rest).size());
    const std::size_t space = last_break(rest, width);
    lines.push_back(std::string(indent).append(rest.substr(0, space == 0 ? width : space)));
    rest.remove_prefix(space == 0 ? width : space + 1);
    indent = "  ";
  }
  if (!rest.empty() || lines.empty()) { lines.push_back(std::string(indent).append(rest)); }
  return lines;
}

std::string human_time(double ns) {
  const TimeUnit* unit = kTimeUnits;
  while (ns / unit->ns >= 999.5 && unit + 1 != std::end(kTimeUnits)) { ++unit; }
  const double value = ns / unit->ns;
  if (unit == kTimeUnits && value == std::floor(value)) { return detail::format("{:.0f} ns", value); }
  return detail::format("{} {}", three_digits(value), unit->name);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ' ');
  }
  return digits;
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
  return bytes < 999.5 ? detail::format("{:.0f} B", bytes) : with_prefix(bytes, "B");
}

std::string human_energy(double joules) {
  if (joules >= 0.9995 || joules == 0) { return with_prefix(joules, "J"); }
  return joules >= 0.9995e-3 ? three_digits(joules * 1e3) + " mJ" : three_digits(joules * 1e6) + " \u00B5J";
}

std::string utc_text(std::int64_t unix_ns) {
  const UtcTime time = utc_time(unix_ns / kSecondNs);
  return detail::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", time.year, time.month, time.day, time.hour, time.minute,
                        time.second);
}

std::string percent(double part, double whole) {
  if (whole <= 0) { return "-"; }
  const double share = 100 * part / whole;
  return share != 0 && share < 0.05 ? detail::format("{:.2g} %", share) : detail::format("{:.1f} %", share);
}

namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kEraDays = 146'097;     // in 400 years, after which the calendar repeats
constexpr std::int64_t kBefore1970 = 719'468;  // days since March 1 of year 0
constexpr unsigned kMonthDays[] = {31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29};  // starting in March

std::int64_t floor_of(std::int64_t number, std::int64_t divisor) noexcept {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

/// Returns the number of days in the first `years` years of an era, counted from March 1.
std::int64_t days_of(std::int64_t years) noexcept { return 365 * years + years / 4 - years / 100 + years / 400; }

}  // namespace

UtcTime utc_time(std::int64_t unix_s) noexcept {
  UtcTime time;
  const std::int64_t days = floor_of(unix_s, kDayS);
  const auto second = static_cast<unsigned>(unix_s - days * kDayS);
  time.hour = second / 3600;
  time.minute = second / 60 % 60;
  time.second = second % 60;
  const std::int64_t era = floor_of(days + kBefore1970, kEraDays);
  const std::int64_t day_of_era = days + kBefore1970 - era * kEraDays;
  std::int64_t years = day_of_era / 366;  // too low by one at most, in the first centuries
  while (days_of(years + 1) <= day_of_era) { ++years; }
  auto day = static_cast<unsigned>(day_of_era - days_of(years));
  unsigned month = 0;
  while (day >= kMonthDays[month]) { day -= kMonthDays[month++]; }
  time.day = day + 1;
  time.month = (month + 2) % 12 + 1;
  time.year = 400 * era + years + (month >= 10 ? 1 : 0);
  return time;
}

}  // namespace detail
TAKT_END_NAMESPACE
