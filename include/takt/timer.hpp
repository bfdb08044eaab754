// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/detail/timer_handle.hpp>
#include <takt/detail/timer_stats.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>
#include <takt/summary.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// Times regions by hand, with any Backend, into books of its own (or the process's, see joined()):
///
///     takt::Timer<takt::CpuBackend> timer;
///     timer.start(takt::Comm);  all_reduce();  timer.end(takt::Comm);
///     takt::Stats st = timer.stats(takt::Comm);
///
/// Regions nest, recur inside themselves, overlap, and may end on another thread by their handle. Results of a backend
/// that is not immediate come in at later calls; nothing waits but complete(). No call throws. Any thread, but for the
/// destructor.
template <class B>
class Timer {
 public:
  explicit Timer(B backend = B()) noexcept : stats_(backend) { detail::require_backend<B>(); }
  ~Timer() {
    if (joined_ != nullptr) { joined_->leave(); }
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// A Timer whose regions go where those of Scopes go: into the reports of the process. Its own books stay empty.
  static Timer joined(B backend = B()) noexcept {
    static_assert(B::immediate || detail::HasStreamRef<B>::value,
                  "takt: to join the process, a Backend that is not immediate needs takt::StreamTraits");
    if constexpr (detail::HasStreamRef<B>::value) {
      return Timer(backend, detail::join_process(StreamTraits<B>::ref(backend)));
    } else {
      return Timer(backend, detail::join_process(StreamRef()));
    }
  }

  /// Starts a region of `key` inside the innermost one that is open on this thread.
  Handle start(const Key& key) noexcept {
    return with([&](auto& timer) noexcept { return timer.start(key); });
  }
  /// Ends the innermost open region of `key` on this thread. Without one, that is counted, see mistakes().
  void end(const Key& key) noexcept {
    with([&](auto& timer) noexcept { timer.end(key); });
  }
  /// Ends the region of a handle, on any thread. What has ended already is not ended again, but counted. Where a Timer
  /// has joined the process, the thread that began a region and another one may both end it at the very same time: then
  /// its time is there twice, and the report tells of an end without a start.
  void end(const Handle& handle) noexcept {
    with([&](auto& timer) noexcept { timer.end(handle); });
  }
  /// Ends the region that the last lap() of this thread began, if it is open, and starts one of `key` with the same
  /// reading. The last one is ended by end(key).
  Handle lap(const Key& key) noexcept {
    return with([&](auto& timer) noexcept { return timer.lap(key); });
  }
  /// Adds a region that was timed elsewhere; 0 ns or more.
  void record(const Key& key, std::chrono::nanoseconds duration) noexcept {
    with([&](auto& timer) noexcept { timer.record(key, duration); });
  }
  /// Adds `n` items (samples, tokens), or bytes moved, to a region that this thread has started and not ended; 1 or
  /// more. What cannot be added is counted, see mistakes().
  void items(const Handle& handle, std::int64_t n) noexcept {
    with([&](auto& timer) noexcept { timer.add_amount(handle, detail::Amount::items, n); });
  }
  void bytes(const Handle& handle, std::int64_t n) noexcept {
    with([&](auto& timer) noexcept { timer.add_amount(handle, detail::Amount::bytes, n); });
  }

  /// Of what has resolved so far: every call of the key, over all threads. Where the key stands inside itself, the
  /// total holds the time of an inner call more than once. All zero for an unknown key.
  Stats stats(const Key& key) const noexcept { return summary(key).stats(); }
  Summary summary(const Key& key) const noexcept { return stats_.summary(key); }
  /// The host's time in the same regions; differs from stats() for backends that are not immediate.
  Summary host_summary(const Key& key) const noexcept { return stats_.host_summary(key); }
  /// What was added to the regions of `key`, over all threads. A Timer that joined the process has it in the report.
  std::uint64_t items(const Key& key) const noexcept { return stats_.total(key, &detail::Node::items); }
  std::uint64_t bytes(const Key& key) const noexcept { return stats_.total(key, &detail::Node::bytes); }
  /// The most recent durations in ns, up to 1 024 a thread, oldest first, threads one after the other. Results that
  /// come later are in the order in which they were read.
  std::vector<std::int64_t> times(const Key& key) const { return stats_.times(key); }
  /// Waits for results of the backend that are pending, at most for `timeout`. Returns whether all are in.
  bool complete(std::chrono::milliseconds timeout) noexcept { return stats_.complete(timeout); }
  /// Results that are pending.
  std::uint64_t pending() const noexcept { return stats_.pending(); }
  /// Ends without a start, regions without room, results that were lost: what the figures do not contain, or, of
  /// regions without a path, no self time, items and bytes.
  std::uint64_t mistakes() const noexcept { return stats_.mistakes() + (joined_ == nullptr ? 0 : joined_->mistakes()); }

 private:
  Timer(B backend, detail::JoinedTimer* joined) noexcept : stats_(backend), joined_(joined) {}

  /// Gives `use` that of the two which this Timer is.
  template <class Use>
  auto with(Use use) noexcept {
    return joined_ != nullptr ? use(*joined_) : use(stats_);
  }

  detail::TimerStats<B> stats_;
  detail::JoinedTimer* const joined_ = nullptr;
};

TAKT_END_NAMESPACE

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
  std::vector<std::int64_t> times(const Key&) const { return {}; }
  bool complete(std::chrono::milliseconds) noexcept { return true; }
  std::uint64_t pending() const noexcept { return 0; }
  std::uint64_t mistakes() const noexcept { return 0; }
};

TAKT_END_OFF_NAMESPACE

#endif
