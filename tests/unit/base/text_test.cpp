// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.hpp"

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace takt::detail;
using Wrapped = std::vector<std::string>;

TEST_CASE("times have three digits and change unit before a fourth") {
  CHECK(human_time(0) == "0 ns");
  CHECK(human_time(7) == "7 ns");
  CHECK(human_time(45.31) == "45.3 ns");
  CHECK(human_time(999) == "999 ns");
  CHECK(human_time(999.6) == "1.00 us");
  CHECK(human_time(1234) == "1.23 us");
  CHECK(human_time(9'996) == "10.0 us");
  CHECK(human_time(99'960) == "100 us");
  CHECK(human_time(999'499) == "999 us");
  CHECK(human_time(999'500) == "1.00 ms");
  CHECK(human_time(12.34e6) == "12.3 ms");
  CHECK(human_time(312e9) == "312 s");
  CHECK(human_time(1000e9) == "16.7 min");
  CHECK(human_time(259'200e9) == "72.0 h");
  CHECK(human_time(static_cast<double>(std::numeric_limits<std::uint64_t>::max())) == "5124096 h");
}

TEST_CASE("counts are exact below a million") {
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1000) == "1 000");
  CHECK(human_count(999'999) == "999 999");
  CHECK(human_count(1'234'567) == "1.23 M");
  CHECK(human_count(std::numeric_limits<std::uint64_t>::max()) == "18.4 E");
}

TEST_CASE("rates, bytes and shares are short and never round to zero") {
  CHECK(human_rate(0.5) == "0.50");
  CHECK(human_rate(12.34) == "12.3");
  CHECK(human_rate(99.96) == "100");
  CHECK(human_rate(1234.4) == "1 234");
  CHECK(human_rate(999'999.6) == "1.00 M");
  CHECK(human_bytes(512) == "512 B");
  CHECK(human_bytes(999.6) == "1.00 kB");
  CHECK(human_bytes(1.234e9) == "1.23 GB");
  CHECK(percent(1, 4) == "25.0 %");
  CHECK(percent(0, 4) == "0.0 %");
  CHECK(percent(1, 100'000) == "0.001 %");
  CHECK(percent(3, 2) == "150.0 %");
  CHECK(percent(1, 0) == "-");
}

TEST_CASE("text for a terminal contains no control characters and is UTF-8") {
  CHECK(printable("plain \xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80") == "plain \xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80");
  CHECK(printable("a\x1b[2Jb\nc\x7f") == "a?[2Jb?c?");
  CHECK(printable("C1 \xC2\x9B, not \xC2\xA0") == "C1 ?, not \xC2\xA0");
  const std::string bad = GENERATE("\xFF", "\x80", "\xC3", "\xC0", "\xF5");
  CHECK(printable(bad + "x") == "\xEF\xBF\xBDx");
}

TEST_CASE("text for a terminal contains no bidirectional controls and no invisible characters") {
  const std::string unseen = GENERATE("\xE2\x80\xAE", "\xE2\x80\xAA", "\xE2\x81\xA6", "\xE2\x81\xA9", "\xE2\x80\x8B",
                                      "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xD8\x9C",
                                      "\xC2\xAD", "\xEF\xBB\xBF", "\xE2\x81\xA0", "\xE3\x85\xA4", "\xF3\xA0\x80\x81");
  CHECK(printable("a" + unseen + "b") == "a?b");
  CHECK(printable_lines("a" + unseen + "\nb" + unseen + "\n") == "a?\nb?\n");
}

TEST_CASE("terminal-safe JSON escapes control sequences and keeps its value") {
  CHECK(printable_json("{\"a\": \"\xE2\x80\xAE \xC2\x9B \x7F \xF3\xA0\x80\x81 \xC3\xA9\",\n 1}") ==
        "{\"a\": \"\\u202e \\u009b \\u007f \\udb40\\udc01 \xC3\xA9\",\n 1}");
  CHECK(printable_json("\xE2\x80\x90 \xE2\x80\xA7") == "\xE2\x80\x90 \xE2\x80\xA7");  // neighbours of these
}

TEST_CASE("malformed sequences do not hide the text after them") {
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(printable("\xE0\x80\x80") == replaced + replaced + replaced);                 // overlong
  CHECK(printable("\xED\xA0\x80") == replaced + replaced + replaced);                 // a surrogate
  CHECK(printable("\xF4\x90\x80\x80") == replaced + replaced + replaced + replaced);  // beyond U+10FFFF
  CHECK(printable("\xE6\x97") == replaced + replaced);
  CHECK(printable("\xE6\x97"
                  "A") == replaced + replaced + "A");
}

TEST_CASE("text is cut between code points, with an ellipsis") {
  const std::string text = "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E";
  CHECK(columns_of(text) == 6);  // wide characters
  CHECK(fit(text, 6) == text);
  CHECK(fit(text, 5) == "\xE6\x97\xA5\xE2\x80\xA6\xE8\xAA\x9E");
  CHECK(fit(text, 3) == "\xE2\x80\xA6");  // never half a character
  CHECK(fit("encoder.layers.10.attention", 12) == "encode\xE2\x80\xA6ntion");
  CHECK(fit("encoder.layers.10.attention", 11) == "encod\xE2\x80\xA6ntion");
  CHECK(fit(text, 1) == "\xE2\x80\xA6");
  CHECK(fit_end(text, 6) == text);
  CHECK(fit_end(text, 4) == "\xE2\x80\xA6\xE8\xAA\x9E");
}

TEST_CASE("column counts match those of a terminal") {
  CHECK(columns_of("") == 0);
  CHECK(columns_of("\xC3\xA9") == 1);                  // e with an acute accent, as one code point
  CHECK(columns_of("e\xCC\x81") == 1);                 // the same as two
  CHECK(columns_of("\xED\x95\x9C\xEF\xBC\xA1") == 4);  // Hangul, and a wide A
  CHECK(columns_of("\xF0\x9F\x9A\x80") == 2);          // a rocket
  CHECK(columns_of("\xF0\xA0\x80\x80") == 2);          // an ideograph beyond U+FFFF
  CHECK(columns_of("\xEF\xBF\xBD") == 1);              // U+FFFD
  const std::string accents =
      "e\xCC\x81"
      "e\xCC\x81"
      "e\xCC\x81";
  CHECK(fit(accents, 2) == "e\xCC\x81\xE2\x80\xA6");  // a combining mark stays with its letter
}

TEST_CASE("lines break at spaces, inside words only if these are too long, and never before a unit") {
  CHECK(wrap("", 10) == Wrapped{""});
  CHECK(wrap("exactly 10", 10) == Wrapped{"exactly 10"});
  CHECK(wrap("one two three", 9) == Wrapped{"one two", "  three"});
  CHECK(wrap("rate is 1 234 us/s here", 14) == Wrapped{"rate is", "  1 234 us/s", "  here"});
  CHECK(wrap("abcdefghijklm", 6) == Wrapped{"abcdef", "  ghij", "  klm"});
  CHECK(wrap("\xC3\xA9\xC3\xA9\xC3\xA9", 3) == Wrapped{"\xC3\xA9\xC3\xA9\xC3\xA9"});
  CHECK(wrap("\xE6\x97\xA5\xE6\x9C\xAC", 3) == Wrapped{"\xE6\x97\xA5", "  \xE6\x9C\xAC"});
}

// Helpers that tests of sentences and reports use.

TEST_CASE("mentions() finds facts as separate words and numbers in any order") {
  using takt_test::mentions;
  const std::string text = "rank 12 takes 1.5 ms in Epoch/Batch (5.0 %)";
  CHECK(mentions(text, {"Epoch/Batch", "1.5 ms", "rank 12", "5.0 %", "12"}));
  for (const char* const part : {"2", "1", "5", "1.5 m", "Batc", "ran", "0 %x"}) {
    INFO(part);
    CHECK_FALSE(mentions(text, {part}));
  }
  CHECK_FALSE(mentions(text, {"rank 12", "Comm"}));
  CHECK(mentions(text, {}));
  CHECK(mentions("12 at its end: 12.", {"12"}));
  CHECK(takt_test::line_mentions("a 1\nb 2\n", {"2", "b"}));
  CHECK_FALSE(takt_test::line_mentions("a 1\nb 2\n", {"a", "2"}));
  CHECK(takt_test::new_lines("a\nb\n", "b\nc\na\nd\n") == "c\nd\n");
}

TEST_CASE("differing_lines() shows differences with one line of context") {
  const std::string before = "a\nb\nc\nd\ne\nf\n";
  CHECK(takt_test::differing_lines(before, before).empty());
  CHECK(takt_test::differing_lines(before, "a\nb\nc\nX\ne\nf\n") == "  c\n- d\n+ X\n  e\n");
  CHECK(takt_test::differing_lines("", "a\n") == "+ a\n");
}
