// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/detail/hot.hpp>
#include <takt/detail/timer_thread.hpp>
#include <takt/durations.hpp>
#include <takt/key.hpp>
#include <takt/stats.hpp>

#include <sched.h>
#include <chrono>
#include <cstdint>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// A region that a Timer has started; may be ended on another thread. A value, of which copies are the same region; by
/// default none.
struct Handle {
  detail::TimerThread* thread = nullptr;
  const detail::Node* node = nullptr;
  std::uint64_t begin_ns = 0;
  std::uint32_t id = 0;
  std::uint32_t place = 0;
  detail::Region region = 0;  ///< of a Timer that joined the process, and
  detail::Event begun = 0;    ///< what stands there while it is open
};

/// Times regions by hand, with any Backend, into books of its own (or the process's, see joined()):
///
///     takt::Timer<takt::CpuBackend> timer;
///     timer.start(takt::Comm);  all_reduce();  timer.end(takt::Comm);
///     takt::Stats st = timer.stats(takt::Comm);
///
/// Regions nest, recur inside themselves, overlap, and may end on another thread by their handle. Results of a backend that
/// is not immediate come in at later calls; nothing waits but complete(). No call throws. Any thread, but for the destructor.
template <class B>
class Timer {
 public:
  explicit Timer(B backend = B()) noexcept : backend_(backend) { detail::require_backend<B>(); }
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// A Timer whose regions go where those of Scopes go: into the reports of the process. Its own books stay empty.
  static Timer joined(B backend = B()) noexcept {
    static_assert(B::immediate || detail::HasStreamRef<B>::value,
                  "takt: to join the process, a Backend that is not immediate needs takt::StreamTraits");
    return Timer(backend, &kProcess);
  }

  /// Starts a region of `key` inside the innermost one that is open on this thread.
  Handle start(const Key& key) noexcept;
  /// Ends the innermost open region of `key` on this thread. Without one, that is counted, see mistakes().
  void end(const Key& key) noexcept;
  /// Ends the region of a handle, on any thread. What has ended already is not ended again, but counted.
  void end(const Handle& handle) noexcept;
  /// Ends the region that the last lap() of this thread began, if it is open, and starts one of `key` with the same reading.
  /// The last one is ended by end(key).
  Handle lap(const Key& key) noexcept;
  /// Adds a region that was timed elsewhere; 0 ns or more.
  void record(const Key& key, std::chrono::nanoseconds duration) noexcept;
  /// Adds `n` items (samples, tokens), or bytes moved, to a region that this thread has started and not ended; 1 or more.
  /// What cannot be added is counted, see mistakes().
  void items(const Handle& handle, std::int64_t n) noexcept { add_amount(handle, detail::Amount::items, n); }
  void bytes(const Handle& handle, std::int64_t n) noexcept { add_amount(handle, detail::Amount::bytes, n); }

  /// Of what has resolved so far, over all threads; of a recursion, the outermost call. All zero for an unknown key.
  Stats stats(const Key& key) const noexcept { return summary(key).stats(); }
  Summary summary(const Key& key) const noexcept;
  /// The host's time in the same regions; differs from stats() for backends that are not immediate.
  Summary host_summary(const Key& key) const noexcept;
  /// What was added to the regions of `key`, over all threads. A Timer that joined the process has it in the report.
  std::uint64_t items(const Key& key) const noexcept { return total(key, &detail::Node::items); }
  std::uint64_t bytes(const Key& key) const noexcept { return total(key, &detail::Node::bytes); }
  /// The most recent durations, up to 1 024 a thread, oldest first, threads one after the other. Results that come later
  /// stand in the order in which they were read.
  Durations times(const Key& key) const noexcept;
  /// Waits for results of the backend that are pending, at most for `timeout`. Returns whether all are in.
  bool complete(std::chrono::milliseconds timeout) noexcept;
  /// Results that are pending.
  std::uint64_t pending() const noexcept;
  /// Ends without a start, regions without room, results that were lost: what the figures do not contain.
  std::uint64_t mistakes() const noexcept;

 private:
  using Thread = detail::TimerThread;
  struct Process {
    detail::Region (*begin)(const Key&, StreamRef) noexcept;
    bool (*end)(detail::Region, detail::Event) noexcept;
    detail::Region (*end_innermost)(const Key&) noexcept;
    detail::Region (*lap)(detail::Region, const Key&) noexcept;
    void (*record)(const Key&, std::uint64_t) noexcept;
    bool (*note_amount)(detail::Region, detail::Event, detail::Amount, std::int64_t) noexcept;
  };
  // Named only by joined(), so that a Timer of its own needs no library.
  static constexpr Process kProcess{&detail::begin_on, &detail::end_handle, &detail::end_innermost,
                                    &detail::lap_slow, &detail::record_ns,  &detail::note_amount_of};
  static constexpr unsigned kBuckets = 64;
  static constexpr unsigned kMaxUnended = 4;  ///< books kept for regions that ended threads left open, for each address

