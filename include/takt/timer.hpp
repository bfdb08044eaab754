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

/// Times regions by hand, with any Backend, into its own statistics (or those of the process, see joined()):
///
///     takt::Timer<takt::CpuBackend> timer;
///     timer.start(takt::Comm);  all_reduce();  timer.end(takt::Comm);
///     takt::Stats st = timer.stats(takt::Comm);
///
/// Regions nest, recur inside themselves, overlap, and may end on another thread by their handle. Results of a backend
/// that is not immediate arrive at later calls; only complete() waits. No call throws. Any thread, except for the
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

  /// Returns a Timer that records into the process's reports, as Scopes do. Its own statistics stay empty.
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
  /// Ends the innermost open region of `key` on this thread. Without one, the call is counted, see mistakes().
  void end(const Key& key) noexcept {
    with([&](auto& timer) noexcept { timer.end(key); });
  }
  /// Ends the region of a handle, on any thread. A region that has already ended is counted, not ended again. With a
  /// joined Timer, the starting thread and another one may end a region at the same instant: then its time is counted
  /// twice, and the report shows an end without a start.
  void end(const Handle& handle) noexcept {
    with([&](auto& timer) noexcept { timer.end(handle); });
  }
  /// Ends the region that this thread's last lap() started, if it is open, and starts one of `key` with the same
  /// reading. End the last one with end(key).
  Handle lap(const Key& key) noexcept {
    return with([&](auto& timer) noexcept { return timer.lap(key); });
  }
  /// Adds a region that was timed elsewhere (>= 0 ns).
  void record(const Key& key, std::chrono::nanoseconds duration) noexcept {
    with([&](auto& timer) noexcept { timer.record(key, duration); });
  }
  /// Adds `n` items (samples, tokens) or bytes moved (>= 1) to an open region that this thread has started. Failed
  /// additions are counted, see mistakes().
  void items(const Handle& handle, std::int64_t n) noexcept {
    with([&](auto& timer) noexcept { timer.add_amount(handle, detail::Amount::items, n); });
  }
  void bytes(const Handle& handle, std::int64_t n) noexcept {
    with([&](auto& timer) noexcept { timer.add_amount(handle, detail::Amount::bytes, n); });
  }

  /// Returns the statistics of all resolved calls of the key, over all threads. If the key nests inside itself, the
  /// total counts an inner call's time more than once. Up to 100 calls the median is exact: of an even number the mean
  /// of the two middle ones, rounded down to a ns. All zero for an unknown key.
  Stats stats(const Key& key) const noexcept { return stats_.stats(key); }
  Summary summary(const Key& key) const noexcept { return stats_.summary(key); }
  /// Same, for host time; differs from stats() for backends that are not immediate.
  Summary host_summary(const Key& key) const noexcept { return stats_.host_summary(key); }
  /// Returns the amount added to the regions of `key`, over all threads. For a joined Timer, see the report.
  std::uint64_t items(const Key& key) const noexcept { return stats_.total(key, &detail::Node::items); }
  std::uint64_t bytes(const Key& key) const noexcept { return stats_.total(key, &detail::Node::bytes); }
  /// Returns the most recent durations in ns, up to 1,024 per thread, oldest first, one thread after the other. Late
  /// results are in the order in which they were read.
  std::vector<std::int64_t> times(const Key& key) const { return stats_.times(key); }
  /// Waits, at most `timeout`, for pending results of the backend. Returns true if all arrived.
  bool complete(std::chrono::milliseconds timeout) noexcept { return stats_.complete(timeout); }
  /// Returns the number of pending results.
  std::uint64_t pending() const noexcept { return stats_.pending(); }
  /// Returns the number of misuses and dropped results: ends without a start, regions beyond the capacity, lost
  /// results. The figures lack them; regions without a path lack only self time, items and bytes.
  std::uint64_t mistakes() const noexcept { return stats_.mistakes() + (joined_ == nullptr ? 0 : joined_->mistakes()); }

 private:
  Timer(B backend, detail::JoinedTimer* joined) noexcept : stats_(backend), joined_(joined) {}

  /// Calls `use` with the timer in use: joined or own.
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

/// Compiled out: does nothing and returns empty results.
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
