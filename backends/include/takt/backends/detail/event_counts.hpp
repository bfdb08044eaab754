// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/event_api.hpp>
#include <takt/device.hpp>

#include <array>
#include <atomic>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a device that times by events has not timed, and why. Any thread.
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
  /// A mark was not made, for what the driver has answered.
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

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
