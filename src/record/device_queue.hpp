// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/detail/drain.hpp>
#include <takt/detail/tree.hpp>
#include <takt/stream.hpp>

#include "record/outbox.hpp"

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

class Clock;
class Recorder;
class StepSeries;

/// Start of a device span.
struct DeviceBegin {
  StreamRef stream;
  Mark mark = 0;
  bool marked = false;             ///< false: no device event could be recorded; the span is skipped
  std::uint64_t submitted_ns = 0;  ///< while tracing: a time not later than the event's submission
  /// Records a device event on `stream`. \param start nullptr: at the start of a region; else at the end of the one
  /// with this recorded start on the same stream.
  static DeviceBegin now(StreamRef stream, const Clock& clock, const DeviceBegin* start) noexcept;
  /// Like now(), while a time line is recorded.
  static DeviceBegin traced(StreamRef stream, const Clock& clock, const DeviceBegin* start) noexcept;
  void release() const noexcept {
    if (marked) { stream.ops->release(stream.handle, mark); }
  }
};

/// The device spans of one thread: starts of open regions, and a ring of unresolved spans per stream. Never blocks.
/// Same thread rules as Recorder.
class DeviceQueue {
 public:
  static constexpr std::uint32_t kPending = 1024;  ///< per stream; further spans are skipped and counted
  static constexpr std::uint32_t kAskedAt = 32;    ///< pending spans on a stream from which region ends poll
  static constexpr unsigned kStreams = 64;
  static constexpr unsigned kOpen = Tree::kMaxDepth;
  static constexpr std::uint32_t kClaimed = 0xFFFFFFFF;

  explicit DeviceQueue(MemoryBudget& budget) noexcept : budget_(budget) {}

  /// Returns true if another span on `stream` can be queued.
  bool has_space(StreamRef stream) noexcept { return lane_with_space(stream) != nullptr; }
  /// Takes ready results to free space. Returns true if there is space then.
  bool make_space(Recorder& recorder, StreamRef stream) noexcept;
  /// Stores the start of region `id` and takes ownership of its event. Returns false and releases the event if there is
  /// no space.
  bool opened(std::uint32_t id, const DeviceBegin& begin) noexcept;
  /// Returns the stream of region `id`, whose start stays stored. Any thread that may end the region.
  StreamRef stream_of(std::uint32_t id) noexcept;
  /// Removes and returns the start of region `id`; succeeds once. Any thread.
  bool take(std::uint32_t id, DeviceBegin& begin) noexcept;
  /// Drops the starts of all open regions.
  void forget_open() noexcept;
  /// Queues a span between two device events for `node` and takes ownership of both. REQUIRES: all events are folded.
  void ended(Recorder& recorder, Node* node, StepSeries* series, bool warmup, const DeviceBegin& begin,
             const DeviceBegin& end) noexcept;

  /// Takes ready results of all streams. `all`: also results that are ready out of order.
  void poll(Recorder& recorder, bool all) noexcept;
  /// Takes all ready results of one stream; of every stream if it has no lane.
  void poll(Recorder& recorder, StreamRef stream) noexcept;
  /// Polls one stream at the end of a region inside a step, if at least kAskedAt spans are pending: queries share the
  /// driver's locks with launches. Backs off after polls without results (PollBackoff).
  void poll_if_due(Recorder& recorder, StreamRef stream) noexcept;
  void drop(Recorder& recorder) noexcept;

  std::uint64_t pending() const noexcept { return pending_.get(); }

 private:
  struct Open {
    std::atomic<std::uint32_t> id{0};  // 0: unused; no region has id 0 or kClaimed
    DeviceBegin begin;
  };
  struct Span {
    Mark begin = 0;
    Mark end = 0;
    Node* node = nullptr;
    StepSeries* series = nullptr;
    std::uint64_t row = 0;
    bool warmup = false;
    bool done = false;
  };
  /// Host times at which a span's events were submitted, in ns; 0: unknown.
  struct Submitted {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  struct Times {
    Submitted of[kPending];
  };
  /// Device times of a span's events, and the host time at which they were read.
  struct Seen {
    std::uint64_t at_ns = 0;
    bool placed = false;
    DevicePlace begin;
    DevicePlace end;
  };
  struct Lane {
    StreamRef stream;        // changes only while the ring is empty
    Times* times = nullptr;  // allocated while a time line is recorded
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t probe = 0;
    PollBackoff timeout;
    Span span[kPending];
  };

  Lane* lane_of(StreamRef stream) noexcept;
  Lane* find(StreamRef stream) noexcept;
  void poll_lane(Recorder& recorder, Lane& lane, bool all) noexcept;
  void take_in(Recorder& recorder, Lane& lane, bool all) noexcept;
  void settle(Recorder& recorder, Lane& lane, Span& span, Elapsed result) noexcept;
  static void trace(const Recorder& recorder, const Lane& lane, const Span& span) noexcept;
  static Seen check_span(StreamRef stream, const Span& span, const Clock& clock) noexcept;
  static DeviceSpanRecord place_of(const Recorder& recorder, const Lane& lane, const Span& span,
                                   const Seen& seen) noexcept;
  /// nullptr: no space for another span.
  Lane* lane_with_space(StreamRef stream) noexcept;

  MemoryBudget& budget_;
  std::array<Open, kOpen> open_;
  std::array<Lane*, kStreams> lane_{};
  Relaxed<unsigned> lanes_;
  Counter pending_;
};

/// Adds a span of `ns` to the summary.
void add_span_to(Summary& device, std::uint64_t ns, bool warmup, MemoryBudget* budget) noexcept;

/// See max_in_flight(). Drivers reportedly queue about 1 000 entries per stream, including the program's kernels.
constexpr std::uint32_t kRecordsInFlight = 256;
extern std::atomic<std::uint32_t> records_in_flight;

/// The process's device kinds that have something to report, in the order in which their streams were first seen. Any
/// thread.
class DeviceKinds {
 public:
  static constexpr unsigned kMax = 16;  ///< further ones are timed, but missing from reports
  void add(const DeviceOps* ops) noexcept;
  /// Sets a hook that is called when a kind is first seen, on the thread that sees it.
  void on_new(bool (*hook)() noexcept) noexcept { hook_.store(hook, std::memory_order_release); }  // pairs with add()
  /// Returns nullptr after the last kind.
  const DeviceOps* at(unsigned index) const noexcept {
    return index < kMax ? ops_[index].load(std::memory_order_acquire) : nullptr;  // pairs with add()
  }

 private:
  std::array<std::atomic<const DeviceOps*>, kMax> ops_{};
  std::atomic<bool (*)() noexcept> hook_{nullptr};
};
DeviceKinds& device_kinds() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
