// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/event.hpp>

#include "clock.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Tells the times of the events of one thread, one after the other, on the axis of Clock::to_ns and to the same
/// nanosecond. From one event to the next the way is short and mostly needs 64 bits only: that is the fast way.
class Ruler {
 public:
  /// \param last_ticks of the event before the first.
  Ruler(const Clock& clock, ClockSource source, std::uint64_t last_ticks) noexcept : clock_(&clock), source_(source) {
    start_at(last_ticks);
  }

  /// \param event one with a time; each is asked for once, in order.
  TAKT_ALWAYS_INLINE std::uint64_t ns_of(Event event) noexcept {
    const std::uint64_t along = (event - origin_) >> kCodeBits;
    if (TAKT_UNLIKELY(along - along_ > longest_step_)) {
      go_far(event);
      return origin_ns_;
    }
    along_ = along;
    return origin_ns_ + from_origin(along);
  }
  /// The time from one event to the next, where both are near, so that it is less than 2^32 ns. Else returns false and nothing changes.
  TAKT_ALWAYS_INLINE bool length_of(Event begin, Event end, std::uint64_t& ns) noexcept {
    const std::uint64_t first = (begin - origin_) >> kCodeBits;
    const std::uint64_t second = (end - origin_) >> kCodeBits;
    if (TAKT_UNLIKELY(((first - along_) | (second - first)) > longest_step_)) { return false; }
    along_ = second;
    ns = from_origin(second) - from_origin(first);
    return true;
  }
  std::uint64_t last_ticks() const noexcept { return origin_ticks_ + along_; }
  std::uint64_t last_ns() const noexcept { return origin_ns_ + from_origin(along_); }

 private:
  // So that `along` stays below 2^22 for a block of events, and its product below 2^64.
  static constexpr std::uint64_t kLongestStep = (std::uint64_t{1} << 16U) - 1;
  static constexpr std::uint64_t kFarthest = std::uint64_t{1} << 22U;
  static_assert(kLongestStep * kBlockEvents < kFarthest, "a block of short steps stays near");
  static constexpr std::uint64_t kLargestMultiplier = std::uint64_t{1} << 41U;  // a clock of 2 MHz

  void start_at(std::uint64_t ticks) noexcept;
  void go_far(Event event) noexcept;
  std::uint64_t from_origin(std::uint64_t along) const noexcept { return (fraction_ + along * multiplier_) >> 32U; }

  const Clock* clock_;
  ClockSource source_;
  Event origin_ = 0;  // origin_ticks_ as an event has it
  std::uint64_t origin_ticks_ = 0;
  std::uint64_t origin_ns_ = 0;
  std::uint64_t fraction_ = 0;  // of a ns at the origin, times 2^32
  std::uint64_t multiplier_ = 0;
  std::uint64_t along_ = 0;         // from the origin to the last event, in ticks
  std::uint64_t longest_step_ = 0;  // in ticks; a longer one, or a step back, takes the long way
};

}  // namespace detail
TAKT_END_NAMESPACE
