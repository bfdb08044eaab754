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

/// FNV-1a of 32 bits: the same on every machine, as names that end in it have to be. Another `salt` gives another hash.
/// Any thread.
constexpr std::uint32_t short_hash(std::string_view text, std::uint32_t salt = 0) noexcept {
  std::uint32_t hash = 2166136261U ^ salt;
  for (const char each : text) { hash = (hash ^ static_cast<unsigned char>(each)) * 16777619U; }
  return hash;
}

/// Of this library, such as "0.1.0". Any thread.
inline std::string version_text() {
  return std::to_string(TAKT_VERSION_MAJOR) + "." + std::to_string(TAKT_VERSION_MINOR) + "." +
         std::to_string(TAKT_VERSION_PATCH);
}

/// Of `count` known words (1 or more) the one with the fewest letters to change, add or take away to get it from
/// `word`, which is perhaps misspelt. Of long words the first 64 bytes count. Any thread.
std::string_view nearest(std::string_view word, const std::string_view* known, std::size_t count) noexcept;

/// A name without control characters and of at most 200 bytes; put together without memory. One that is cut, between
/// code points, ends in '_' and eight hexadecimal digits, a hash of all of it.
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

/// The same as a text of its own. \throws std::bad_alloc
std::string repaired_name(std::string_view name);
/// Whether it is another one when it is repaired.
bool needs_repair(std::string_view name) noexcept;
/// Reports a name that is repaired, without memory. Any thread, without a lock that an error handler may need.
/// \param what has the name: "key", "metric".
void report_repaired(const char* cause, const char* what, std::string_view name) noexcept;

/// A text put together without memory: a fault has to be told where there is none, and by functions that cannot throw.
/// What is beyond 2 kB is cut off, as report_error() does.
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
    if (count == 0) { return; }  // nothing may be nowhere
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

// Text for people on terminals, which give Chinese, Japanese and Korean characters and pictures two columns, and marks
// on a character none. All: any thread.

/// Whether it is one of UTF-8 that goes on with a character.
constexpr bool is_continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
/// Returns the bytes of the well-formed code point that `text` (not empty) begins with; 0 if there is none
/// (Unicode 15, table 3-7). Allocates nothing.
std::size_t code_point_bytes(std::string_view text) noexcept;
/// Valid UTF-8 of which each character is seen, and where it stands: a name can neither break a table, nor command a
/// terminal, nor pass for another one. Control characters, marks of direction (U+202E and its kind) and what has no
/// width become '?', bytes that are not UTF-8 become U+FFFD.
TAKT_EXPORT std::string printable(std::string_view text);
/// The next character of that, which goes from the front of `text`. REQUIRES: !text.empty(). Allocates nothing.
std::string_view next_printable(std::string_view& text) noexcept;
/// The same of each line.
std::string printable_lines(std::string_view text);
/// Valid JSON that means the same, in which what printable() replaces is escaped.
std::string printable_json(std::string_view json);
/// Columns of printable text.
std::size_t columns_of(std::string_view text) noexcept;
/// Printable text of at most `columns` (1 or more), with an ellipsis for what is cut from the middle: long names that
/// differ often differ at the end.
TAKT_EXPORT std::string fit(const std::string& text, std::size_t columns);
/// The same, cut at the start: of a path, the end tells more.
TAKT_EXPORT std::string fit_end(const std::string& text, std::size_t columns);
/// Lines of at most `columns`, broken at spaces, or inside a word that is longer than a line. Those after the first
/// begin with two spaces.
std::vector<std::string> wrap(const std::string& text, std::size_t columns);

/// The elements with `separator` between them.
template <class Strings>
std::string join(const Strings& elements, std::string_view separator) {
  std::string out;
  for (const auto& each : elements) {
    if (&each != &*elements.begin()) { out += separator; }
    out += each;
  }
  return out;
}

/// "0 ns", "45.3 ns", "1.23 us", "12.3 ms", "312 s", "16.7 min", "72.0 h".
std::string human_time(double ns);
inline std::string human_ns(std::uint64_t ns) { return human_time(static_cast<double>(ns)); }
/// "12 345 678".
std::string grouped(std::uint64_t number);
/// "12 345" exactly, from a million on "1.23 M".
std::string human_count(std::uint64_t count);
/// A number for "a second": "12.3", "1 234", "1.23 M".
std::string human_rate(double per_second);
/// "512 B", "1.23 GB"; powers of 1 000.
std::string human_bytes(double bytes);
/// "32.0 mJ", "2.05 J", "1.23 kJ".
std::string human_energy(double joules);
/// "2026-03-01 10:15:30", in UTC.
std::string utc_text(std::int64_t unix_ns);
/// "2.0 %" of `whole`, "-" of nothing.
std::string percent(double part, double whole);

/// A time in the Gregorian calendar, UTC.
struct UtcTime {
  std::int64_t year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

/// \param unix_s in seconds since 1970, also before that. Not gmtime_r(), whose lock a forked child may find held for
/// ever.
TAKT_EXPORT UtcTime utc_time(std::int64_t unix_s) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
