// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/drain.hpp>
#include <takt/detail/tree.hpp>
#include <takt/device.hpp>
#include <takt/stream.hpp>

#include "record/alarm.hpp"
#include "record/answered_span.hpp"
#include "record/lane_use.hpp"
#include "record/moment.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

TAKT_BEGIN_NAMESPACE
namespace detail {

class Clock;
class Recorder;
class StepSeries;

/// Where a device span began.
struct DeviceBegin {
  StreamRef stream;
  Mark mark = 0;
  bool marked = false;  ///< false: no mark could be taken, so that the span is skipped
  // While tracing:
  Moment submitted{};             ///< not after the mark was recorded
  std::uint64_t recorded_ns = 0;  ///< not before, on the steady clock
  /// Takes a mark on `stream`.
  static DeviceBegin now(StreamRef stream, const Clock& clock, bool begins) noexcept;
  /// The same while a time line is recorded.
  static DeviceBegin traced(StreamRef stream, const Clock& clock, bool begins) noexcept;
  void release() const noexcept {
    if (marked) { stream.ops->release(stream.handle, mark); }
  }
};

/// The device spans of one thread: of regions still open, and, in one ring a stream, those whose result has not come.
/// Never waits. Same threads as Recorder, but for ask() and Hold.
///
/// While a thread of Takt's own asks devices (gpu_polling), a ring is *shared*: ask() leaves results in its places,
/// and gives their marks back. The owner takes the results in at its next poll; it asks the device itself only where
/// it has to know.
class DeviceQueue {
 public:
  static constexpr std::uint32_t kPending = 1024;  ///< a stream; a span beyond is skipped and counted
  static constexpr std::uint32_t kAskedAt = 32;  ///< spans pending on a stream, from which on the end of a region asks
  static constexpr unsigned kStreams = 64;
  static constexpr unsigned kOpen = Tree::kMaxDepth;

  explicit DeviceQueue(MemoryBudget& budget) noexcept : budget_(budget) {}

  /// Whether another span on `stream` can be waited for.
  bool has_room(StreamRef stream) noexcept { return lane_with_room(stream) != nullptr; }
  /// Where there is none: takes in what is ready; if that is nothing, waits for the oldest span where the program asks
  /// for that. Whether there is room then.
  bool make_room(Recorder& recorder, StreamRef stream) noexcept;
  /// Keeps the begin of region `id`. Takes over the mark; returns false, having released it, where there is no room.
  bool opened(std::uint32_t id, const DeviceBegin& begin) noexcept;
  /// The stream of region `id`, whose begin stays where it is. Any thread that may end the region.
  StreamRef stream_of(std::uint32_t id) const noexcept;
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
  /// share the driver's locks with launches. Not where the device had nothing when it was asked last (Patience).
  void poll_if_due(Recorder& recorder, StreamRef stream) noexcept;
  void abandon(Recorder& recorder) noexcept;

  /// Asks for results on behalf of the owner, of shared rings that no other thread uses at the moment. Calls `rest`
  /// after a few questions, without a hold on anything. Any thread.
  void ask(const Recorder& recorder, const std::function<void()>& rest) noexcept;
  /// While it lives, the owner takes nothing in. One thread at a time (Registry's collect lock).
  class Hold {
   public:
    explicit Hold(Recorder& recorder) noexcept;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    /// \param look (AnsweredSpan&), of each answer that is there; what it sets `told` to stays.
    template <class Look>
    void each(Look look) const;

   private:
    const Recorder& recorder_;
    DeviceQueue& queue_;
    std::uint64_t lanes_ = 0;  // a bit each
  };
  std::uint64_t pending() const noexcept { return pending_.get(); }

