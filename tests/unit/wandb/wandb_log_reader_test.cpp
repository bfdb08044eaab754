// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_log.hpp"

#include "support/catch.hpp"
#include "support/scratch.hpp"

#include <cstddef>
#include <string>
#include <vector>

using takt::detail::WandbLogReader;
using Found = WandbLogReader::Found;
using namespace takt_test;

namespace {

constexpr std::size_t kBlock = 32768;

std::string with_records(const std::vector<std::string>& records) {
  std::string log(takt::detail::wandb_log_header());
  for (const std::string& each : records) { takt::detail::append_wandb_record(log, log.size(), each); }
  return log;
}

}  // namespace

TEST_CASE("W&B log reader: reads records of every size across the ends of blocks") {
  std::vector<std::string> records;
  for (std::size_t before_end = 0; before_end <= 16; ++before_end) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, kBlock, 3 * kBlock, std::size_t{600'000}}) {
      const std::size_t at = with_records(records).size() % kBlock;
      if (at + 200 < kBlock - before_end) { records.emplace_back(kBlock - before_end - at - 7, 'f'); }
      records.emplace_back(size, static_cast<char>('a' + size % 26));
    }
  }
  const Scratch scratch;
  const std::string file = scratch.path("log");
  const std::string bytes = with_records(records);
  write_text(file, bytes);
  WandbLogReader reader(file);
  std::string record;
  for (const std::string& each : records) {
    REQUIRE(reader.next(record) == Found::record);
    REQUIRE(record == each);
  }
  CHECK(reader.next(record) == Found::nothing);
  CHECK(reader.position() == bytes.size());
}

TEST_CASE("W&B log reader: finds each record of a growing log when it is complete") {
  const std::vector<std::string> records = {"one", "", std::string(40'000, 'x'), "four"};
  const std::string whole = with_records(records);
  const Scratch scratch;
  const std::string file = scratch.path("log");
  WandbLogReader reader(file);
  std::string record;
  CHECK(reader.next(record) == Found::damage);  // no file exists
  std::size_t found = 0;
  for (std::size_t bytes = 0; bytes <= whole.size();
       bytes = bytes < 100 || bytes + 1100 > whole.size() ? bytes + 1 : bytes + 997) {
    write_text(file, whole.substr(0, bytes));
    Found what = Found::record;
    while ((what = reader.next(record)) == Found::record) { CHECK(record == records.at(found++)); }
    REQUIRE(what == Found::nothing);
  }
  CHECK(found == records.size());
}

TEST_CASE("W&B log reader: reports other files and damage") {
  const Scratch scratch;
  const std::string file = scratch.path("log");
  std::string bytes = with_records({"one", "two"});
  const std::size_t at = GENERATE(range<std::size_t>(0, 27));
  bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
  write_text(file, bytes);
  WandbLogReader reader(file);
  std::string record;
  std::vector<std::string> read;
  Found found = Found::record;
  while ((found = reader.next(record)) == Found::record) { read.push_back(record); }
  // A length that is too large looks like an incomplete record.
  CHECK((found == Found::damage || found == Found::nothing));
  CHECK((found == Found::damage) == !reader.problem().empty());
  CHECK(read.size() < 2);
}
