// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_pool.hpp>
#include <takt/backends/detail/stream_progress.hpp>
#include <takt/stream.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// All that a process keeps of one kind of device: its contexts with their events, and what was not timed. Any thread; takes no
/// lock, never waits for the device, and calls the driver only where that can be noticed by nobody.
template <class Api>
class EventDevice {
 public:
  using Stream = typename Api::Stream;
  static constexpr unsigned kContexts = 64;
  static constexpr std::uint64_t kHushNs = 20'000'000;  ///< without a question after somebody was seen capturing

  /// Never destroyed: threads may outlive static objects.
  static EventDevice& instance() noexcept {
    static EventDevice* const device = new EventDevice;
    return *device;
  }

  /// Records an event on `stream`; false, and counted, where that would be noticed or cannot be done.
  bool mark(Stream stream, Mark& mark) noexcept {
    const ErrnoKept errno_kept;
    if (Api::unavailable() != nullptr) { return false; }
    if (!Api::may_call()) { return skip(EventStatus::pending_error); }
    EventContextId id;
    if (const EventStatus status = Api::enter(stream, id); status != EventStatus::done) { return skip(status); }
    Context* context = context_of(id);
    if (context == nullptr || context->lost.load(std::memory_order_relaxed)) { return skip(EventStatus::lost); }
    Slot* slot = context->events.take();
    if (slot == nullptr && grow(*context)) { slot = context->events.take(); }
    if (slot == nullptr) {
      count(kNoEvent);
      return false;
    }
    slot->uses.store(1, std::memory_order_relaxed);
    slot->stream = context->streams.find(Api::order_of(stream));
    slot->number = slot->stream == nullptr ? 0 : slot->stream->next_mark();
    if (const EventStatus status = Api::record(slot->event, stream); status != EventStatus::done) {
      context->events.give(*slot);
      note(*context, status);
      return skip(status);
    }
    mark = reinterpret_cast<std::uintptr_t>(slot);
    return true;
  }

  void retain(Mark mark) noexcept { slot_of(mark).uses.fetch_add(1, std::memory_order_relaxed); }

