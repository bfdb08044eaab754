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

/// Which regions of a key are timed, where that is one in so many. A small table by key: with more sampled keys than
/// it has room for, some share a place and take turns in it, which only makes sampling start again. One thread.
class Sampling {
 public:
  /// Whether this is the one in `every` regions of `key` to be timed. The first one is.
  bool takes(KeyIndex key, std::uint32_t every) noexcept;
  /// Starts again.
  void forget() noexcept { key_ = {}; }

 private:
  static constexpr std::size_t kPlaces = 64;
  std::array<std::uint32_t, kPlaces> count_{};
  std::array<KeyIndex, kPlaces> key_{};
};

/// The open regions of a thread of whose begin listeners were told, and which listeners. Its thread adds; any thread
/// takes, and of several that take the same region one gets it.
class ReportedRegions {
 public:
  /// \param listeners a bit each, the lowest eight. False where more regions are open than are timed.
  bool add(std::uint32_t id, unsigned listeners) noexcept;
  /// The listeners that were told of the region `id`; 0 if none was, or another thread has taken it.
  unsigned take(std::uint32_t id) noexcept;
  /// Its thread has ended.
  void forget() noexcept;

 private:
  std::array<std::atomic<std::uint32_t>, Tree::kMaxDepth> place_{};  // id of a region << 8 | listeners; 0: free
};

/// A cursor without room that belongs to no arena: of a thread that has given its recorder back.
inline Event* const kPastEnd = reinterpret_cast<Event*>(kBlockBytes);

/// All that one thread records into. Leaked on purpose and used again by later threads.
/// Owner thread only, unless a function says otherwise; of a thread that has ended, the thread that holds Registry's
/// collect lock.
class Recorder {
 public:
  /// The bytes that a recorder takes from the memory budget. Only the first page of its arena counts, because the rest
  /// is touched only if regions stay open for long. With pages of 64 KiB that is the whole arena.
  static std::size_t bytes(std::size_t page_bytes) noexcept;
  /// nullptr where there is no memory.
  static Recorder* create(Clock& clock, Shared& shared, std::uint32_t generation) noexcept;
  /// The recorder whose arena `address` points into.
  static Recorder* of(std::uintptr_t address) noexcept {
    const std::uintptr_t arena = (address - 1) & ~kArenaMask;  // a full arena's cursor is one past it
    return reinterpret_cast<Recorder*>(reinterpret_cast<const Arena*>(arena)->event[0]);
  }

  /// Makes this the recorder of the calling thread, and no longer.
  void attach(std::uint32_t thread, std::uint64_t warmup) noexcept;
  void detach_thread() noexcept;

  Region begin(KeyIndex key, Region flags) noexcept;
  Region begin_device(KeyIndex key, Region flags, StreamRef stream) noexcept;
  void end(Region region) noexcept;
  /// The same for a region of which nothing is to be noted.
  void end_plain(Region region) noexcept;
  /// The same for a step with no other flag, of the calling thread, by the processor's counter.
  /// \param at the thread's cursor, with room.
  void end_step(Region region, Event* at) noexcept;
  /// Remembers which listeners were told of the begin of a region, and tells once. Taking: any thread. False without
  /// room.
  bool reported(Region region, unsigned listeners) noexcept { return reported_.add(region_id(region), listeners); }
  unsigned take_reported(Region region) noexcept { return reported_.take(region_id(region)); }
  /// The device mark at which a region began. Any thread.
  bool take_device(Region region, DeviceBegin& begin) noexcept { return devices_.take(region_id(region), begin); }
  /// The stream of an open region that has one. Any thread that may end it.
  StreamRef stream_of(Region region) noexcept { return devices_.stream_of(region_id(region)); }
  /// A device span that began on another thread ends here, at `node` of this tree. Takes over both marks.
  void add_device(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
    devices_.ended(*this, node, nullptr, false, begin, end);
  }
  /// The place of `key` inside `around`, or, where that is nullptr, inside the region that is open.
  Node* child(Node* around, KeyIndex key) noexcept;
  /// A device span without host time, between two marks at `node`. Takes over both.
  void add_span(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
    device_ended(node, begin, end);
  }
  Region lap(Region region, KeyIndex key, Region flags) noexcept;
  /// The innermost open region of `key`; 0 if there is none, which counts as a loss unless `tolerant`.
  Region innermost(KeyIndex key, bool tolerant) noexcept;
  void count_loss(LossKind kind, KeyIndex key) noexcept;
  /// Whether `region`, which began here, has not ended.
  bool is_open(Region region) noexcept;
  /// Whether `region`, which began here, is so new that it is open for sure: without a fold, which the end needs
  /// anyway.
  bool has_just_started(Region region) noexcept;
  /// A begin and an end as a Scope makes them, to measure what they cost.
  void plain_pair(KeyIndex key) noexcept;
  void amount(Region region, Amount what, std::int64_t amount) noexcept;
  void skip(KeyIndex key) noexcept;
  /// Whether this is the one in `every` regions of `key` to be timed.
  bool sampled(KeyIndex key, std::uint32_t every) noexcept { return sampling_.takes(key, every); }
  void add(KeyIndex key, std::uint64_t length_ns) noexcept;
  void metric(std::uint64_t name, double value, const std::int64_t* step) noexcept;
  /// Whether a metric without a step of its own has number 0 here, although there are steps on other threads.
  bool lacks_steps() const noexcept { return !rows_.has_step() && shared_.series.has_any(); }
  void set_step(std::int64_t step) noexcept { rows_.set_step(step); }

