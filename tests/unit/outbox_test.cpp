// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "outbox.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using namespace takt::detail;

namespace {

MetricRecord metric(std::uint64_t number) {
  MetricRecord record;
  record.name = number;
  record.ns = ~number;
  return record;
}

/// A record of `bytes`, filled with one number.
bool put_filled(Outbox& outbox, std::size_t bytes, std::uint64_t number) {
  void* place = outbox.reserve(bytes);
  if (place == nullptr) { return false; }
  Record head;
  head.bytes = static_cast<std::uint32_t>(bytes);
  head.type = Record::Type::events;
  std::memcpy(place, &head, sizeof(head));
  auto* words = static_cast<std::uint64_t*>(place);
  for (std::size_t word = 1; word < bytes / 8; ++word) { words[word] = number; }
  outbox.push(bytes);
  return true;
}

bool is_filled(const Record& record, std::uint64_t number) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(&record);
  for (std::size_t word = 1; word < record.bytes / 8; ++word) {
    if (words[word] != number) { return false; }
  }
  return true;
}

const Record* front(Outbox& outbox) { return outbox.front(outbox.end()); }

}  // namespace

TEST_CASE("Outbox: records come out whole and in order") {
  Outbox outbox(1024);
  REQUIRE(outbox.usable());
  REQUIRE(front(outbox) == nullptr);
  for (std::uint64_t number = 0; number < 5; ++number) { REQUIRE(outbox.put(metric(number), Record::Type::metric)); }
  for (std::uint64_t number = 0; number < 5; ++number) {
    const Record* record = front(outbox);
    REQUIRE(record != nullptr);
    REQUIRE(record->type == Record::Type::metric);
    REQUIRE(record->bytes == sizeof(MetricRecord));
    REQUIRE(static_cast<const MetricRecord*>(record)->name == number);
    outbox.pop();
  }
  REQUIRE(front(outbox) == nullptr);
}

TEST_CASE("Outbox: every size of record survives every place in the ring") {
  Outbox outbox(256);
  takt_test::Random random(2);
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t bytes = 16 + 8 * random.below(14);
    if (put_filled(outbox, bytes, written)) {
      ++written;
      sizes.push_back(bytes);
    }
    while (random.chance(60)) {
      const Record* record = front(outbox);
      if (record == nullptr) { break; }
      REQUIRE(record->bytes == sizes[read]);
      REQUIRE(is_filled(*record, read));
      outbox.pop();
      ++read;
    }
  }
  REQUIRE(read > 1000);
  REQUIRE(written + outbox.dropped() == 20'000);
}

TEST_CASE("Outbox: what does not fit is dropped and counted, and there is room after a pop") {
  Outbox outbox(128);
  REQUIRE(put_filled(outbox, 64, 1));
  REQUIRE(put_filled(outbox, 64, 2));
  REQUIRE(!put_filled(outbox, 16, 3));
  REQUIRE(outbox.dropped() == 1);
  REQUIRE(!put_filled(outbox, 256, 3));  // never
  REQUIRE(outbox.dropped() == 2);
  REQUIRE(is_filled(*front(outbox), 1));
  outbox.pop();
  REQUIRE(put_filled(outbox, 64, 4));
  outbox.pop();
  REQUIRE(is_filled(*front(outbox), 4));
}

TEST_CASE("Outbox: a record is never cut by the end of the ring") {
  Outbox outbox(128);
  REQUIRE(put_filled(outbox, 88, 1));
  outbox.pop();
  REQUIRE(put_filled(outbox, 64, 2));  // 40 bytes are left at the end: it stands at the beginning
  const Record* record = front(outbox);
  REQUIRE(record->bytes == 64);
  REQUIRE(is_filled(*record, 2));
}

TEST_CASE("Outbox: the reader stops at the end that it has asked for") {
  Outbox outbox(1024);
  outbox.put(metric(1), Record::Type::metric);
  const std::uint64_t end = outbox.end();
  outbox.put(metric(2), Record::Type::metric);
  REQUIRE(outbox.front(end) != nullptr);
  outbox.pop();
  REQUIRE(outbox.front(end) == nullptr);
  REQUIRE(front(outbox) != nullptr);
}

TEST_CASE("Outbox: of what is reserved only what is pushed is taken") {
  Outbox outbox(128);
  for (std::uint64_t number = 0; number < 8; ++number) {
    REQUIRE(outbox.reserve(number < 6 ? 40 : 16) != nullptr);
    REQUIRE(put_filled(outbox, 16, number));
  }
  for (std::uint64_t number = 0; number < 8; ++number) {
    REQUIRE(is_filled(*front(outbox), number));
    outbox.pop();
  }
}

TEST_CASE("Outbox: one thread may write while another reads") {
  Outbox outbox(512);
  constexpr std::uint64_t kRecords = takt_test::scaled(200'000);
  std::atomic<bool> done{false};
  std::uint64_t dropped = 0;
  std::thread writer([&] {
    takt_test::Random random(4);
    for (std::uint64_t number = 1; number <= kRecords; ++number) {
      const std::size_t bytes = 16 + 8 * random.below(20);
      bool first = true;
      while (!put_filled(outbox, bytes, number)) {
        dropped += first ? 1 : 0;
        first = false;
        std::this_thread::yield();
      }
    }
    done = true;
  });
  std::uint64_t last = 0;
  bool good = true;
  while (last < kRecords && good) {
    const std::uint64_t end = outbox.end();
    while (const Record* record = outbox.front(end)) {
      good = good && is_filled(*record, ++last);
      outbox.pop();
    }
    std::this_thread::yield();
  }
  writer.join();
  REQUIRE(good);
  REQUIRE(last == kRecords);
  REQUIRE(outbox.dropped() >= dropped);
}
