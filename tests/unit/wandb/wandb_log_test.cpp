// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_log.hpp"

#include "trackers/protobuf.hpp"

#include "support/catch.hpp"
#include "support/scratch.hpp"
#include "support/wandb_reader.hpp"

#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

using takt::detail::append_wandb_record;
using takt::detail::crc32;
using takt::detail::wandb_log_header;
using takt::detail::WandbLog;
using takt_test::wandb_log_records;

namespace {

constexpr std::size_t kWandbLogBlock = 32768;

std::string record_of(std::size_t size) {
  std::string record(size, '\0');
  for (std::size_t at = 0; at < size; ++at) { record[at] = static_cast<char>('a' + (at * 7 + size) % 26); }
  return record;
}

/// Returns a log whose next byte has the number `position`, and its records.
std::string log_until(std::size_t position, std::vector<std::string>& records) {
  std::string log(wandb_log_header());
  records = {record_of(position - log.size() - 7)};
  append_wandb_record(log, log.size(), records[0]);
  return log;
}

}  // namespace

TEST_CASE("CRC-32: equals that of zlib") {
  CHECK(crc32("123456789") == 0xCBF43926U);
  CHECK(crc32("6789", crc32("12345")) == 0xCBF43926U);
  CHECK(crc32("") == 0);
}

TEST_CASE("W&B log: restores records of every size at every place near the end of a block") {
  const std::vector<std::size_t> sizes = {0,
                                          1,
                                          6,
                                          7,
                                          8,
                                          100,
                                          kWandbLogBlock - 14,
                                          kWandbLogBlock - 8,
                                          kWandbLogBlock - 7,
                                          kWandbLogBlock,
                                          2 * kWandbLogBlock,
                                          100'000};
  for (std::size_t before_end = 0; before_end <= 24; ++before_end) {
    for (const std::size_t size : sizes) {
      INFO(size << " bytes, " << before_end << " before the end");
      std::vector<std::string> expected;
      std::string log = log_until(kWandbLogBlock - before_end, expected);
      for (const std::size_t each : {size, std::size_t{3}}) {
        expected.push_back(record_of(each));
        append_wandb_record(log, log.size(), expected.back());
      }
      CHECK(wandb_log_records(log) == expected);
    }
  }
}

TEST_CASE("W&B log: a chunk header that just fits into a block has no content there") {
  std::vector<std::string> expected;
  std::string log = log_until(kWandbLogBlock - 7, expected);
  append_wandb_record(log, log.size(), "x");
  CHECK(log.substr(kWandbLogBlock - 3, 3) == std::string("\0\0\2", 3));
  CHECK(log.size() == kWandbLogBlock + 8);
}

TEST_CASE("W&B log: writes data refused by the disk later, and the file is complete") {
  takt_test::Scratch scratch;
  const std::string path = scratch.path("run-a.wandb");
  const std::string big = record_of(50'000);
  const int status = takt_test::in_child([&] {
    WandbLog log;
    if (!log.create(path)) { return 1; }
    log.append("first");
    if (!log.flush() || log.backlog() != 0) { return 2; }
    takt_test::limit_file_size(10'000);
    log.append(big);
    if (log.flush() || errno != EFBIG || log.backlog() < 40'000) { return 3; }
    log.append("last");
    if (log.flush()) { return 4; }
    takt_test::limit_file_size(0);
    return log.flush() && log.sync() && log.backlog() == 0 ? 0 : 5;
  });
  REQUIRE(status == 0);
  CHECK(wandb_log_records(takt_test::read_text(path)) == std::vector<std::string>{"first", big, "last"});
  CHECK(takt_test::mode_of(path) == 0600);
}

TEST_CASE("W&B log: does not touch an existing file or a link") {
  takt_test::Scratch scratch;
  takt_test::write_text(scratch.path("there"), "precious");
  REQUIRE(symlink(scratch.path("there").c_str(), scratch.path("link").c_str()) == 0);
  for (const char* const name : {"there", "link"}) {
    WandbLog log;
    CHECK_FALSE(log.create(scratch.path(name)));
    CHECK(errno == EEXIST);
  }
  CHECK(takt_test::read_text(scratch.path("there")) == "precious");
}
