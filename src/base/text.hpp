// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMillisecondNs = 1'000'000;

/// Returns the 32-bit FNV-1a hash; the same on every machine, because names end in it. Another `salt` gives another
/// hash. Any thread.
constexpr std::uint32_t short_hash(std::string_view text, std::uint32_t salt = 0) noexcept {
  std::uint32_t hash = 2166136261U ^ salt;
  for (const char each : text) { hash = (hash ^ static_cast<unsigned char>(each)) * 16777619U; }
  return hash;
}

/// Returns the version of this library, such as "0.1.0". Any thread.
inline std::string version_text() {
  return std::to_string(TAKT_VERSION_MAJOR) + "." + std::to_string(TAKT_VERSION_MINOR) + "." +
         std::to_string(TAKT_VERSION_PATCH);
}

/// Returns the known word with the smallest edit distance to `word`, a possible typo. Compares the first 64 bytes.
/// Requires `count` >= 1. Any thread.
std::string_view nearest(std::string_view word, const std::string_view* known, std::size_t count) noexcept;

/// A name without control characters and of at most 200 bytes; built without allocating. Longer names are cut between
/// code points and end in '_' and eight hexadecimal digits, a hash of the full name.
class RepairedName {
 public:
  static constexpr std::size_t kMaxBytes = 200;

  explicit RepairedName(std::string_view name) noexcept;

  const char* c_str() const noexcept { return text_; }
  operator std::string_view() const noexcept { return {text_, size_}; }  // NOLINT(google-explicit-constructor)

 private:
  char text_[kMaxBytes + 1];
  std::size_t size_ = 0;
};

/// Returns the repaired name as a string. \throws std::bad_alloc
std::string repaired_name(std::string_view name);
/// Returns true if repairing changes the name.
bool needs_repair(std::string_view name) noexcept;
/// Reports a name that needs repair, without allocating. Any thread, except while holding a lock that an error handler
/// may need.
/// \param what the kind of name: "key", "metric".
void report_repaired(const char* cause, const char* what, std::string_view name) noexcept;

/// Text built without allocating, for reporting errors when memory is exhausted and from noexcept functions. Text
/// beyond 2 kB is cut off, as in report_error().
class Words {
 public:
  /// \param parts texts and whole numbers.
  template <class... Parts>
  explicit Words(const Parts&... parts) noexcept {
    (add(parts), ...);
  }

  operator std::string_view() const noexcept { return {text_, size_}; }  // NOLINT(google-explicit-constructor)

 private:
  void add(std::string_view part) noexcept {
    const std::size_t count = std::min(part.size(), sizeof text_ - size_);
    if (count == 0) { return; }  // an empty view may be null
    std::memcpy(text_ + size_, part.data(), count);
    size_ += count;
  }
  template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
  void add(Number number) noexcept {
    char digits[24];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    add(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  char text_[2048 + 64];
  std::size_t size_ = 0;
};

// Text for terminals, which show Chinese, Japanese and Korean characters and emoji in two columns, and combining marks
// in none. All functions: any thread.

/// Returns true for a UTF-8 continuation byte.
constexpr bool is_continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
/// Returns the number of bytes in the well-formed code point at the start of `text` (not empty); 0 if malformed
/// (Unicode 15, table 3-7). Does not allocate.
std::size_t code_point_bytes(std::string_view text) noexcept;
/// Returns valid UTF-8 in which each character is visible and in place: a name cannot break a table, control a
/// terminal, or look like another name. Control characters, direction marks (such as U+202E) and zero-width characters
/// become '?'; invalid UTF-8 becomes U+FFFD.
TAKT_EXPORT std::string printable(std::string_view text);
/// Removes the next character from `text` and returns it as printable() shows it. REQUIRES: !text.empty(). Does not
/// allocate.
std::string_view next_printable(std::string_view& text) noexcept;
/// Applies printable() to each line.
std::string printable_lines(std::string_view text);
/// Returns equivalent JSON in which the characters that printable() replaces are escaped.
std::string printable_json(std::string_view json);
/// Returns the width of printable text, in columns.
std::size_t columns_of(std::string_view text) noexcept;
/// Shortens printable text to `columns` (1 or more), with an ellipsis in the middle: long names often differ at the
/// end.
TAKT_EXPORT std::string fit(const std::string& text, std::size_t columns);
/// Like fit(), but cuts at the start, for paths.
TAKT_EXPORT std::string fit_end(const std::string& text, std::size_t columns);
/// Wraps to lines of at most `columns`, at spaces or inside a word longer than a line. All lines but the first are
/// indented by two spaces.
std::vector<std::string> wrap(const std::string& text, std::size_t columns);

/// Joins the elements with `separator`.
template <class Strings>
std::string join(const Strings& elements, std::string_view separator) {
  std::string out;
  for (const auto& each : elements) {
    if (&each != &*elements.begin()) { out += separator; }
    out += each;
  }
  return out;
}

/// Formats as "0 ns", "45.3 ns", "1.23 us", "12.3 ms", "312 s", "16.7 min", "72.0 h".
std::string human_time(double ns);
inline std::string human_ns(std::uint64_t ns) { return human_time(static_cast<double>(ns)); }
/// Formats as "12 345 678".
std::string grouped(std::uint64_t number);
/// Formats as "12 345", and from a million as "1.23 M".
std::string human_count(std::uint64_t count);
/// Formats a rate per second: "12.3", "1 234", "1.23 M".
std::string human_rate(double per_second);
/// Formats as "512 B", "1.23 GB"; powers of 1 000.
std::string human_bytes(double bytes);
/// Formats as "32.0 mJ", "2.05 J", "1.23 kJ".
std::string human_energy(double joules);
/// Formats as "2026-03-01 10:15:30", in UTC.
std::string utc_text(std::int64_t unix_ns);
/// Formats the share of `whole` as "2.0 %"; "-" if `whole` is not positive.
std::string percent(double part, double whole);

/// A UTC time in the Gregorian calendar.
struct UtcTime {
  std::int64_t year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

/// Converts to UTC.
/// \param unix_s in seconds since 1970; may be negative. Does not use gmtime_r(), whose lock may stay locked in a
/// forked child.
TAKT_EXPORT UtcTime utc_time(std::int64_t unix_s) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
