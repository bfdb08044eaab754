// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/backends/detail/anchor_chain.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_pool.hpp>
#include <takt/backends/detail/stream_space.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Counts the spans that an event device did not time, by cause. Any thread.
class EventCounts {
 public:
  enum Count : unsigned {
    kCapturing,
    kNoContext,
    kPendingError,
    kNoEvent,
    kTooManyContexts,
    kNotCapturing,
    kUnsupported,
    kRefused,
    kOtherStream,
    kLost,
    kStreamGone,
    kNegative,
    kStreamFull,
    kTooManyStreams,
    kCounts
  };
  static_assert(kCounts < DeviceReport::kSkips);

  void add(Count cause) noexcept { counts_[cause].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t of(Count cause) const noexcept { return counts_[cause].load(std::memory_order_relaxed); }
  /// Counts a skipped timestamp by the driver's answer.
  void skipped(EventStatus status) noexcept {
    switch (status) {
      case EventStatus::capturing:
        return add(kCapturing);
      case EventStatus::not_capturing:
        return add(kNotCapturing);
      case EventStatus::unsupported:
        return add(kUnsupported);
      case EventStatus::no_context:
        return add(kNoContext);
      case EventStatus::pending_error:
        return add(kPendingError);
      case EventStatus::lost:
        return add(kLost);
      case EventStatus::stream_gone:
        return add(kStreamGone);
      case EventStatus::not_recorded:
      case EventStatus::refused:
      case EventStatus::done:
      case EventStatus::not_ready:
        break;
    }
    add(kRefused);
  }
  void report(DeviceReport& report) const noexcept {
    static constexpr const char* kNames[kCounts] = {
        "skipped_capturing",    "skipped_no_context",    "skipped_pending_error",     "skipped_no_event",
        "skipped_contexts",     "skipped_not_capturing", "skipped_graph_unsupported", "skipped_refused",
        "skipped_other_stream", "lost_device_error",     "lost_stream_destroyed",     "clamped_negative",
        "skipped_stream_full",  "skipped_streams"};
    for (unsigned cause = 0; cause < kCounts; ++cause) {
      report.skips[cause] = {kNames[cause], of(static_cast<Count>(cause))};
    }
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCounts> counts_{};
};

template <class Api>
auto described_context(EventContextId id, int) noexcept -> decltype(Api::describe(id), EventContextId()) {
  Api::describe(id);
  return id;
}
template <class Api>
EventContextId described_context(const EventContextId& id, long) noexcept {
  return id;
}

/// State of one context: its events, streams and time line. Never destroyed.
template <class Api>
struct EventContext {
  using Pool = EventPool<typename Api::Event>;

  explicit EventContext(const EventContextId& which) noexcept : id(which) {}
  const EventContextId id;
  std::atomic<bool> lost{false};
  std::atomic<bool> growing{false};
  Pool events;
  StreamTable streams;
  AnchorChain<Api> anchors;
};

/// All contexts of a process. Any thread; no locks.
template <class Api>
class EventContexts {
 public:
  using Context = EventContext<Api>;
  static constexpr unsigned kMax = 64;

  /// Returns the state of a context, created at its first timestamp; nullptr beyond the limit.
  Context* find(const EventContextId& id) noexcept {
    for (auto& place : contexts_) {
      Context* there = place.load(std::memory_order_acquire);  // pairs with the exchange below
      if (there == nullptr) {
        auto* fresh = new (std::nothrow) Context(described_context<Api>(id, 0));
        if (fresh == nullptr) { return nullptr; }
        // Pairs with all loads from contexts_.
        if (place.compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) { return fresh; }
        delete fresh;
      }
      if (there->id == id) { return there; }
      // Same address with another number: that context was reset, and its events must not be queried.
      if (there->id.handle == id.handle) { there->lost.store(true, std::memory_order_relaxed); }
    }
    return nullptr;
  }

  /// Returns the number of contexts, and how many of them are lost.
  unsigned count(unsigned& lost) const noexcept {
    unsigned contexts = 0;
    lost = 0;
    for (const auto& place : contexts_) {
      const Context* context = place.load(std::memory_order_acquire);  // pairs with find()
      if (context == nullptr) { break; }
      ++contexts;
      lost += context->lost.load(std::memory_order_relaxed) ? 1 : 0;
    }
    return contexts;
  }
  /// Sums over all pools.
  std::uint32_t sum(std::uint32_t (Context::Pool::*what)() const noexcept) const noexcept {
    std::uint32_t total = 0;
    for (const auto& place : contexts_) {
      // Pairs with find().
      if (const Context* context = place.load(std::memory_order_acquire)) { total += (context->events.*what)(); }
    }
    return total;
  }

 private:
  std::array<std::atomic<Context*>, kMax> contexts_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
