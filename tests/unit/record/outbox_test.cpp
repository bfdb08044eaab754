// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/outbox.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace takt::detail;

namespace {

constexpr std::size_t kBlock = OutboxPool::kBlockBytes;
constexpr auto kSpan = Record::Type::span;

/// Puts a record of `bytes` filled with one number.
bool put_filled(Outbox& outbox, std::size_t bytes, std::uint64_t number) {
  void* place = outbox.reserve(bytes, kSpan);
  if (place == nullptr) { return false; }
  Record head;
  head.bytes = static_cast<std::uint16_t>(bytes);
  head.type = kSpan;
  std::memcpy(place, &head, sizeof(head));
  auto* words = static_cast<std::uint64_t*>(place);
  for (std::size_t word = 1; word < bytes / 8; ++word) { words[word] = number; }
  outbox.push(bytes);
  return true;
}

bool is_filled(const Record& record, std::uint64_t number) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(&record);
  for (std::size_t word = 1; word < record.bytes / 8U; ++word) {
    if (words[word] != number) { return false; }
  }
  return true;
}

const Record* front(Outbox& outbox) { return outbox.front(outbox.end()); }

/// Reads all records, oldest first, and returns their number.
std::uint64_t read_filled(Outbox& outbox, std::uint64_t first) {
  std::uint64_t count = 0;
  const std::uint64_t end = outbox.end();
  for (; const Record* record = outbox.front(end); ++count) {
    REQUIRE(is_filled(*record, first + count));
    outbox.pop();
  }
  return count;
}

}  // namespace

TEST_CASE("Outbox: records are read whole and in order") {
  OutboxPool pool(kBlock);
  Outbox outbox(pool);
  REQUIRE(outbox.usable());
  REQUIRE(front(outbox) == nullptr);
  for (std::uint64_t number = 0; number < 5; ++number) { REQUIRE(put_filled(outbox, 40, number)); }
  REQUIRE(read_filled(outbox, 0) == 5);
}

