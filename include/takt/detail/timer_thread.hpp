// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/notices.hpp>
#include <takt/detail/thread_table.hpp>
#include <takt/detail/timer_results.hpp>
#include <takt/detail/tree.hpp>
#include <takt/key.hpp>

#include <atomic>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The regions that one thread has timed with one Timer.
struct TimerThread {
  static constexpr std::uint32_t kFewPlaces = 64;
  static constexpr std::uint32_t kNowhere = Tree::kMaxOpen;

  /// A region that has begun. Whoever ends it claims it first, so that it ends once.
  struct Open {
    static constexpr std::uint32_t kClaimed = ~std::uint32_t{0};
    std::atomic<std::uint32_t> id{0};  // 0: free
    std::uint64_t order = 0;
    std::uint64_t key = 0;
    Mark mark = 0;
    bool marked = false;
  };

  TimerThread() noexcept : tree(Epoch.hash(), Batch.hash()) { tree.set_warmup(0); }  // its figures are of every call
  ~TimerThread() {
    for (TimedKey* key = keys.load(std::memory_order_relaxed); key != nullptr;) {
      TimedKey* const following = key->next;
      deallocate(key, nullptr);
      key = following;
    }
    delete[] many.load(std::memory_order_relaxed);
  }

  /// Owner. nullptr without memory.
  TimedKey* key_of(std::uint64_t hash, const char* name = "?") noexcept {
    for (TimedKey* key = keys.load(std::memory_order_relaxed); key != nullptr; key = key->next) {
      if (key->hash == hash) { return key; }
    }
    TimedKey* key = allocate<TimedKey>(nullptr);
    if (key == nullptr) { return nullptr; }
    key->hash = hash;
    for (std::size_t at = 0; at + 1 < sizeof(key->name) && *name != 0; ++at, ++name) {
      key->name[at] = *name;
      key->name[at + 1] = 0;
    }
    key->next = keys.load(std::memory_order_relaxed);
    keys.store(key, std::memory_order_release);  // pairs with find()
    return key;
  }
  /// Any thread.
  const TimedKey* find(std::uint64_t hash) const noexcept {
    const TimedKey* key = keys.load(std::memory_order_acquire);  // pairs with key_of()
    while (key != nullptr && key->hash != hash) { key = key->next; }
    return key;
  }

  std::uint32_t new_id() noexcept {
    do {
      wrapped = wrapped || last_id + 1 == Tree::Frame::kTooDeep;
      last_id = last_id + 1 == Tree::Frame::kTooDeep ? 1 : last_id + 1;
    } while (wrapped && tree.is_open(last_id));
    return last_id;
  }
  Open& open_at(std::uint32_t place) noexcept {
    // Pairs with the release in free_place().
    return place < kFewPlaces ? few[place] : many.load(std::memory_order_acquire)[place - kFewPlaces];
  }
  /// Owner: a place for one more open region, kNowhere if there are too many or there is no memory.
  std::uint32_t free_place() noexcept {
    std::uint32_t place = 0;
    // Pairs with claim().
    while (place != places && open_at(place).id.load(std::memory_order_acquire) != 0) { ++place; }
    if (place != places || place == kNowhere) { return place; }
    if (place == kFewPlaces && many.load(std::memory_order_relaxed) == nullptr) {
      auto* const made = new (std::nothrow) Open[kNowhere - kFewPlaces];
      if (made == nullptr) { return kNowhere; }
      many.store(made, std::memory_order_release);  // pairs with open_at()
    }
    return places++;
  }
  /// Owner: the place of the innermost open region of a key, kNowhere if there is none.
  std::uint32_t find_open(std::uint64_t hash) noexcept {
    std::uint32_t found = kNowhere;
    for (std::uint32_t place = 0; place != places; ++place) {
      const Open& open = open_at(place);
      const std::uint32_t id = open.id.load(std::memory_order_relaxed);
      if (id == 0 || id == Open::kClaimed || open.key != hash) { continue; }
      if (found == kNowhere || open.order > open_at(found).order) { found = place; }
    }
    return found;
  }
  /// Any thread: takes the region `id` from its place; false if it has ended.
  bool claim(std::uint32_t place, std::uint32_t id, Mark& mark, bool& marked) noexcept {
    if (place >= kNowhere || id == 0) { return false; }
    Open& from = open_at(place);
    // Pairs with the release of start_at().
    if (!from.id.compare_exchange_strong(id, Open::kClaimed, std::memory_order_acq_rel)) { return false; }
    mark = from.mark;
    marked = from.marked;
    from.id.store(0, std::memory_order_release);  // pairs with free_place()
    return true;
  }
  /// Owner, or the thread that takes over its books: takes regions off the stack that ended on another thread.
  void take_notices() noexcept {
    if (!notices.any()) { return; }
    Notices::List ended;
    notices.read(ended);
    tree.set_position(position++);
    for (unsigned at = 0; at < ended.size(); ++at) {
      const std::uint32_t id = ended[at].id;
      Tree::Frame taken;
      tree.detach(id, taken);
      notices.remove(ended[at]);
      if (lap_id == id) { lap_id = 0; }
    }
  }

  const ThreadToken* token = nullptr;
  std::atomic<std::uint64_t> number{0};
  TimerThread* next = nullptr;
  Tree tree;
  std::uint64_t position = 0;
  std::uint32_t last_id = 0;
  std::uint32_t lap_id = 0;  // of the region that lap() began, 0: none
  std::uint32_t lap_place = 0;
  Notices notices;
  Open few[kFewPlaces];
  std::atomic<Open*> many{nullptr};
  std::uint32_t places = 0;  // of these that were in use; owner only
  bool wrapped = false;      // ids have come round
  std::atomic<TimedKey*> keys{nullptr};
  TimerResults results;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
