// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_format.hpp"
#include "base/encoding.hpp"
#include "journal/journal_records.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace takt::detail;
using namespace takt_test;

TEST_CASE("crc32c: both implementations give the check value, also in pieces") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c_portable("123456789") == 0xE3069283U);
  CHECK(crc32c("") == 0);
  Random random(test_seed());
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random.below(100), ' ');
    for (char& each : bytes) { each = static_cast<char>(random.next()); }
    const std::size_t cut = random.below(bytes.size() + 1);
    const std::uint32_t whole = crc32c(bytes);
    CHECK(whole == crc32c_portable(bytes));
    CHECK(whole == crc32c(bytes.substr(cut), crc32c(bytes.substr(0, cut))));
  }
}

TEST_CASE("journal format: restores numbers at their limits") {
  std::string text;
  Encoder encoder(text);
  const std::vector<std::int64_t> numbers = {
      0, -1, 1, 63, 64, -64, -65, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  for (const std::int64_t each : numbers) { encoder.number(each); }
  encoder.number(std::numeric_limits<std::uint64_t>::max());
  encoder.real(-0.5);
  Decoder decoder(text);
  for (const std::int64_t each : numbers) {
    std::int64_t read = 7;
    decoder.number(read);
    CHECK(read == each);
  }
  std::uint64_t largest = 0;
  double half = 0;
  decoder.number(largest);
  decoder.real(half);
  CHECK(largest == std::numeric_limits<std::uint64_t>::max());
  CHECK(half == -0.5);
  CHECK(decoder.ok());
}

TEST_CASE("journal format: a missing value or one that does not fit fails and changes nothing") {
  std::string text;
  Encoder encoder(text);
  encoder.number(std::uint64_t{1} << 32U);
  std::uint32_t narrow = 7;
  Decoder of_large(text);
  of_large.number(narrow);
  CHECK_FALSE(of_large.ok());
  CHECK(narrow == 7);

  Decoder too_long(std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10));
  std::uint64_t wide = 7;
  too_long.number(wide);
  CHECK_FALSE(too_long.ok());
  CHECK(wide == 7);

  Decoder short_text(
      std::string_view("\x05"
                       "abc",
                       4));
  std::string word = "before";
  short_text.text(word);
  CHECK_FALSE(short_text.ok());
  CHECK(word == "before");

  Decoder endless_list(std::string_view("\xFF\xFF\xFF\x7F", 4));
  std::vector<std::uint32_t> values;
  endless_list.list(values, [](auto& inner, auto& value) { inner.number(value); });
  CHECK_FALSE(endless_list.ok());
  CHECK(values.empty());
}

TEST_CASE("journal format: names of segments") {
  CHECK(segment_name(7) == "journal-00007.tjl");
  CHECK(segment_name(123456) == "journal-123456.tjl");
  std::uint32_t number = 0;
  CHECK(parse_segment_name("journal-00007.tjl", number));
  CHECK(number == 7);
  for (const char* other :
       {"journal-.tjl", "journal-00007.tjl.old", "journal-0000x.tjl", "summary.json", "", "journal-99999999999.tjl"}) {
    CHECK_FALSE(parse_segment_name(other, number));
  }
}

TEST_CASE("journal format: a header has version and byte order") {
  SegmentHeader header;
  header.number = 3;
  header.journal = 0x0123456789ABCDEFU;
  header.start_unix_ns = -4;
  header.first_sequence = 99;
  std::string bytes;
  append_header(bytes, header);
  REQUIRE(bytes.size() == kSegmentHeaderBytes);
  SegmentHeader read;
  REQUIRE(parse_header(bytes, read) == HeaderState::good);
  CHECK(read.number == 3);
  CHECK(read.journal == header.journal);
  CHECK(read.start_unix_ns == -4);
  CHECK(read.first_sequence == 99);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    CHECK(parse_header(flipped, read) == HeaderState::damaged);
  }
}

TEST_CASE("journal format: time lines are written as documented") {
  takt::TimeLineInfo line;
  line.device = "cuda";
  line.number = 1;
  line.clock_error_ns = 2;
  line.spans = 3;
  line.clamped = 4;
  line.steps = 5;
  takt::Overlap& overlap = line.overlap;
  overlap.span_ns = 6;
  overlap.compute_ns = 7;
  overlap.comm_ns = 8;
  overlap.io_ns = 9;
  overlap.undecided = 13;
  overlap.comm_exposed_ns = 14;
  overlap.io_exposed_ns = 15;
  const TimeLinesRecord record{{line}};
  std::string bytes;
  Encoder encoder(bytes);
  visit(encoder, record);
  CHECK(bytes == std::string("\x01\x04"
                             "cuda"
                             "\x01\x04\x03\x04\x05"
                             "\x0C\x0E\x10\x12"
                             "\0\0\0"
                             "\x0D"
                             "\x1C\x1E\x01",
                             22));
}

TEST_CASE("journal format: reads time lines of earlier versions without the fields that these lacked") {
  TimeLinesRecord record{{takt::TimeLineInfo(), takt::TimeLineInfo()}};
  record.lines[1].overlap.comm_exposed_ns = 14;
  std::string bytes;
  Encoder encoder(bytes);
  visit(encoder, record);
  for (const std::size_t missing : {0U, 6U}) {
    Decoder decoder(std::string_view(bytes).substr(0, bytes.size() - missing));
    TimeLinesRecord read;
    visit(decoder, read);
    REQUIRE(decoder.ok());
    REQUIRE(read.lines.size() == 2);
    CHECK_FALSE(read.lines[0].overlap.comm_exposed_ns);
    CHECK(read.lines[1].overlap.comm_exposed_ns == (missing == 0 ? std::optional<std::int64_t>(14) : std::nullopt));
  }
}
