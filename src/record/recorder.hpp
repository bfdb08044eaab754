// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/clock.hpp"
#include "record/device_queue.hpp"
#include "record/fold.hpp"
#include "record/names.hpp"
#include "record/shared.hpp"
#include "record/step_rows.hpp"
#include "record/step_series.hpp"

#include <takt/detail/hot.hpp>
#include <takt/detail/notices.hpp>
#include <takt/detail/tree.hpp>
#include <takt/key.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Selects one in so many regions of a key to be timed. A small table by key: extra keys share an entry, which only
/// restarts their sampling. Not thread-safe.
class Sampling {
 public:
  /// Returns true for one in `every` regions of `key`, starting with the first.
  bool takes(KeyIndex key, std::uint32_t every) noexcept;
  /// Restarts sampling.
  void forget() noexcept { key_ = {}; }

 private:
  static constexpr std::size_t kPlaces = 64;
  std::array<std::uint32_t, kPlaces> count_{};
  std::array<KeyIndex, kPlaces> key_{};
};

/// Open regions of a thread whose begin was reported, with their listeners. The owner adds; any thread takes. If
/// several take the same region, one gets it.
class ReportedRegions {
 public:
  /// \param listeners one bit each, the lowest eight. Returns false if more regions are open than are timed.
  bool add(std::uint32_t id, unsigned listeners) noexcept;
  /// Returns the listeners of region `id`; 0 if none, or if another thread took it.
  unsigned take(std::uint32_t id) noexcept;
  /// Clears the entries after the thread ended.
  void forget() noexcept;

 private:
  std::array<std::atomic<std::uint32_t>, Tree::kMaxDepth> place_{};  // id of a region << 8 | listeners; 0: unused
};

/// A cursor without space, in no arena: for a thread that has returned its recorder.
inline Event* const kPastEnd = reinterpret_cast<Event*>(kBlockBytes);

/// Everything that one thread records into. Leaked on purpose and reused by later threads. Owner thread only, unless
/// stated otherwise. After the thread ended: the thread that holds Registry's collect lock.
class Recorder {
 public:
  /// Returns the memory a recorder takes from the budget, in bytes. Counts only the first page of its arena, because
  /// the rest is touched only if regions stay open for long. With pages of 64 KiB that is the whole arena.
  static std::size_t bytes(std::size_t page_bytes) noexcept;
  /// Returns nullptr without memory.
  static Recorder* create(Clock& clock, Shared& shared, std::uint32_t generation) noexcept;
  /// Returns the recorder whose arena contains `address`.
  static Recorder* of(std::uintptr_t address) noexcept {
    const std::uintptr_t arena = (address - 1) & ~kArenaMask;  // the cursor of a full arena is one past its end
    return reinterpret_cast<Recorder*>(reinterpret_cast<const Arena*>(arena)->event[0]);
  }

  /// Attaches this recorder to the calling thread, or detaches it.
  void attach(std::uint32_t thread, std::uint64_t warmup) noexcept;
  void detach_thread() noexcept;

  Region begin(KeyIndex key, Region flags) noexcept;
  Region begin_device(KeyIndex key, Region flags, StreamRef stream) noexcept;
  void end(Region region) noexcept;
  /// Ends a region without flags.
  void end_plain(Region region) noexcept;
  /// Ends a step without other flags, begun by the calling thread, with the processor's counter.
  /// \param at the thread's cursor, with space.
  void end_step(Region region, Event* at) noexcept;
  /// Stores which listeners saw a region's begin; they are taken once. Taking: any thread. Returns false without space.
  bool reported(Region region, unsigned listeners) noexcept { return reported_.add(region_id(region), listeners); }
  unsigned take_reported(Region region) noexcept { return reported_.take(region_id(region)); }
  /// Takes the device event at which a region began. Any thread.
  bool take_device(Region region, DeviceBegin& begin) noexcept { return devices_.take(region_id(region), begin); }
  /// Returns the stream of an open region that has one. Any thread that may end it.
  StreamRef stream_of(Region region) noexcept { return devices_.stream_of(region_id(region)); }
  /// Queues a device span that began on another thread and ends at `node` of this tree. Takes ownership of both events.
  void add_device(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
    devices_.ended(*this, node, nullptr, false, begin, end);
  }
  /// Returns the node of `key` below `around`, or, if that is nullptr, below the open region.
  Node* child(Node* around, KeyIndex key) noexcept;
  /// Queues a device span without host time, between two events, at `node`. Takes ownership of both.
  void add_span(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
    device_ended(node, begin, end);
  }
  Region lap(Region region, KeyIndex key, Region flags) noexcept;
  /// Returns the innermost open region of `key`; 0 if none, which is counted unless `tolerant`.
  Region innermost(KeyIndex key, bool tolerant) noexcept;
  void count_loss(LossKind kind, KeyIndex key) noexcept;
  /// Returns true if `region`, begun on this thread, has not ended.
  bool is_open(Region region) noexcept;
  /// Returns true if `region`, begun on this thread, is so recent that it must be open. Avoids a fold, which the end
  /// does anyway.
  bool has_just_started(Region region) noexcept;
  /// Records a start and an end like a Scope, to measure their cost.
  void plain_pair(KeyIndex key) noexcept;
  void amount(Region region, Amount what, std::int64_t amount) noexcept;
  void skip(KeyIndex key) noexcept;
  /// Returns true for one in `every` regions of `key`.
  bool sampled(KeyIndex key, std::uint32_t every) noexcept { return sampling_.takes(key, every); }
  void add(KeyIndex key, std::uint64_t length_ns) noexcept;
  void metric(std::uint64_t name, double value, const std::int64_t* step) noexcept;
  /// Returns true if a metric without a step gets number 0 here although other threads have steps.
  bool lacks_steps() const noexcept { return !rows_.has_step() && shared_.series.has_any(); }
  void set_step(std::int64_t step) noexcept { rows_.set_step(step); }

