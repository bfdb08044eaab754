// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>
#include <takt/stream.hpp>

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

class Recorder;
class Series;

/// Where a device span began.
struct DeviceBegin {
  StreamRef stream;
  Mark mark = 0;
  bool marked = false;  ///< false: no mark could be taken, so that the span is skipped
  void release() const noexcept {
    if (marked) { stream.ops->release(stream.handle, mark); }
  }
};

/// The device spans of one thread: of regions still open, and, in one ring a stream, those whose result has not come.
/// Never waits. Same threads as Recorder.
class DeviceQueue {
 public:
  static constexpr std::uint32_t kPending = 1024;  ///< a stream; a span beyond is skipped and counted
  static constexpr unsigned kStreams = 64;
  static constexpr std::uint32_t kPatience = 15;
  static constexpr unsigned kOpen = Tree::kMaxDepth;

  explicit DeviceQueue(MemoryBudget& budget) noexcept : budget_(budget) {}

  /// Whether another span on `stream` can be waited for.
  bool has_room(StreamRef stream) noexcept;
  /// Keeps the begin of region `id`. Takes over the mark; returns false, having released it, where there is no room.
  bool opened(std::uint32_t id, const DeviceBegin& begin) noexcept;
  /// Takes the begin of region `id`, once. Any thread.
  bool take(std::uint32_t id, DeviceBegin& begin) noexcept;
  /// Gives up the begins of all open regions.
  void forget_open() noexcept;
  /// The region of `node` lies between two marks; its result is waited for. Takes over both marks. Nothing may be unfolded.
  void ended(Recorder& recorder, Node* node, Series* series, bool warmup, StreamRef stream, Mark begin,
             Mark end) noexcept;

  /// Takes in results that are ready, of every stream. `all`: all of them, also those of a stream that come out of order.
  void poll(Recorder& recorder, bool all) noexcept;
  /// All of one stream; of every one where that has no lane.
  void poll(Recorder& recorder, StreamRef stream) noexcept;
  /// The same for one stream, at the end of a region: after a look in vain, not before there is more to be found.
  void glance(Recorder& recorder, StreamRef stream) noexcept;
  void abandon(Recorder& recorder) noexcept;
  std::uint64_t pending() const noexcept { return pending_.get(); }

 private:
  struct Open {
    std::atomic<std::uint32_t> id{0};  // 0: free; no region stands at place 0 of an arena
    DeviceBegin begin;
  };
  struct Span {
    Mark begin = 0;
    Mark end = 0;
    Node* node = nullptr;
    Series* series = nullptr;
    std::uint64_t row = 0;
    bool warmup = false;
    bool done = false;
  };
  struct Lane {
    StreamRef stream;
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t probe = 0;
    std::uint32_t patience = 0;  // regions that may end before the next glance
    Span span[kPending];
  };

  Lane* lane_of(StreamRef stream) noexcept;
  Lane* find(StreamRef stream) noexcept;
  void poll_lane(Recorder& recorder, Lane& lane, bool all) noexcept;
  void settle(Recorder& recorder, Lane& lane, Span& span, Elapsed result) noexcept;

  MemoryBudget& budget_;
  std::array<Open, kOpen> open_;
  std::array<Lane*, kStreams> lane_{};
  unsigned lanes_ = 0;
  Counter pending_;
};

/// The kinds of devices of this process that have something to report, in the order in which their streams were first seen.
/// Any thread.
class DeviceKinds {
 public:
  static constexpr unsigned kMost = 16;  ///< further ones are timed, but have no place in reports
  void add(const DeviceOps* ops) noexcept;
  /// nullptr beyond the last one.
  const DeviceOps* at(unsigned index) const noexcept {
    return index < kMost ? ops_[index].load(std::memory_order_acquire) : nullptr;
  }

 private:
  std::array<std::atomic<const DeviceOps*>, kMost> ops_{};
};
DeviceKinds& device_kinds() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
