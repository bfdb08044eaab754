// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/config.hpp>
#include <takt/detail/hot.hpp>
#include <takt/detail/not_cancelled.hpp>
#include <takt/detail/thread_table.hpp>
#include <takt/detail/timer_handle.hpp>
#include <takt/detail/timer_thread.hpp>
#include <takt/key.hpp>
#include <takt/summary.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

// A Timer with its own statistics reports expired regions: on stderr, or to the ErrorHandler if the program links the
// library.

// As in <unistd.h>, which takt.hpp should not include.
extern "C" __PTRDIFF_TYPE__ write(int file, const void* from, std::size_t bytes);

TAKT_BEGIN_NAMESPACE
namespace detail {

/// In the library: reports to the ErrorHandler, each line once.
TAKT_EXPORT __attribute__((weak)) void report_forgotten(const char* line) noexcept;

/// Paths reported without the library; further ones are silent.
inline std::atomic<std::uint64_t> forgotten_paths[64] = {};

inline bool is_first_forgotten(const char* line) noexcept {
  const std::uint64_t hash = hash_name(line) | 1U;
  for (auto& path : forgotten_paths) {
    std::uint64_t there = path.load(std::memory_order_relaxed);
    if (there == 0 && path.compare_exchange_strong(there, hash, std::memory_order_relaxed)) { return true; }
    if (there == hash) { return false; }
  }
  return false;
}

/// A line of bounded length.
class ForgottenLine {
 public:
  ForgottenLine(const TimerThread& thread, const Node& node) noexcept {
    add("takt: \"");
    add_name(thread, node);
    add("\", which began ");
    add(node.parent == nullptr || node.parent->parent == nullptr ? "outside of any region" : "in ");
    add_path(thread, node.parent);
    add(", had not ended when the next step or its thread ended; is its end missing?");
  }
  void report() noexcept {
    if (report_forgotten != nullptr) {
      report_forgotten(text_ + kPrefix);
    } else if (is_first_forgotten(text_)) {
      text_[size_] = '\n';
      static_cast<void>(!write(2, text_, size_ + 1));
    }
  }

 private:
  static constexpr std::size_t kPrefix = 6;
  void add(const char* words) noexcept {
    for (; *words != 0 && size_ + 1 < sizeof(text_); ++words) { text_[size_++] = *words; }
  }
  void add_name(const TimerThread& thread, const Node& node) noexcept {
    const TimedKey* const key = thread.find(node.key);
    add(key != nullptr ? key->name : node.role == Role::overflow ? "(overflow)" : "?");
  }
  void add_path(const TimerThread& thread, const Node* node) noexcept {
    if (node == nullptr || node->parent == nullptr) { return; }
    add_path(thread, node->parent);
    if (node->parent->parent != nullptr) { add("/"); }
    add_name(thread, *node);
  }

  char text_[2000] = {};
  std::size_t size_ = 0;
};

/// Owner: reports the regions that expired since the last call.
TAKT_COLD inline void report_forgotten_regions(TimerThread& thread) noexcept {
  const NotCancelled whole;
  thread.tree.take_lost_step();
  thread.tree.take_given_up([&thread](const Tree::Frame& frame) { ForgottenLine(thread, *frame.node.get()).report(); });
}

/// A Timer with its own statistics: a tree for each thread that uses it, and the pending results of a Backend. Needs no
/// library.
template <class B>
class TimerStats {
 public:
  explicit TimerStats(B backend) noexcept : backend_(backend) {}
  ~TimerStats() {
    threads_.each([this](Thread& thread) {
      thread.results.give_up(backend_);
      drop(thread);
    });
  }
  TimerStats(const TimerStats&) = delete;
  TimerStats& operator=(const TimerStats&) = delete;

