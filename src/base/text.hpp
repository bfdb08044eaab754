// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
std::string printable(std::string_view text);
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
std::string fit(const std::string& text, std::size_t columns);
/// The same, cut at the start: of a path, the end tells more.
std::string fit_end(const std::string& text, std::size_t columns);
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

}  // namespace detail
TAKT_END_NAMESPACE