  /// Folds recorded events; afterwards there is space for a few more.
  void fold() noexcept;
  /// Takes ready device results. `all`: polls all, not only the oldest.
  void poll(bool all = false) noexcept { devices_.poll(*this, all); }
  /// Takes all ready results of one stream.
  void poll(StreamRef stream) noexcept {
    fold();
    devices_.poll(*this, stream);
  }
  void poll_if_due(StreamRef stream) noexcept { devices_.poll_if_due(*this, stream); }
  bool device_pending() const noexcept { return devices_.pending() != 0; }
  /// Returns the queue, to query devices on behalf of the owner, which takes the results later. Any thread.
  DeviceQueue& devices() noexcept { return devices_; }
  /// Drops pending device results and counts them.
  void drop_devices() noexcept { devices_.drop(*this); }

  /// Leaves a notice that another thread ended `region` of this one. Any thread.
  bool leave_notice(std::uint32_t id, std::uint64_t end_ns) noexcept { return notices_.leave(id, end_ns); }

  /// Copies the unfolded events. Any thread that prevents the owner from ending meanwhile (Registry's lock).
  void copy(Unfolded& copy) const noexcept {
    while (!try_copy(copy, kCopyTries)) {}
  }
  /// Like copy(), with at most `tries` attempts: returns false if the owner folded during each.
  bool try_copy(Unfolded& copy, unsigned tries) const noexcept;
  static constexpr unsigned kCopyTries = 64;

  /// Guards everything the owner does except a plain begin or end. The program's operator new, called by the recorder,
  /// may use regions itself: those that need the slow path see nested() and skip the recorder.
  class ReentryGuard {
   public:
    explicit ReentryGuard(Recorder& recorder) noexcept : recorder_(recorder), before_(recorder.inside_.own()) {
      recorder_.inside_.set(true);
    }
    ~ReentryGuard() { leave(); }
    void leave() noexcept { recorder_.inside_.set(before_); }
    ReentryGuard(const ReentryGuard&) = delete;
    ReentryGuard& operator=(const ReentryGuard&) = delete;
    bool nested() const noexcept { return before_; }

   private:
    Recorder& recorder_;
    const bool before_;
  };

  /// Returns true if the owner is inside the recorder: its own allocation called the program.
  bool is_inside() const noexcept { return inside_.own(); }

  /// Guards changes that copy() must see completely or not at all: it retries if the sequence number changed.
  class Write {
   public:
    TAKT_ALWAYS_INLINE explicit Write(Recorder& recorder) noexcept : sequence_(recorder.sequence_) {
      sequence_.add(1);
#if !defined(__SANITIZE_THREAD__)  // does not support fences, and does not need this one
      // Pairs with the acquire of each event in copy(): an event written from here on, also after this scope, must not
      // be seen before the number. Other fields are stored with release.
      std::atomic_thread_fence(std::memory_order_release);
#endif
    }
    TAKT_ALWAYS_INLINE ~Write() { sequence_.add(1); }
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;

   private:
    Counter& sequence_;
  };

  /// Guards a change of the tree without an event: it gets its own position, so that readers see it completely.
  class Change {
   public:
    explicit Change(Recorder& recorder) noexcept : recorder_(recorder), write_(recorder) {
      recorder_.tree_.set_position(recorder_.position_.own());
    }
    ~Change() { recorder_.position_.add(1); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Recorder& recorder_;
    Write write_;
  };

  /// Counts a device span that was requested but not recorded. `series`: the one whose open step misses it; may be
  /// nullptr.
  void device_skipped(TreeKey key, StepSeries* series) noexcept;

  /// Records a region that began with `opener` and ended on this thread, for the time line.
  void trace_elsewhere(const Recorder& opener, Region region, KeyIndex key, std::uint64_t begin_ns,
                       std::uint64_t end_ns) noexcept;

