// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/drain.hpp>
#include <takt/detail/notices.hpp>
#include <takt/detail/tree.hpp>
#include <takt/durations.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Tells threads apart: no two that live at once have it at one address, and no two ever have the same number.
struct ThreadToken {
  std::uint64_t number;
};
inline std::atomic<std::uint64_t> thread_numbers{0};
inline thread_local ThreadToken thread_token{0};

inline const ThreadToken& this_thread_token() noexcept {
  if (TAKT_UNLIKELY(thread_token.number == 0)) {
    thread_token.number = thread_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return thread_token;
}

/// What a Timer keeps of one key beside the tree: the most recent durations, and for backends whose results come later,
/// their summary. One thread writes at a time; any may read.
struct TimedKey {
  static constexpr std::uint32_t kRecent = 1024;

  std::uint64_t hash = 0;
  char name[201] = "?";  ///< of the first region; constant once published
  TimedKey* next = nullptr;
  Counter version;  // odd while being written
  Summary results;
  Counter count;  // durations so far
  Relaxed<std::int64_t> recent[kRecent];

  void add(std::uint64_t ns, bool summarise) noexcept {
    const std::uint64_t at = version.own();
    version.set(at + 1);
    if (summarise && results.n() == 0) {
      results.add_first(ns);
    } else if (summarise) {
      results.add(ns);
    }
    recent[count.own() % kRecent].set(static_cast<std::int64_t>(ns));
    count.add(1);
    version.set(at + 2);
  }
};

/// The regions that one thread has timed with one Timer. `Backend` marks that are waiting for a result stand in a ring that
/// the thread fills and whoever holds `busy` empties.
struct TimerThread {
  static constexpr std::uint32_t kPending = 1024;
  static constexpr std::uint32_t kFewPlaces = 64;
  static constexpr std::uint32_t kNowhere = Tree::kMaxOpen;

  /// A duration that is known already has `ready` instead of marks.
  struct Span {
    Mark begin = 0;
    Mark end = 0;
    TimedKey* key = nullptr;  // nullptr: settled
    std::uint64_t ready_ns = 0;
    bool ready = false;
    bool outermost = true;
  };
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
    keys.store(key, std::memory_order_release);  // partner: find()
    return key;
  }
  /// Any thread.
  const TimedKey* find(std::uint64_t hash) const noexcept {
    const TimedKey* key = keys.load(std::memory_order_acquire);
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
    return place < kFewPlaces ? few[place] : many.load(std::memory_order_acquire)[place - kFewPlaces];
  }
  /// Owner: a place for one more open region, kNowhere if there are too many or there is no memory.
  std::uint32_t free_place() noexcept {
    std::uint32_t place = 0;
    while (place != places && open_at(place).id.load(std::memory_order_acquire) != 0) { ++place; }  // partner: claim()
    if (place != places || place == kNowhere) { return place; }
    if (place == kFewPlaces && many.load(std::memory_order_relaxed) == nullptr) {
      auto* const made = new (std::nothrow) Open[kNowhere - kFewPlaces];
      if (made == nullptr) { return kNowhere; }
      many.store(made, std::memory_order_release);  // partner: open_at()
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
    if (!from.id.compare_exchange_strong(id, Open::kClaimed, std::memory_order_acq_rel)) { return false; }
    mark = from.mark;
    marked = from.marked;
    from.id.store(0, std::memory_order_release);
    return true;
  }
  /// Owner, or whoever has its place: takes regions off the stack that ended on another thread.
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
  std::atomic<std::uintptr_t> lap_region{0};  // likewise, of a Timer that joined the process
  Notices notices;
  Open few[kFewPlaces];
  std::atomic<Open*> many{nullptr};
  std::uint32_t places = 0;  // of these that were in use; owner only
  bool wrapped = false;      // ids have come round
  std::atomic<TimedKey*> keys{nullptr};
  Patience patience;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::atomic<std::uint32_t> head{0};
  std::atomic<std::uint32_t> tail{0};
  std::atomic<std::uint32_t> unsettled{0};
  Span span[kPending];
};

}  // namespace detail
TAKT_END_NAMESPACE