  /// Folds what has been recorded; afterwards there is room for a few events.
  void fold() noexcept;
  /// Takes in device results that are ready. `all`: asks for every one, not only for the oldest.
  void poll(bool all = false) noexcept { devices_.poll(*this, all); }
  /// Of one stream, all.
  void poll(StreamRef stream) noexcept {
    fold();
    devices_.poll(*this, stream);
  }
  void poll_if_due(StreamRef stream) noexcept { devices_.poll_if_due(*this, stream); }
  bool device_pending() const noexcept { return devices_.pending() != 0; }
  /// Asks devices for results on behalf of the owner, which takes them in later. Any thread.
  DeviceQueue& devices() noexcept { return devices_; }
  /// Gives up device results that are still pending, counted.
  void drop_devices() noexcept { devices_.drop(*this); }

  /// Another thread has ended `region`, which belongs to this one. Any thread.
  bool leave_notice(std::uint32_t id, std::uint64_t end_ns) noexcept { return notices_.leave(id, end_ns); }

  /// Copies what is not folded yet. Any thread that keeps the owner from ending meanwhile (Registry's lock).
  void copy(Unfolded& copy) const noexcept {
    while (!try_copy(copy, kCopyTries)) {}
  }
  /// The same, `tries` times at most: false where the owner has folded each time meanwhile.
  bool try_copy(Unfolded& copy, unsigned tries) const noexcept;
  static constexpr unsigned kCopyTries = 64;

  /// Guards all that the owner does except for a plain begin or end. An operator new of the program that the recorder
  /// calls may have regions: those that need the slow way see nested(), and leave the recorder alone.
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

  /// Returns whether the owner is at work here: its own allocation has called the program.
  bool is_inside() const noexcept { return inside_.own(); }

  /// Around whatever copy() must see whole, or not at all: it takes no copy between two numbers that differ.
  class Write {
   public:
    TAKT_ALWAYS_INLINE explicit Write(Recorder& recorder) noexcept : sequence_(recorder.sequence_) {
      sequence_.add(1);
#if !defined(__SANITIZE_THREAD__)  // which does not know fences, and does not need this one
      // Pairs with the acquire of each event in copy(): one that is written from here on, also behind this block, must
      // not be seen before the number. Other fields are stored with release themselves.
      std::atomic_thread_fence(std::memory_order_release);
#endif
    }
    TAKT_ALWAYS_INLINE ~Write() { sequence_.add(1); }
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;

   private:
    Counter& sequence_;
  };

  /// Around a change of the tree that no event stands for: it gets a position of its own, so that readers see it whole.
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

  /// A device span that was asked for is not taken; `series`: the one whose open step misses it, may be nullptr.
  void device_skipped(TreeKey key, StepSeries* series) noexcept;

  /// A region that began with `opener` has ended on this thread: for the time line.
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
  /// Whether regions were given up as forgotten that report_forgotten_regions() has not told.
  bool has_unreported() const noexcept { return has_unreported_; }
  void forget_unreported() noexcept { has_unreported_ = false; }
  /// Says on stderr which regions were given up. Any thread.
  void report_forgotten_regions(const KeyTable& keys);
  /// Gives up regions that are still open, counted as not ended. Of a thread that has ended.
  void drop_open() noexcept;
  /// What passed in the last `ns` is in no region that is open.
  void leave_out(std::uint64_t ns) noexcept;
  /// Forgets everything; for the next thread. Nothing may be open or pending.
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
  /// Where events go on.
  ClockConverter& converter() noexcept {
    converter_.go_on(source_.own(), last_ticks_.own());
    return converter_;
  }
  std::uint32_t place_of(const Event* event) const noexcept { return static_cast<std::uint32_t>(event - arena_.event); }
  /// What stands from `from` to `to`, the next to be folded.
  EventRun run_of(const Event* from, const Event* to) const noexcept {
    return {from, static_cast<std::uint32_t>(to - from), place_of(from), position_.own()};
  }
  void follow_clock() noexcept;
  void step_ended(Node* batch) noexcept;
  void trace(const EventRun& run, std::uint64_t ticks, std::uint64_t unmatched = 0) noexcept;
  void take_end(Region region) noexcept;
  void region_ended(Region region, Node* node) noexcept;
  void device_region_ended(Region region, Node* node) noexcept;
  DeviceBegin mark(StreamRef stream, bool begins) noexcept;
  void device_opened(Region region, const DeviceBegin& begin) noexcept;
  void device_ended(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept;
  KeyIndex key_of(std::uint32_t id) const noexcept;

  Arena& arena_;
  Clock& clock_;
  Shared& shared_;
  std::uint32_t generation_;
  Relaxed<std::uint32_t> thread_;
  std::atomic<Event**> home_;  // where this recorder's cursor lives: the thread's own, or parked_
  Event* parked_ = nullptr;
  Counter sequence_;        // odd while folding
  Relaxed<Event*> folded_;  // the first event not folded yet
  Counter position_;        // events folded so far
  Relaxed<bool> inside_;    // see Inside
  Counter last_ticks_;
  Relaxed<ClockSource> source_;
  ClockConverter converter_;
  Node* last_ended_ = nullptr;
  bool full_ = false;  // no block is free: `taken_` says which places are not
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

/// Whether events are kept for a time line.
extern std::atomic<bool> tracing;

}  // namespace detail
TAKT_END_NAMESPACE