TEST_CASE("Outbox: every record size works at every place in a block, and blocks are reused") {
  OutboxPool pool(4 * kBlock);
  Outbox outbox(pool);
  takt_test::Random random(2);
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t bytes = 16 + 8 * random.below(300);
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
  REQUIRE(written + outbox.dropped(kSpan) == 20'000);
}

TEST_CASE("Outbox: drops and counts records by type when full, and accepts more after a pop") {
  OutboxPool pool(2 * kBlock);
  Outbox outbox(pool);
  std::uint64_t written = 0;
  while (put_filled(outbox, 1024, written)) { ++written; }
  REQUIRE(written == 6);  // three fit into a block besides its header
  REQUIRE(outbox.dropped(kSpan) == 1);
  REQUIRE(outbox.reserve(2000, Record::Type::row) == nullptr);
  REQUIRE(outbox.reserve(Outbox::kMaxBytes + 8, Record::Type::row) == nullptr);  // never fits
  REQUIRE(outbox.dropped(Record::Type::row) == 2);
  REQUIRE(outbox.dropped(kSpan) == 1);
  REQUIRE(read_filled(outbox, 0) == 6);
  REQUIRE(put_filled(outbox, 1024, 6));
  REQUIRE(read_filled(outbox, 6) == 1);
}

TEST_CASE("Outbox: the reader stops at the requested end") {
  OutboxPool pool(kBlock);
  Outbox outbox(pool);
  put_filled(outbox, 40, 1);
  const std::uint64_t end = outbox.end();
  put_filled(outbox, 40, 2);
  REQUIRE(outbox.front(end) != nullptr);
  outbox.pop();
  REQUIRE(outbox.front(end) == nullptr);
  REQUIRE(front(outbox) != nullptr);
}

TEST_CASE("Outbox: of reserved space only what is pushed is used") {
  OutboxPool pool(kBlock);
  Outbox outbox(pool);
  for (std::uint64_t number = 0; number < 200; ++number) {
    REQUIRE(outbox.reserve(800, kSpan) != nullptr);
    REQUIRE(put_filled(outbox, 16, number));
  }
  REQUIRE(read_filled(outbox, 0) == 200);
}

TEST_CASE("Outbox: metrics are read as written, and close ones take two words") {
  OutboxPool pool(kBlock * 64);
  Outbox outbox(pool);
  takt_test::Random random(3);
  std::vector<MetricRecord> put;
  MetricRecord metric;
  for (int round = 0; round < 5'000; ++round) {
    metric.name = 1 + random.below(2048);
    metric.value = static_cast<double>(round) / 7;
    if (random.chance(3)) { metric.step = static_cast<std::int64_t>(random.below(1'000'000)) - 500'000; }
    if (random.chance(2)) { metric.ns -= random.below(metric.ns + 1); }  // another core's clock
    metric.ns += random.chance(5) ? random.below(std::uint64_t{1} << 34U) : random.below(10'000);
    REQUIRE(outbox.put_metric(metric));
    put.push_back(metric);
  }
  std::size_t packed = 0;
  for (const MetricRecord& each : put) {
    const Record* record = front(outbox);
    REQUIRE(record != nullptr);
    packed += record->bytes == sizeof(PackedMetric) ? 1 : 0;
    const MetricRecord& got = outbox.metric(*record);
    REQUIRE(got.name == each.name);
    REQUIRE(got.value == each.value);
    REQUIRE(got.step == each.step);
    REQUIRE(got.ns == each.ns);
    outbox.pop();
  }
  REQUIRE(front(outbox) == nullptr);
  REQUIRE(packed > put.size() * 8 / 10);
}

TEST_CASE("Outbox: a dropped metric does not change later ones") {
  OutboxPool pool(2 * kBlock);
  Outbox outbox(pool);
  MetricRecord metric;
  metric.name = 1;
  metric.ns = 1'000'000'000'000;
  while (outbox.put_metric(metric)) { metric.ns += 10; }
  const std::uint64_t last = metric.ns - 10;
  metric.ns += 1'000;
  metric.step = 5;
  REQUIRE(!outbox.put_metric(metric));
  const std::uint64_t end = outbox.end();
  std::uint64_t newest = 0;
  while (const Record* record = outbox.front(end)) {
    newest = outbox.metric(*record).ns;
    outbox.pop();
  }
  REQUIRE(newest == last);
  metric.ns += 1'000;
  REQUIRE(outbox.put_metric(metric));
  const MetricRecord& got = outbox.metric(*front(outbox));
  REQUIRE(got.ns == metric.ns);
  REQUIRE(got.step == 5);
}

TEST_CASE("PackedCell: small values take a word, others four, and both are restored exactly") {
  const CellRecord cells[] = {{0, 1, 0, -1},
                              {4095, 65'535, (std::int64_t{1} << 36) - 1, -1},
                              {7, 65'536, 5, -1},
                              {7, 3, std::int64_t{1} << 36, -1},
                              {7, 0, 0, 12},
                              {7, 1, 10, 0},
                              {CellRecord::kOther, 9, 10, -1}};
  std::vector<std::uint64_t> words(64);
  std::uint64_t* to = words.data();
  for (const CellRecord& cell : cells) { to = PackedCell::put(to, cell); }
  REQUIRE(to - words.data() == 2 + 5 * 4);
  const std::uint64_t* from = words.data();
  for (const CellRecord& cell : cells) {
    CellRecord got;
    from = PackedCell::get(from, got);
    REQUIRE(got.node == cell.node);
    REQUIRE(got.calls == cell.calls);
    REQUIRE(got.host_ns == cell.host_ns);
    REQUIRE(got.device_ns == cell.device_ns);
  }
  REQUIRE(from == to);
}

TEST_CASE("OutboxPool: one outbox may use what others leave, and returns it") {
  OutboxPool pool(16 * kBlock);
  Outbox quiet(pool);
  std::uint64_t written = 0;
  {
    Outbox busy(pool);
    while (put_filled(busy, 1000, written)) { ++written; }
    REQUIRE(written == 15 * 4);
    REQUIRE(pool.used() == 16 * kBlock);
    REQUIRE(put_filled(quiet, 1000, 0));  // its first block is reserved
  }
  REQUIRE(pool.used() == kBlock);
  pool.set_limit(32 * kBlock);
  Outbox another(pool);
  for (written = 0; put_filled(another, 1000, written);) { ++written; }
  REQUIRE(written == 31 * 4);
  pool.set_limit(kBlock);
  REQUIRE(read_filled(another, 0) == written);
  REQUIRE(put_filled(quiet, 1000, 1));
  Outbox refused(pool);  // in addition to the two
  REQUIRE(!refused.usable());
}

TEST_CASE("OutboxPool: threads never get the same block twice") {
  OutboxPool pool(8 * kBlock);
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = takt_test::scaled(100'000);
  std::atomic<bool> good{true};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&pool, &good, thread] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        OutboxPool::Block* block = pool.take();
        if (block == nullptr) { continue; }
        block->bytes = static_cast<std::uint32_t>(thread);
        std::memset(block->data, thread, 64);
        if (round % 64 == 0) { std::this_thread::yield(); }
        for (int byte = 0; byte < 64; ++byte) {
          if (block->data[byte] != thread) { good = false; }
        }
        pool.give(block);
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  REQUIRE(good);
  REQUIRE(pool.used() == 0);
}

TEST_CASE("Outbox: one thread may write while another reads") {
  OutboxPool pool(3 * kBlock);
  Outbox outbox(pool);
  constexpr std::uint64_t kRecords = takt_test::scaled(200'000);
  std::uint64_t dropped = 0;
  std::thread writer([&] {
    takt_test::Random random(4);
    for (std::uint64_t number = 1; number <= kRecords; ++number) {
      const std::size_t bytes = 16 + 8 * random.below(60);
      bool first = true;
      while (!put_filled(outbox, bytes, number)) {
        dropped += first ? 1 : 0;
        first = false;
        std::this_thread::yield();
      }
    }
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
  REQUIRE(outbox.dropped(kSpan) >= dropped);
}