  Handle start(const Key& key) noexcept {
    Thread* thread = here();
    if (thread == nullptr) { return {}; }
    const Reading begin = read();
    return start_at(*thread, key, host_ns(), begin);
  }
  void end(const Key& key) noexcept {
    const std::uint64_t ns = host_ns();
    Thread* thread = here();
    if (thread == nullptr) { return; }
    std::uint32_t place = Thread::kNowhere;
    do {  // another thread may have ended it first, by a handle
      place = thread->find_open(key.hash());
      if (place == Thread::kNowhere) {
        lose(*thread, LossKind::end_without_start, key.hash());
        return;
      }
    } while (!thread->claim(place, thread->open_at(place).id.load(std::memory_order_relaxed)));
    end_here(*thread, place, ns, read());
  }
  void end(const Handle& handle) noexcept {
    if (handle.thread == nullptr) { return; }
    const std::uint64_t ns = host_ns();
    Thread* thread = here();
    if (thread == nullptr) { return; }
    if (!handle.thread->claim(handle.place, handle.id)) {
      lose(*thread, LossKind::end_without_start, handle.node->key);
      return;
    }
    if (thread == handle.thread) {
      end_here(*thread, handle.place, ns, read());
    } else {
      end_elsewhere(*thread, handle, ns, read());
    }
  }
  Handle lap(const Key& key) noexcept {
    Thread* thread = here();
    if (thread == nullptr) { return {}; }
    const Reading shared = read();
    const std::uint64_t ns = host_ns();
    if (thread->claim(thread->lap_place, thread->lap_id)) {
      if (shared.taken) { backend_.retain(shared.mark); }
      end_here(*thread, thread->lap_place, ns, shared);
    }
    const Handle handle = start_at(*thread, key, ns, shared);
    thread->lap_id = handle.id;
    thread->lap_place = handle.place;
    return handle;
  }
  void record(const Key& key, std::chrono::nanoseconds duration) noexcept {
    const auto ns = static_cast<std::uint64_t>(duration.count());
    Thread* thread = here();
    if (thread == nullptr) { return; }
    if (duration.count() < 0) {
      lose(*thread, LossKind::bad_amount, key.hash());
      return;
    }
    next_position(*thread);
    const Node* node = thread->tree.add_here(key.hash(), ns);
    if constexpr (B::immediate) {
      finish(*thread, node, key.hash(), ns, {}, {});
    } else {
      TimedKey* const timed = timed_key(*thread, node, key.hash(), ns);
      if (!thread->results.keep(backend_, {0, 0, timed, ns, true}, lost_)) {
        lose(*thread, LossKind::device_skipped, node->key);
      }
      thread->results.poll_in_passing(backend_, lost_);
    }
  }
  void add_amount(const Handle& handle, Amount what, std::int64_t n) noexcept {
    if (handle.thread == nullptr) { return; }
    Thread* const thread = here();
    if (thread == nullptr) { return; }
    const bool is_open =
        thread == handle.thread && thread->open_at(handle.place).id.load(std::memory_order_relaxed) == handle.id;
    if (n < 1 || !is_open) {
      lose(*thread, n < 1 ? LossKind::bad_amount : LossKind::end_without_start, handle.node->key);
      return;
    }
    Node* const node = thread->tree.node(handle.node->index);
    Counter& sum = what == Amount::items ? node->items : node->bytes;
    sum.set(bounded_sum(sum.own(), static_cast<std::uint64_t>(n)));
  }
  Summary summary(const Key& key) const noexcept {
    if (B::immediate) { return host_summary(key); }
    Summary sum;
    threads_.each([&](const Thread& thread) {
      if (const TimedKey* timed = thread.find(key.hash())) { timed->merge_into(sum); }
    });
    return sum;
  }
  Summary host_summary(const Key& key) const noexcept {
    Summary sum;
    threads_.each([&](const Thread& thread) {
      for (std::uint32_t index = 0; index < thread.tree.nodes(); ++index) {
        const Node* node = thread.tree.node(index);
        if (node->key == key.hash()) { merge_whole(node->version, node->host, sum); }
      }
      const TimedKey* const timed = thread.find(key.hash());
      if (timed != nullptr) { merge_whole(timed->version, timed->without_path, sum); }
    });
    return sum;
  }
  std::uint64_t total(const Key& key, Counter Node::*counter) const noexcept {
    std::uint64_t sum = 0;
    threads_.each([&](const Thread& thread) {
      for (std::uint32_t index = 0; index < thread.tree.nodes(); ++index) {
        const Node* node = thread.tree.node(index);
        if (node->key == key.hash()) { sum += (node->*counter).get(); }
      }
    });
    return sum;
  }
  std::vector<std::int64_t> times(const Key& key) const {
    std::vector<std::int64_t> times;
    each_time(key, [&times](std::int64_t ns) { times.push_back(ns); });
    return times;
  }
  /// Replaces the median by the exact one if all calls are kept and they are few.
  Stats stats(const Key& key) const noexcept {
    Stats stats = summary(key).stats();
    if (stats.n == 0 || stats.n > kMaxExact) { return stats; }
    std::uint64_t sorted[kMaxExact];
    std::uint64_t count = 0;
    each_time(key, [&](std::int64_t ns) {
      if (count++ >= kMaxExact) { return; }  // other threads have added more
      std::uint64_t at = count - 1;
      for (; at > 0 && sorted[at - 1] > static_cast<std::uint64_t>(ns); --at) { sorted[at] = sorted[at - 1]; }
      sorted[at] = static_cast<std::uint64_t>(ns);
    });
    if (count != stats.n) { return stats; }
    const std::uint64_t low = sorted[(count - 1) / 2];
    stats.p50_ns = low + (sorted[count / 2] - low) / 2;
    return stats;
  }
  bool complete(std::chrono::milliseconds timeout) noexcept {
    const std::uint64_t begin = posix_ns(CLOCK_MONOTONIC);
    constexpr std::chrono::milliseconds kMaxWait = std::chrono::hours(24 * 365);
    const auto limit_ms = timeout.count() < 0 ? 0 : timeout < kMaxWait ? timeout.count() : kMaxWait.count();
    const auto limit = static_cast<std::uint64_t>(limit_ms) * 1'000'000U;
    for (;;) {
      threads_.each([this](Thread& thread) { thread.results.poll(backend_, true, lost_); });
      if (pending() == 0) { return true; }
      if (posix_ns(CLOCK_MONOTONIC) - begin >= limit) { return false; }
      rest();
    }
  }
  std::uint64_t pending() const noexcept {
    std::uint64_t sum = 0;
    threads_.each([&sum](const Thread& thread) { sum += thread.results.pending(); });
    return sum;
  }
  std::uint64_t mistakes() const noexcept {
    std::uint64_t sum = lost_.load(std::memory_order_relaxed);
    threads_.each([&sum](const Thread& thread) {
      for (unsigned slot = 0; slot < thread.tree.losses().size(); ++slot) {
        const LossCounts::Count& each = thread.tree.losses()[slot];
        if (each.kind.get() != LossKind::ended_late) { sum += each.count.get(); }  // these are in the figures
      }
    });
    return sum;
  }