 private:
  struct Open {
    std::atomic<std::uint32_t> id{0};  // 0: free; no region stands at place 0 of an arena
    DeviceBegin begin;
  };
  struct Span {
    Mark begin = 0;  // once answered, the length in ns
    Mark end = 0;
    Node* node = nullptr;
    StepSeries* series = nullptr;
    std::uint64_t row = 0;
    std::uint32_t cell = kNoCell;  // of its row, where others may tell it
    bool warmup = false;
    bool done = false;
    bool told = false;                                         // the reader's
    Relaxed<Elapsed::State> answer = Elapsed::State::pending;  // the asker's; its marks have been given back then
    bool is_known() const noexcept { return done || answer.get() != Elapsed::State::pending; }
  };
  static constexpr std::uint32_t kNoCell = CellRecord::kOther - 1;
  static constexpr std::uint32_t kBatchCell = CellRecord::kOther - 2;
  static constexpr std::uint32_t kInARow = 16;  // spans asked about without a rest, for which the owner is kept out
  enum class Row { none, last, more };          // of questions: what there was to ask
  /// When the marks of a span were submitted, and when the last one had been.
  struct Submitted {
    Moment begin;
    Moment end;
    std::uint64_t end_recorded_ns = 0;
  };
  struct Times {
    Submitted of[kPending];
  };
  /// Where the marks of a span lie, and when that was seen.
  struct Seen {
    Moment at;
    bool placed = false;
    DevicePlace begin;
    DevicePlace end;
  };
  struct Sights {
    Seen of[kPending];
  };
  struct Lane {
    StreamRef stream;                   // another one only while the ring is empty
    Relaxed<Times*> times = nullptr;    // made while a time line is recorded
    Relaxed<Sights*> sights = nullptr;  // likewise, of a shared ring
    std::uint32_t head = 0;             // moved only by the owner, which has entered `use` where the ring is shared
    Relaxed<std::uint32_t> tail;
    std::uint32_t probe = 0;
    Relaxed<bool> shared;
    LaneUse use;  // where it is shared
    Patience patience;
    Span span[kPending];
  };

  Lane* lane_of(StreamRef stream) noexcept;
  Lane* find(StreamRef stream) noexcept;
  std::uint32_t share(Recorder& recorder, Lane& lane, const Node* node, StepSeries* series) noexcept;
  void poll_lane(Recorder& recorder, Lane& lane, bool all) noexcept;
  void look_at(Recorder& recorder, Lane& lane, bool all, bool asks) noexcept;
  void take_in(Recorder& recorder, Lane& lane, bool all, bool asks) noexcept;
  void settle(Recorder& recorder, Lane& lane, Span& span, Elapsed result) noexcept;
  static void trace(const Recorder& recorder, const Lane& lane, const Span& span) noexcept;
  static Seen look_where(StreamRef stream, const Span& span, const Clock& clock) noexcept;
  static DeviceSpanRecord place_of(const Recorder& recorder, const Lane& lane, const Span& span,
                                   const Seen& seen) noexcept;
  /// nullptr: there is none for another span.
  Lane* lane_with_room(StreamRef stream) noexcept;
  /// Does nothing where the device cannot wait.
  void wait(Recorder& recorder, StreamRef stream) noexcept;
  static Row ask_lane(const Clock& clock, Lane& lane) noexcept;
  static Row ask_some(const Clock& clock, Lane& lane) noexcept;
  static AnsweredSpan answer_of(const Recorder& recorder, const Lane& lane, const Span& span) noexcept;

  MemoryBudget& budget_;
  std::array<Open, kOpen> open_;
  std::array<Lane*, kStreams> lane_{};
  Relaxed<unsigned> lanes_;
  Counter pending_;
};

template <class Look>
void DeviceQueue::Hold::each(Look look) const {
  for (unsigned index = 0; index < kStreams; ++index) {
    if ((lanes_ >> index & 1U) == 0) { continue; }
    Lane& lane = *queue_.lane_[index];
    const std::uint32_t tail = lane.tail.get();
    for (std::uint32_t at = lane.head; at != tail; ++at) {
      Span& span = lane.span[at % kPending];
      if (span.done || span.answer.get() == Elapsed::State::pending) { continue; }
      AnsweredSpan answered = answer_of(recorder_, lane, span);
      look(answered);
      span.told = answered.told;
    }
  }
}

/// Adds the length of a span.
void add_span_to(Summary& device, std::uint64_t ns, bool warmup, MemoryBudget* budget) noexcept;

/// Whether a program has asked to wait for a device whose stream has no room, rather than to skip regions.
extern std::atomic<bool> wait_when_full;

/// See most_in_flight(). Drivers are said to hold about 1 000 entries a stream, kernels of the program among them.
constexpr std::uint32_t kRecordsInFlight = 256;
extern std::atomic<std::uint32_t> records_in_flight;

/// Whether a thread of Takt's own asks devices for results, so that threads that record need not.
extern std::atomic<bool> gpu_polling;

/// Wakes that thread before its period is over: a stream is about to have no room left for marks.
extern Alarm gpu_poll_alarm;

/// The kinds of devices of this process that have something to report, in the order in which their streams were first
/// seen. Any thread.
class DeviceKinds {
 public:
  static constexpr unsigned kMost = 16;  ///< further ones are timed, but have no place in reports
  void add(const DeviceOps* ops) noexcept;
  /// nullptr beyond the last one.
  const DeviceOps* at(unsigned index) const noexcept {
    return index < kMost ? ops_[index].load(std::memory_order_acquire) : nullptr;  // pairs with add()
  }

 private:
  std::array<std::atomic<const DeviceOps*>, kMost> ops_{};
};
DeviceKinds& device_kinds() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