  Tree& tree() noexcept { return tree_; }
  const Tree& tree() const noexcept { return tree_; }
  Outbox* outbox() const noexcept { return outbox_.get(); }
  Clock& clock() const noexcept { return clock_; }
  ClockSource source() const noexcept { return source_.get(); }
  std::uint32_t thread() const noexcept { return thread_.get(); }
  std::uint32_t generation() const noexcept { return generation_; }
  /// Acquire: pairs with detach_thread().
  bool owner_alive() const noexcept { return home_.load(std::memory_order_acquire) != &parked_; }
  /// Returns true if regions were dropped that report_forgotten_regions() has not reported.
  bool has_unreported() const noexcept { return has_unreported_; }
  void forget_unreported() noexcept { has_unreported_ = false; }
  /// Reports the dropped regions on stderr. Any thread.
  void report_forgotten_regions(const KeyTable& keys);
  /// Drops regions that are still open, counted as not ended. Requires that the thread has ended.
  void drop_open() noexcept;
  /// Excludes the last `ns` from all open regions.
  void leave_out(std::uint64_t ns) noexcept;
  /// Clears everything for the next thread. Nothing may be open or pending.
  void recycle() noexcept;

 private:
  Recorder(Arena& arena, Clock& clock, Shared& shared, std::uint32_t generation) noexcept;
  std::uint64_t now() const noexcept { return clock_.ticks(source_.own()); }
  Event* own_cursor() const noexcept {
    return __atomic_load_n(home_.load(std::memory_order_relaxed), __ATOMIC_RELAXED);
  }
  /// Publishes the events before `to`. Release: pairs with copy().
  void set_own_cursor(Event* to) noexcept {
    __atomic_store_n(home_.load(std::memory_order_relaxed), to, __ATOMIC_RELEASE);
  }
  std::uint32_t unfolded() noexcept;
  Event* space_for(unsigned events) noexcept;
  void next_block() noexcept;
  void record(const Event* events, unsigned count) noexcept;
  template <class Stamp>
  Region begin_at(KeyIndex key, Region flags, Stamp stamp) noexcept;
  void fold_until(Event* to) noexcept;
  void take_notices(Event* to) noexcept;
  void take_news() noexcept;
  using Places = std::array<std::uint64_t, kBlocks>;
  template <class Use>
  void each_open_id(Use use) const noexcept;
  Places taken_places() const noexcept;
  std::size_t free_block() noexcept;
  Region begin_between(KeyIndex key, std::uint64_t ticks) noexcept;
  void give_place(std::uint32_t id) noexcept;
  /// Returns the converter, positioned at the last event.
  ClockConverter& converter() noexcept {
    converter_.go_on(source_.own(), last_ticks_.own());
    return converter_;
  }
  std::uint32_t place_of(const Event* event) const noexcept { return static_cast<std::uint32_t>(event - arena_.event); }
  /// Returns the events from `from` to `to`, the next to fold.
  EventRun run_of(const Event* from, const Event* to) const noexcept {
    return {from, static_cast<std::uint32_t>(to - from), place_of(from), position_.own()};
  }
  void follow_clock() noexcept;
  void step_ended(Node* batch) noexcept;
  void epoch_ended(const Node* epoch) noexcept;
  void trace(const EventRun& run, std::uint64_t ticks, std::uint64_t unmatched = 0) noexcept;
  void take_end(Region region) noexcept;
  void region_ended(Region region, Node* node) noexcept;
  void device_region_ended(Region region, Node* node) noexcept;
  DeviceBegin mark(StreamRef stream, const DeviceBegin* start) noexcept;
  void device_opened(Region region, const DeviceBegin& begin) noexcept;
  void device_ended(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept;
  KeyIndex key_of(std::uint32_t id) const noexcept;

  Arena& arena_;
  Clock& clock_;
  Shared& shared_;
  std::uint32_t generation_;
  Relaxed<std::uint32_t> thread_;
  std::atomic<Event**> home_;  // address of this recorder's cursor: the thread's own, or parked_
  Event* parked_ = nullptr;
  Counter sequence_;        // odd while folding
  Relaxed<Event*> folded_;  // the first unfolded event
  Counter position_;        // number of folded events
  Relaxed<bool> inside_;    // see ReentryGuard
  Counter last_ticks_;
  Relaxed<ClockSource> source_;
  ClockConverter converter_;
  Node* last_ended_ = nullptr;
  bool full_ = false;  // no block is free: `taken_` has the places in use
  Places taken_{};
  Notices notices_;
  ThreadOutbox outbox_;
  Sampling sampling_;
  std::uint64_t rechecked_ns_ = 0;
  bool has_unreported_ = false;
  std::atomic<std::uint64_t> reported_given_up_{0};
  ReportedRegions reported_;
  DeviceQueue devices_;
  Tree tree_;
  StepRows rows_;
};

/// True while events are kept for a time line.
extern std::atomic<bool> tracing;

}  // namespace detail
TAKT_END_NAMESPACE
