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

/// Where a device span began.
struct DeviceBegin {
  StreamRef stream;
  Mark mark = 0;
  bool marked = false;             ///< false: no mark could be taken, so that the span is skipped
  std::uint64_t submitted_ns = 0;  ///< while tracing: not after the mark was recorded
  /// Takes a mark on `stream`.
  static DeviceBegin now(StreamRef stream, const Clock& clock, bool begins) noexcept;
  /// The same while a time line is recorded.
  static DeviceBegin traced(StreamRef stream, const Clock& clock, bool begins) noexcept;
  void release() const noexcept {
    if (marked) { stream.ops->release(stream.handle, mark); }
  }
};

/// The device spans of one thread: of regions still open, and, in one ring a stream, those whose result has not come.
/// Never waits. Same threads as Recorder.
class DeviceQueue {
 public:
  static constexpr std::uint32_t kPending = 1024;  ///< a stream; a span beyond is skipped and counted
  static constexpr std::uint32_t kAskedAt = 32;  ///< spans pending on a stream, from which on the end of a region asks
  static constexpr unsigned kStreams = 64;
  static constexpr unsigned kOpen = Tree::kMaxDepth;
  static constexpr std::uint32_t kClaimed = 0xFFFFFFFF;

  explicit DeviceQueue(MemoryBudget& budget) noexcept : budget_(budget) {}

  /// Whether another span on `stream` can be waited for.
  bool has_space(StreamRef stream) noexcept { return lane_with_space(stream) != nullptr; }
  /// Where there is none: takes in what is ready. Whether there is room then.
  bool make_space(Recorder& recorder, StreamRef stream) noexcept;
  /// Keeps the begin of region `id`. Takes over the mark; returns false, having released it, where there is no room.
  bool opened(std::uint32_t id, const DeviceBegin& begin) noexcept;
  /// The stream of region `id`, whose begin stays where it is. Any thread that may end the region.
  StreamRef stream_of(std::uint32_t id) noexcept;
  /// Takes the begin of region `id`, once. Any thread.
  bool take(std::uint32_t id, DeviceBegin& begin) noexcept;
  /// Gives up the begins of all open regions.
  void forget_open() noexcept;
  /// The region of `node` lies between two marks; its result is waited for. Takes over both marks. Nothing may be
  /// unfolded.
  void ended(Recorder& recorder, Node* node, StepSeries* series, bool warmup, const DeviceBegin& begin,
             const DeviceBegin& end) noexcept;

  /// Takes in results that are ready, of every stream. `all`: all of them, also those of a stream that come out of
  /// order.
  void poll(Recorder& recorder, bool all) noexcept;
  /// All of one stream; of every one where that has no lane.
  void poll(Recorder& recorder, StreamRef stream) noexcept;
  /// The same for one stream, at the end of a region inside a step, where kAskedAt spans are pending there: questions
  /// share the driver's locks with launches. Not where the device had nothing when it was asked last (PollBackoff).
  void poll_if_due(Recorder& recorder, StreamRef stream) noexcept;
  void drop(Recorder& recorder) noexcept;

  std::uint64_t pending() const noexcept { return pending_.get(); }

 private:
  struct Open {
    std::atomic<std::uint32_t> id{0};  // 0: free; no region stands at place 0 of an arena, or at kClaimed
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
  /// When the marks of a span were submitted; 0: not known.
  struct Submitted {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  struct Times {
    Submitted of[kPending];
  };
  /// Where the marks of a span lie, and when that was seen.
  struct Seen {
    std::uint64_t at_ns = 0;
    bool placed = false;
    DevicePlace begin;
    DevicePlace end;
  };
  struct Lane {
    StreamRef stream;        // another one only while the ring is empty
    Times* times = nullptr;  // made while a time line is recorded
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
  /// nullptr: there is none for another span.
  Lane* lane_with_space(StreamRef stream) noexcept;

  MemoryBudget& budget_;
  std::array<Open, kOpen> open_;
  std::array<Lane*, kStreams> lane_{};
  Relaxed<unsigned> lanes_;
  Counter pending_;
};

/// Adds the length of a span.
void add_span_to(Summary& device, std::uint64_t ns, bool warmup, MemoryBudget* budget) noexcept;

/// See max_in_flight(). Drivers are said to hold about 1 000 entries a stream, kernels of the program among them.
constexpr std::uint32_t kRecordsInFlight = 256;
extern std::atomic<std::uint32_t> records_in_flight;

/// The kinds of devices of this process that have something to report, in the order in which their streams were first
/// seen. Any thread.
class DeviceKinds {
 public:
  static constexpr unsigned kMax = 16;  ///< further ones are timed, but have no place in reports
  void add(const DeviceOps* ops) noexcept;
  /// From now on `hook` is called when a kind is first seen, on the thread that does.
  void on_new(bool (*hook)() noexcept) noexcept { hook_.store(hook, std::memory_order_release); }  // pairs with add()
  /// nullptr beyond the last one.
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