  Timer(B backend, const Process* process) noexcept : backend_(backend), process_(process) {}

  StreamRef stream() const noexcept {
    if constexpr (detail::HasStreamRef<B>::value) {
      return StreamTraits<B>::ref(backend_);
    } else {
      return {};
    }
  }
  std::uint64_t host_ns() noexcept {
    if constexpr (BackendTraits<B>::has_host_ns) {
      return backend_.host_ns();
    } else {
      return detail::posix_ns(CLOCK_MONOTONIC);
    }
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
  Thread* here(bool make = true) noexcept;
  Thread* make_books(std::size_t bucket) noexcept;
  void abandon(Thread& thread) noexcept;
  bool let_go(Thread& thread) noexcept;
  Handle start_at(Thread& thread, const Key& key, std::uint64_t ns, const Reading& begin) noexcept;
  void end_here(Thread& thread, std::uint32_t id, std::uint64_t ns, const Reading& begin, const Reading& end) noexcept;
  void end_elsewhere(Thread& thread, const Handle& handle, std::uint64_t ns, const Reading& begin,
                     const Reading& end) noexcept;
  void finish(Thread& thread, const detail::Node* node, std::uint64_t length, const Reading& begin,
              const Reading& end) noexcept;
  bool keep(Thread& thread, const detail::TimerThread::Span& span) noexcept;
  bool has_room(Thread& thread) noexcept;
  void add_amount(const Handle& handle, detail::Amount what, std::int64_t n) noexcept;
  std::uint64_t total(const Key& key, detail::Counter detail::Node::*counter) const noexcept;
  Handle lap_joined(Thread& thread, const Key& key) noexcept;
  static void forget_lap(Thread& thread, detail::Region ended) noexcept;
  void poll(Thread& thread, bool all) noexcept;
  void glance(Thread& thread) noexcept;
  bool settle(Thread& thread, detail::TimerThread::Span& span, Look& look) noexcept;
  static bool is_outermost(const detail::Node& node) noexcept {
    for (const detail::Node* above = node.parent; above != nullptr; above = above->parent) {
      if (above->key == node.key && above->parent != nullptr) { return false; }
    }
    return true;
  }
  template <class Use>
  void each_thread(Use use) const noexcept {
    for (const auto& bucket : bucket_) {
      for (Thread* thread = bucket.load(std::memory_order_acquire); thread != nullptr; thread = thread->next) {
        use(*thread);
      }
    }
  }
  void lose(Thread& thread, detail::Mishap mishap, std::uint64_t key) noexcept {
    next_position(thread);
    thread.tree.count(mishap, key);
  }
  static void next_position(Thread& thread) noexcept { thread.tree.set_position(thread.position++); }

  mutable B backend_;
  const Process* process_ = nullptr;
  std::atomic<Thread*> bucket_[kBuckets] = {};
  std::atomic<std::uint64_t> lost_{0};
};

TAKT_END_NAMESPACE

#include <takt/detail/timer_impl.hpp>

#else

TAKT_BEGIN_OFF_NAMESPACE

struct Handle {};

/// Compiled out: does nothing, and knows nothing.
template <class B>
class Timer {
 public:
  explicit Timer(B = B()) noexcept {}
  ~Timer() noexcept {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  static Timer joined(B backend = B()) noexcept { return Timer(backend); }
  Handle start(const Key&) noexcept { return {}; }
  void end(const Key&) noexcept {}
  void end(const Handle&) noexcept {}
  Handle lap(const Key&) noexcept { return {}; }
  void record(const Key&, std::chrono::nanoseconds) noexcept {}
  void items(const Handle&, std::int64_t) noexcept {}
  void bytes(const Handle&, std::int64_t) noexcept {}
  Stats stats(const Key&) const noexcept { return {}; }
  Summary summary(const Key&) const noexcept { return {}; }
  Summary host_summary(const Key&) const noexcept { return {}; }
  std::uint64_t items(const Key&) const noexcept { return 0; }
  std::uint64_t bytes(const Key&) const noexcept { return 0; }
  Durations times(const Key&) const noexcept { return {}; }
  bool complete(std::chrono::milliseconds) noexcept { return true; }
  std::uint64_t pending() const noexcept { return 0; }
  std::uint64_t mistakes() const noexcept { return 0; }
};

TAKT_END_OFF_NAMESPACE

#endif