 private:
  using Thread = TimerThread;
  static constexpr std::uint64_t kMaxExact = 100;  ///< largest number of calls with an exact median
  static constexpr unsigned kMaxUnended = 4;  ///< entries kept for regions that ended threads left open, per address

  std::uint64_t host_ns() noexcept {
    if constexpr (BackendTraits<B>::has_host_ns) {
      return backend_.host_ns();
    } else {
      return posix_ns(CLOCK_MONOTONIC);
    }
  }
  /// Calls use(ns) for the kept durations of the key, oldest first, one thread after the other.
  template <class Use>
  void each_time(const Key& key, Use use) const {
    threads_.each([&](const Thread& thread) {
      const TimedKey* timed = thread.find(key.hash());
      if (timed == nullptr) { return; }
      const std::uint64_t count = timed->count.get();
      const std::uint64_t kept = count < TimedKey::kRecent ? count : TimedKey::kRecent;
      for (std::uint64_t at = count - kept; at < count; ++at) { use(timed->recent[at % TimedKey::kRecent].get()); }
    });
  }
  struct Reading {
    Mark mark = 0;
    bool taken = false;
  };
  Reading read() noexcept {
    Reading reading;
    if constexpr (!B::immediate) { reading.taken = backend_.mark(reading.mark); }
    return reading;
  }
  void drop(const Reading& reading) noexcept {
    if (reading.taken) { backend_.release(reading.mark); }
  }
  /// Returns the calling thread's data, created at its first region; nullptr, and counted, if out of memory.
  Thread* here() noexcept {
    const ThreadToken& token = this_thread_token();
    Thread* found = nullptr;
    Thread* vacant = nullptr;
    Thread* oldest = nullptr;
    unsigned unended = 0;
    threads_.each_at(token, [&](Thread& thread) {
      thread.collect();
      if (thread.number.load(std::memory_order_relaxed) == token.number) {
        found = &thread;
        return true;
      }
      // A new thread at the address of an ended one reuses its data, so there are only as many entries as threads alive
      // at once. Regions that the old thread left open may still end elsewhere.
      if (!thread.tree.is_unended()) {
        vacant = &thread;
      } else {
        oldest = &thread;
        ++unended;
      }
      return false;
    });
    if (found != nullptr) { return found; }
    if (vacant == nullptr && unended >= kMaxUnended) {
      drop(*oldest);
      vacant = oldest;
    }
    if (vacant == nullptr) { vacant = threads_.add(token); }
    if (vacant == nullptr) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    vacant->lap_id = 0;
    vacant->number.store(token.number, std::memory_order_relaxed);
    return vacant;
  }
  static Reading started_at(Thread& thread, std::uint32_t place) noexcept {
    const Thread::Open& open = thread.open_at(place);
    return {open.mark, open.marked};
  }
  /// Drops the open regions for which `Which` returns true. Returns true if there were any.
  template <class Which>
  bool free_places(Thread& thread, Which which) noexcept {
    bool any = false;
    for (std::uint32_t place = 0; place != thread.places; ++place) {
      if (!which(place) || !thread.claim(place, thread.open_at(place).id.load(std::memory_order_relaxed))) { continue; }
      drop(started_at(thread, place));
      thread.give_back(place);
      any = true;
    }
    return any;
  }
  /// Drops the open regions of an ended thread.
  void drop(Thread& thread) noexcept {
    free_places(thread, [](std::uint32_t) { return true; });
    next_position(thread);
    thread.tree.drop_open();
  }
  /// Frees the slots of regions that expired too long ago to end. Returns true if there were any.
  bool let_go(Thread& thread) noexcept {
    const Tree& tree = thread.tree;
    if (thread.let_go_at == tree.given_up() || tree.too_deep() > tree.too_deep_known()) { return false; }
    thread.let_go_at = tree.given_up();
    bool known[Thread::kNowhere + 1] = {};  // by id
    const auto keep = [&known](std::uint32_t id) { known[id <= Thread::kNowhere ? id : 0] = true; };
    for (unsigned level = 0; level < tree.depth(); ++level) { keep(tree.frame(level).id()); }
    for (unsigned index = 0; index < tree.late(); ++index) { keep(tree.late_frame(index).id()); }
    for (unsigned index = 0; index < tree.too_deep_known(); ++index) { keep(tree.too_deep_id(index)); }
    return free_places(thread, [&known](std::uint32_t place) { return !known[place + 1]; });
  }
  Handle start_at(Thread& thread, const Key& key, std::uint64_t ns, const Reading& begin) noexcept {
    Handle handle;
    handle.place = thread.take_place(key.hash());
    if (handle.place == Thread::kNowhere && let_go(thread)) { handle.place = thread.take_place(key.hash()); }
    if (handle.place == Thread::kNowhere) {
      lose(thread, LossKind::overflow, key.hash());
      drop(begin);
      return handle;
    }
    handle.thread = &thread;
    handle.begin_ns = ns;
    thread.last_id += thread.last_id + 1 == 0 ? 2 : 1;
    handle.id = thread.last_id;
    next_position(thread);
    thread.tree.begin(key.hash(), handle.place + 1, ns);
    handle.node = thread.tree.innermost();
    if (TAKT_UNLIKELY(!handle.node->called.own()) || handle.node == thread.tree.overflow()) {
      thread.key_of(key.hash(), key.name());
    }
    Thread::Open& open = thread.open_at(handle.place);
    open.mark = begin.mark;
    open.marked = begin.taken;
    open.id.store(handle.id, std::memory_order_release);  // pairs with claim()
    if (TAKT_UNLIKELY(thread.tree.has_news())) { report_forgotten_regions(thread); }
    return handle;
  }
  /// Ends the region at `place`, which this thread has claimed from its own data.
  void end_here(Thread& thread, std::uint32_t place, std::uint64_t ns, const Reading& end) noexcept {
    const Reading begin = started_at(thread, place);
    const std::uint64_t key = thread.open_at(place).key;
    const Tree::Frame* const frame = thread.tree.find(place + 1);
    const std::uint64_t begin_ns = frame == nullptr ? ns : frame->begin_ns.own();
    next_position(thread);
    const Node* node = thread.tree.end(place + 1, ns);
    thread.give_back(place);
    if (node != nullptr) {
      finish(thread, node, key, ns - begin_ns, begin, end);
    } else {  // expired too long ago
      drop(begin);
      drop(end);
    }
    if (TAKT_UNLIKELY(thread.tree.has_news())) { report_forgotten_regions(thread); }
  }
  /// Folds a region of another thread under the same path here, without self time.
  void end_elsewhere(Thread& thread, const Handle& handle, std::uint64_t ns, const Reading& end) noexcept {
    const Reading begin = started_at(*handle.thread, handle.place);
    const std::uint64_t key = handle.thread->open_at(handle.place).key;
    const auto place = [&](const Node* node, const auto& self) -> Node* {
      return node->parent == nullptr ? thread.tree.root() : thread.tree.child(self(node->parent, self), node->key);
    };
    next_position(thread);
    const bool overflow = handle.node == handle.thread->tree.overflow();
    Node* node = overflow ? thread.tree.overflow() : place(handle.node, place);
    const std::uint64_t length = ns > handle.begin_ns ? ns - handle.begin_ns : 0;
    thread.tree.add_at(node, length);
    handle.thread->give_back_elsewhere(handle.place);
    finish(thread, node, key, length, begin, end);
  }
  /// Records the end of a region: keeps its length, or waits for the backend's result. Takes ownership of both
  /// readings.
  void finish(Thread& thread, const Node* node, std::uint64_t key, std::uint64_t length, const Reading& begin,
              const Reading& end) noexcept {
    TimedKey* const timed = timed_key(thread, node, key, length);
    if constexpr (B::immediate) {
      if (timed != nullptr) { timed->add(length, false); }
    } else {
      if (!begin.taken || !end.taken ||
          !thread.results.keep(backend_, {begin.mark, end.mark, timed, 0, false}, lost_)) {
        lose(thread, LossKind::device_skipped, node->key);
        drop(begin);
        drop(end);
      }
      thread.results.poll_in_passing(backend_, lost_);
    }
  }
  /// Returns the data of an ended region's key; nullptr if too many keys exist. If the tree has no path for the region,
  /// its host time is added to the key alone.
  static TimedKey* timed_key(Thread& thread, const Node* node, std::uint64_t key, std::uint64_t length) noexcept {
    if (TAKT_LIKELY(node != thread.tree.overflow())) { return thread.key_of(key); }
    TimedKey* const timed = thread.find(key);
    if (timed != nullptr) { timed->add_without_path(length); }
    return timed;
  }
  void lose(Thread& thread, LossKind kind, std::uint64_t key) noexcept {
    next_position(thread);
    thread.tree.count(kind, key);
  }
  static void next_position(Thread& thread) noexcept { thread.tree.set_position(thread.position++); }

  B backend_;
  ThreadTable<Thread> threads_;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
