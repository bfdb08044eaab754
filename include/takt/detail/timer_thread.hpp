// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

  /// A region that has begun. Whoever ends it claims it first, so that it ends once, and then gives its place back.
  /// Until then its id in the tree is `place + 1`.
  struct Open {
    std::atomic<std::uint32_t> id{0};  ///< of the region, as in its Handle; 0: it has ended
    std::uint32_t newer = 0;           ///< its neighbours in the list that it is in
    std::uint32_t older = 0;
    std::uint32_t next = 0;  ///< while given back: another one that was
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

  /// Owner: that of the key, made if need be. nullptr without memory, or if there are too many.
  TimedKey* key_of(std::uint64_t hash, const char* name = "?") noexcept {
    if (TimedKey* const there = find(hash)) { return there; }
    TimedKey* key = key_count < Tree::kMaxNodes ? allocate<TimedKey>(nullptr) : nullptr;
    if (key == nullptr) { return nullptr; }
    ++key_count;
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
  TimedKey* find(std::uint64_t hash) const noexcept {
    TimedKey* key = keys.load(std::memory_order_acquire);  // pairs with key_of()
    while (key != nullptr && key->hash != hash) { key = key->next; }
    return key;
  }

  Open& open_at(std::uint32_t place) noexcept {
    // Pairs with the release in take_place().
    return place < kFewPlaces ? few[place] : many.load(std::memory_order_acquire)[place - kFewPlaces];
  }
  /// Owner: a place for a region of `key`, kNowhere if there are too many or there is no memory.
  std::uint32_t take_place(std::uint64_t key) noexcept {
    std::uint32_t place = free;
    if (place != kNowhere) {
      free = open_at(place).next;
    } else if (places == kNowhere || (places >= kFewPlaces && !make_many())) {
      return kNowhere;
    } else {
      place = places++;
    }
    Open& open = open_at(place);
    List& list = list_of(key);
    open.key = key;
    open.newer = kNowhere;
    open.older = list.newest;
    if (list.newest != kNowhere) { open_at(list.newest).newer = place; }
    list.newest = place;
    return place;
  }
  /// Owner: of a region that has ended.
  void give_back(std::uint32_t place) noexcept {
    Open& open = open_at(place);
    (open.newer == kNowhere ? list_of(open.key).newest : open_at(open.newer).older) = open.older;
    if (open.older != kNowhere) { open_at(open.older).newer = open.newer; }
    open.next = free;
    free = place;
  }
  /// Any other thread: the same. Until the owner collects it the region stays in the tree.
  void give_back_elsewhere(std::uint32_t place) noexcept {
    std::uint32_t head = given_back.load(std::memory_order_relaxed);
    do {
      open_at(place).next = head;
    } while (!given_back.compare_exchange_weak(head, place, std::memory_order_release,  // pairs with collect()
                                               std::memory_order_relaxed));
  }
  /// Owner: the place of the innermost open region of a key, kNowhere if there is none.
  std::uint32_t find_open(std::uint64_t hash) noexcept {
    std::uint32_t place = list_of(hash).newest;
    while (place != kNowhere) {
      const Open& open = open_at(place);
      if (open.key == hash && open.id.load(std::memory_order_relaxed) != 0) { break; }
      place = open.older;
    }
    return place;
  }
  /// Any thread: takes the region `id` from its place, which stays its claimer's to give back; false if it has ended.
  bool claim(std::uint32_t place, std::uint32_t id) noexcept {
    // Pairs with the release of start_at().
    return place < kNowhere && id != 0 &&
           open_at(place).id.compare_exchange_strong(id, 0, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Owner, or the thread that takes over its books: takes regions off the stack that ended on another thread.
  void collect() noexcept {
    if (given_back.load(std::memory_order_relaxed) == kNowhere) { return; }
    std::uint32_t place = given_back.exchange(kNowhere, std::memory_order_acquire);  // pairs with give_back_elsewhere()
    std::uint32_t first = kNowhere;  // they come in the opposite order of their ends
    while (place != kNowhere) {
      const std::uint32_t earlier = open_at(place).next;
      open_at(place).next = first;
      first = place;
      place = earlier;
    }
    tree.set_position(position++);
    while (first != kNowhere) {
      place = first;
      first = open_at(place).next;
      Tree::Frame ended;
      tree.detach(place + 1, ended);
      give_back(place);
    }
  }

  const ThreadToken* token = nullptr;
  std::atomic<std::uint64_t> number{0};
  TimerThread* next = nullptr;
  Tree tree;
  std::uint64_t position = 0;
  std::uint32_t last_id = 0;
  std::uint32_t lap_id = 0;  // of the region that lap() began last, 0: none
  std::uint32_t lap_place = 0;
  Open few[kFewPlaces];
  std::atomic<Open*> many{nullptr};
  std::uint32_t places = 0;       // of these that were in use; owner only, as the following
  std::uint32_t free = kNowhere;  // the first of those that were given back
  std::uint64_t let_go_at = 0;    // Tree::given_up() when it was last looked for places to free
  struct List {
    std::uint32_t newest = kNowhere;
  };
  List lists[64];  // by a part of the key's hash
  std::atomic<std::uint32_t> given_back{kNowhere};
  std::atomic<TimedKey*> keys{nullptr};
  std::uint32_t key_count = 0;
  TimerResults results;

  List& list_of(std::uint64_t key) noexcept { return lists[key >> 58U]; }
  bool make_many() noexcept {
    if (many.load(std::memory_order_relaxed) != nullptr) { return true; }
    auto* const made = new (std::nothrow) Open[kNowhere - kFewPlaces];
    many.store(made, std::memory_order_release);  // pairs with open_at()
    return made != nullptr;
  }
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
