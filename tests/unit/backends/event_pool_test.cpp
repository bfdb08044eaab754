// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/detail/event_pool.hpp>
#include <takt/backends/detail/stream_space.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

using takt::detail::EventPool;
using takt::detail::SlotFate;
using takt::detail::StreamProgress;
using takt::detail::StreamTable;

namespace {

using Pool = EventPool<int>;

struct Counting {
  bool operator()(int& event) {
    event = ++made;
    return made <= max;
  }
  int made = 0;
  int max = 1 << 30;
};

}  // namespace

TEST_CASE("EventPool: gives each event once and creates none while some are free") {
  auto pool = std::make_unique<Pool>();
  Counting counting;
  REQUIRE(pool->take() == nullptr);
  REQUIRE(pool->grow(nullptr, std::ref(counting)));
  std::set<int> events;
  std::vector<Pool::Slot*> taken;
  while (Pool::Slot* slot = pool->take()) {
    events.insert(slot->event);
    taken.push_back(slot);
  }
  REQUIRE(events.size() == Pool::kChunk);
  REQUIRE(pool->free() == 0);
  for (Pool::Slot* slot : taken) { pool->give(*slot); }
  REQUIRE(pool->free() == Pool::kChunk);
  REQUIRE(pool->made() == Pool::kChunk);
}

TEST_CASE("EventPool: stops at its maximum and keeps the events that the driver created") {
  auto pool = std::make_unique<Pool>();
  Counting few;
  few.max = 10;
  REQUIRE(pool->grow(nullptr, std::ref(few)));
  REQUIRE(pool->made() == 10);
  REQUIRE_FALSE(pool->grow(nullptr, std::ref(few)));
  Counting counting;
  for (std::uint32_t chunk = 1; chunk < Pool::kChunks; ++chunk) { REQUIRE(pool->grow(nullptr, std::ref(counting))); }
  const int made = counting.made;
  REQUIRE_FALSE(pool->grow(nullptr, std::ref(counting)));
  REQUIRE(counting.made == made);
}

namespace {

SlotFate all_have_finished(const Pool::Slot&) { return SlotFate::finished; }

}  // namespace

TEST_CASE("EventPool: gives unfinished events again only after they have finished") {
  auto pool = std::make_unique<Pool>();
  Counting counting;
  pool->grow(nullptr, std::ref(counting));
  std::vector<Pool::Slot*> taken;
  while (Pool::Slot* slot = pool->take()) { taken.push_back(slot); }
  for (Pool::Slot* slot : taken) { pool->give_unfinished(*slot); }
  REQUIRE(pool->take() == nullptr);
  const auto even = [](const Pool::Slot& slot) {
    return slot.event % 2 == 0 ? SlotFate::finished : SlotFate::unfinished;
  };
  REQUIRE(pool->recycle(even) == Pool::kChunk / 2);
  while (Pool::Slot* slot = pool->take()) { REQUIRE(slot->event % 2 == 0); }
  const auto some_are_lost = [](const Pool::Slot& slot) {
    return slot.event % 4 == 1 ? SlotFate::finished : SlotFate::left_behind;
  };
  REQUIRE(pool->recycle(some_are_lost) == Pool::kChunk / 4);
  REQUIRE(pool->recycle(all_have_finished) == 0);
}

TEST_CASE("EventPool: threads that take, give and grow concurrently never share an event") {
  auto pool = std::make_unique<Pool>();
  std::atomic<int> made{0};
  std::atomic<int> shared{0};
  const auto work = [&] {
    std::vector<Pool::Slot*> mine;
    takt_test::Random random(takt_test::test_seed());
    for (int round = 0; round < takt_test::scaled(200'000); ++round) {
      Pool::Slot* slot = random.chance(55) ? pool->take() : nullptr;
      if (slot != nullptr) {
        shared += slot->uses.fetch_add(1) == 0 ? 0 : 1;
        mine.push_back(slot);
      } else if (!mine.empty()) {
        mine.back()->uses.fetch_sub(1);
        random.chance(90) ? pool->give(*mine.back()) : pool->give_unfinished(*mine.back());
        mine.pop_back();
      } else if (pool->recycle(all_have_finished) == 0 && pool->made() < 512) {
        pool->grow(nullptr, [&](int& event) {
          event = ++made;
          return true;
        });
      }
    }
    for (Pool::Slot* slot : mine) {
      slot->uses.fetch_sub(1);
      pool->give(*slot);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) { threads.emplace_back(work); }
  for (std::thread& thread : threads) { thread.join(); }
  pool->recycle(all_have_finished);
  REQUIRE(shared == 0);
  REQUIRE(pool->free() == pool->made());
}

TEST_CASE("StreamTable: keeps one place per stream while places are free") {
  auto table = std::make_unique<StreamTable>();
  std::set<StreamProgress*> places;
  for (std::uintptr_t stream = 1; stream <= 400; ++stream) {
    StreamProgress* place = table->find(stream * 0x1000);
    if (place == nullptr) { continue; }
    REQUIRE(place->stream == stream * 0x1000);
    REQUIRE(places.insert(place).second);
    REQUIRE(table->find(stream * 0x1000) == place);
  }
  REQUIRE(places.size() >= 200);
  for (std::uintptr_t stream = 1; stream <= 100'000; ++stream) { table->find(stream * 0x40); }
  REQUIRE(table->find(0x1000) == table->find(0x1000));
}

TEST_CASE("StreamProgress: never decreases") {
  StreamProgress progress;
  REQUIRE(progress.next_mark(3) == 1);
  REQUIRE(progress.next_mark(3) == 2);
  REQUIRE_FALSE(progress.has_finished(1));
  progress.set_finished(2);
  progress.set_finished(1);
  REQUIRE(progress.has_finished(2));
  REQUIRE_FALSE(progress.has_finished(3));
}

TEST_CASE("StreamProgress: limits the numbers in flight and knows the oldest watched mark") {
  StreamProgress progress;
  CHECK(progress.oldest_watched().number == 0);
  for (std::uint32_t number = 1; number <= 64; ++number) {
    REQUIRE(progress.next_mark(64) == number);
    if (number != 20) { progress.watch(number, 1000 + number, 64); }  // number 20 was refused
  }
  CHECK(progress.next_mark(64) == 0);
  for (std::uint32_t finished = 0; finished < 64; ++finished) {
    progress.set_finished(finished);
    const StreamProgress::Watched oldest = progress.oldest_watched();
    if (finished >= 57) {
      CHECK(oldest.number == 0);
      continue;
    }
    CHECK(oldest.number > finished);
    CHECK(oldest.number <= finished + 9);
    CHECK(oldest.index == 1000 + oldest.number);
  }
  progress.set_finished(64);
  CHECK(progress.next_mark(64) == 65);
}

TEST_CASE("StreamTable: never merges two streams and limits the number of places") {
  const auto table = std::make_unique<takt::detail::StreamTable>();
  std::set<takt::detail::StreamProgress*> places;
  unsigned found = 0;
  for (std::uintptr_t stream = 0x1000; stream != 0x1000 + 1000 * 64; stream += 64) {
    takt::detail::StreamProgress* const place = table->find(stream);
    CHECK(place == table->find(stream));
    if (place == nullptr) { continue; }
    CHECK(places.insert(place).second);
    ++found;
  }
  CHECK(found >= 256);
  CHECK(found <= takt::detail::StreamTable::kPlaces);
}