  void release(Mark mark) noexcept {
    Slot& slot = slot_of(mark);
    // Acquire and release: whoever takes the slot next overwrites what other users have read.
    if (slot.uses.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
    Pool& events = context_of(slot).events;
    if (slot.stream != nullptr && slot.stream->has_finished(slot.number)) {
      events.give(slot);
    } else {
      events.give_unfinished(slot);
    }
  }

  Elapsed elapsed(Mark begin, Mark end) noexcept {
    Slot& from = slot_of(begin);
    Slot& to = slot_of(end);
    Context& context = context_of(to);
    if (Api::unavailable() != nullptr || context.lost.load(std::memory_order_relaxed)) { return lose(); }
    // Stream 0 is another one on each device, and the per-thread stream on each thread. A driver takes events of two contexts
    // for invalid ones; the distance of those of two streams says nothing.
    if (from.context != to.context || from.stream != to.stream) {
      count(kOtherStream);
      return Elapsed::failed();
    }
    const ErrnoKept errno_kept;
    if (is_hushed() || !Api::may_call()) { return Elapsed::pending(); }
    const typename Api::Relaxed relaxed;
    if (context.events.is_low()) { grow_ahead(context); }
    if (to.stream == nullptr || !to.stream->has_finished(to.number)) {
      if (const EventStatus status = Api::query(to.event); status != EventStatus::done) {
        return answer(context, status);
      }
      if (to.stream != nullptr) { to.stream->set_finished(to.number); }
    }
    if (begin == end) { return Elapsed::ready(0); }
    float ms = 0;
    if (const EventStatus status = Api::elapsed(from.event, to.event, ms); status != EventStatus::done) {
      return answer(context, status);
    }
    if (ms < 0) { count(kNegative); }
    return Elapsed::ready(ms < 0 ? 0 : std::llround(static_cast<double>(ms) * 1e6));
  }

  DeviceReport report() const noexcept {
    static constexpr const char* kNames[kCounts] = {"skipped_capturing", "skipped_no_context", "skipped_pending_error",
                                                    "skipped_no_event",  "skipped_refused",    "skipped_other_stream",
                                                    "lost_device_error", "clamped_negative"};
    DeviceReport report;
    unsigned contexts = 0;
    unsigned lost = 0;
    for (const auto& place : contexts_) {
      const Context* context = place.load(std::memory_order_acquire);
      if (context == nullptr) { break; }
      ++contexts;
      lost += context->lost.load(std::memory_order_relaxed) ? 1 : 0;
    }
    report.unavailable = Api::unavailable();
    report.caveat = Api::caveat();
    if (report.unavailable == nullptr && contexts != 0 && lost == contexts) { report.unavailable = Api::fault(); }
    if (report.unavailable == nullptr && contexts == 0 && counts_[kNoContext].load(std::memory_order_relaxed) != 0) {
      report.unavailable = "no thread that passed a stream had a context of the device";
    }
    for (unsigned cause = 0; cause < kCounts; ++cause) {
      report.skips[cause] = {kNames[cause], counts_[cause].load(std::memory_order_relaxed)};
    }
    return report;
  }

  /// Events made so far, and those of them that are free; of all contexts.
  std::uint32_t events() const noexcept { return sum(&Pool::made); }
  std::uint32_t free_events() const noexcept { return sum(&Pool::free); }

 private:
  using Pool = EventPool<typename Api::Event>;
  using Slot = typename Pool::Slot;
  enum Count : unsigned {
    kCapturing,
    kNoContext,
    kPendingError,
    kNoEvent,
    kRefused,
    kOtherStream,
    kLost,
    kNegative,
    kCounts
  };
  static_assert(kCounts < DeviceReport::kSkips);

  /// The program's errno: between a call that failed and its look at why, a region may end.
  struct ErrnoKept {
    ErrnoKept() noexcept : kept(errno) {}
    ~ErrnoKept() { errno = kept; }
    ErrnoKept(const ErrnoKept&) = delete;
    ErrnoKept& operator=(const ErrnoKept&) = delete;
    const int kept;
  };

  struct Context {
    explicit Context(const EventContextId& which) noexcept : id(which) {}
    const EventContextId id;
    std::atomic<bool> lost{false};
    std::atomic<bool> growing{false};
    Pool events;
    StreamTable streams;
  };

  static Slot& slot_of(Mark mark) noexcept { return *reinterpret_cast<Slot*>(static_cast<std::uintptr_t>(mark)); }
  static Context& context_of(const Slot& slot) noexcept { return *static_cast<Context*>(slot.context); }

  /// The books of a context, made at its first mark; nullptr beyond the bound.
  Context* context_of(const EventContextId& id) noexcept {
    for (auto& place : contexts_) {
      Context* there = place.load(std::memory_order_acquire);
      if (there == nullptr) {
        auto* fresh = new (std::nothrow) Context(id);
        if (fresh == nullptr) { return nullptr; }
        if (place.compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) { return fresh; }
        delete fresh;
      }
      if (there->id == id) { return there; }
      // The same place with another number: that context has been reset, and its events are not to be asked about.
      if (there->id.handle == id.handle) { there->lost.store(true, std::memory_order_relaxed); }
    }
    return nullptr;
  }

  /// More free events: those that have finished since they were given back, else new ones.
  bool grow(Context& context) noexcept {
    const typename Api::Relaxed relaxed;
    bool asked = false;  // one question a time, whose answer holds for all older ones of that stream
    const std::uint32_t freed = context.events.recycle([&asked](Slot& slot) {
      if (slot.stream != nullptr && slot.stream->has_finished(slot.number)) { return true; }
      if (asked && slot.stream != nullptr) { return false; }
      asked = true;
      if (Api::query(slot.event) != EventStatus::done) { return false; }
      if (slot.stream != nullptr) { slot.stream->set_finished(slot.number); }
      return true;
    });
    if (freed != 0) { return true; }
    return context.events.grow(&context, [&context](typename Api::Event& event) {
      return Api::create(context.id, event) == EventStatus::done;
    });
  }
  /// While results are looked at, so that marks need not.
  void grow_ahead(Context& context) noexcept {
    if (context.growing.exchange(true, std::memory_order_acquire)) { return; }
    grow(context);
    context.growing.store(false, std::memory_order_release);
  }

  bool skip(EventStatus status) noexcept {
    switch (status) {
      case EventStatus::capturing:
        hush();
        count(kCapturing);
        break;
      case EventStatus::no_context:
        count(kNoContext);
        break;
      case EventStatus::pending_error:
        count(kPendingError);
        break;
      case EventStatus::lost:
        count(kLost);
        break;
      default:
        count(kRefused);
    }
    return false;
  }
  Elapsed answer(Context& context, EventStatus status) noexcept {
    note(context, status);
    if (status == EventStatus::lost) { return lose(); }
    if (status == EventStatus::capturing) { hush(); }
    return status == EventStatus::refused ? Elapsed::failed() : Elapsed::pending();
  }
  Elapsed lose() noexcept {
    count(kLost);
    return Elapsed::failed();
  }
  void note(Context& context, EventStatus status) noexcept {
    if (status == EventStatus::lost) { context.lost.store(true, std::memory_order_relaxed); }
  }
  void count(Count cause) noexcept { counts_[cause].fetch_add(1, std::memory_order_relaxed); }

  void hush() noexcept { hushed_until_.store(Api::now_ns() + kHushNs, std::memory_order_relaxed); }
  bool is_hushed() noexcept {
    const std::uint64_t until = hushed_until_.load(std::memory_order_relaxed);
    if (TAKT_LIKELY(until == 0)) { return false; }
    if (Api::now_ns() < until) { return true; }
    hushed_until_.store(0, std::memory_order_relaxed);
    return false;
  }

  std::uint32_t sum(std::uint32_t (Pool::*what)() const noexcept) const noexcept {
    std::uint32_t total = 0;
    for (const auto& place : contexts_) {
      if (const Context* context = place.load(std::memory_order_acquire)) { total += (context->events.*what)(); }
    }
    return total;
  }

  std::array<std::atomic<Context*>, kContexts> contexts_{};
  std::array<std::atomic<std::uint64_t>, kCounts> counts_{};
  std::atomic<std::uint64_t> hushed_until_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
