// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tar.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <string>
#include <string_view>

using namespace takt::detail;

namespace {

/// Parses a header, preceded by its extended header, as a pax reader does.
TarEntry read_back(std::string_view header) {
  std::string records;
  TarEntry entry;
  REQUIRE(parse_tar_header(header.substr(0, kTarBlock), entry));
  if (entry.type == TarEntry::kExtension) {
    records = header.substr(kTarBlock, entry.bytes);
    header.remove_prefix(kTarBlock + tar_blocks(entry.bytes));
    REQUIRE(parse_tar_header(header.substr(0, kTarBlock), entry));
  }
  REQUIRE(header.size() == kTarBlock);
  REQUIRE(parse_tar_extension(records, entry));
  return entry;
}

/// Returns a path with parts of limited length.
std::string some_path(takt_test::Random& random) {
  std::string path;
  for (std::uint64_t parts = 1 + random.below(3); parts > 0; --parts) {
    path += (path.empty() ? "" : "/") + std::string(1 + random.below(255), static_cast<char>('a' + random.below(26)));
  }
  return path;
}

}  // namespace

TEST_CASE("a tar header restores its entry for any name length and time resolution") {
  takt_test::Random random(takt_test::test_seed());
  for (int round = 0; round < 2000; ++round) {
    TarEntry entry;
    entry.path = some_path(random);
    entry.type = random.chance(30) ? TarEntry::kDirectory : TarEntry::kFile;
    entry.bytes = entry.type == TarEntry::kFile ? random.below(std::uint64_t{1} << 33U) : 0;
    entry.changed_unix_ns = static_cast<std::int64_t>(random.below(4'000'000'000'000'000'000U));
    if (random.chance(20)) { entry.changed_unix_ns -= entry.changed_unix_ns % 1'000'000'000; }
    const TarEntry again = read_back(tar_header(entry));
    CHECK(again.path == entry.path + (entry.type == TarEntry::kDirectory ? "/" : ""));
    CHECK(again.type == entry.type);
    CHECK(again.bytes == entry.bytes);
    CHECK(again.changed_unix_ns == entry.changed_unix_ns);
  }
}

TEST_CASE("a short name and a whole second need one block, as in tar of 1988") {
  const std::string header = tar_header({"run/rank-0-0-1/journal-00000.tjl", TarEntry::kFile, 8, 1'000'000'000});
  REQUIRE(header.size() == kTarBlock);
  CHECK(header.substr(0, 33) == std::string("run/rank-0-0-1/journal-00000.tjl\0", 33));
  CHECK(header.substr(100, 36) == std::string("0000600\0"
                                              "0000000\0"
                                              "0000000\0"
                                              "00000000010\0",
                                              36));
  CHECK(header.substr(257, 8) == std::string("ustar\0"
                                             "00",
                                             8));
}

TEST_CASE("a header with a changed bit is refused") {
  const std::string header = tar_header({"run/rank-0-0-1/journal-00000.tjl", TarEntry::kFile, 8, 1'000'000'000});
  TarEntry entry;
  for (std::size_t bit = 0; bit < 8 * kTarBlock; ++bit) {
    if (bit / 8 >= 148 && bit / 8 < 156) { continue; }  // the checksum can be written in several ways
    std::string changed = header;
    changed[bit / 8] = static_cast<char>(static_cast<unsigned char>(changed[bit / 8]) ^ (1U << (bit % 8)));
    CHECK_FALSE(parse_tar_header(changed, entry));
  }
  CHECK_FALSE(parse_tar_header(std::string(kTarBlock, '\0'), entry));
  CHECK_FALSE(parse_tar_header(std::string(kTarBlock, ' '), entry));
}

TEST_CASE("unreadable extended headers are reported as such") {
  TarEntry entry;
  CHECK(parse_tar_extension("", entry));
  CHECK(parse_tar_extension("10 uid=12\n", entry));
  CHECK(parse_tar_extension("11 path=ab\n", entry));
  CHECK(entry.path == "ab");
  for (const char* const text : {"11 path=ab", "12 path=ab\n", "10 path=ab\n", "99999999999999999999 path=ab\n", "3 \n",
                                 "0 \n", "-11 path=ab\n", "8 pathab\n", "path=ab\n", "11\tpath=ab\n", "12 mtime=1x\n",
                                 "13 mtime=-12\n", "13 mtime=1.x\n", "30 mtime=99999999999999999999\n"}) {
    INFO(text);
    CHECK_FALSE(parse_tar_extension(text, entry));
  }
  REQUIRE(parse_tar_extension("30 mtime=1350244992.023960108\n", entry));
  CHECK(entry.changed_unix_ns == 1'350'244'992'023'960'108);
  REQUIRE(parse_tar_extension("16 mtime=1350.5\n", entry));
  CHECK(entry.changed_unix_ns == 1'350'500'000'000);
}
