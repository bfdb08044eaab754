// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/event.hpp>

#include "record/clock.hpp"

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

  /// Goes on from `last_ticks`, for another block of events: mostly it stands there, and the clock's rate is the same
  /// still. What has been stamped by then lies before the time from which a better rate will hold (Clock::refine).
  TAKT_ALWAYS_INLINE void go_on(ClockSource source, std::uint64_t last_ticks) noexcept {
    const bool stands_here = last_ticks == this->last_ticks() && last_ticks - origin_ticks_ < kFarthest / 2;
    if (TAKT_LIKELY(stands_here && source == source_ && segments_ == clock_->segments())) { return; }
    source_ = source;
    start_at(last_ticks);
  }

  /// \param event one with a time; each is asked for once, in order.
  TAKT_ALWAYS_INLINE std::uint64_t ns_of(Event event) noexcept {
    const std::uint64_t at = event >> kCodeBits;
    const std::uint64_t step = at - last_;
    if (TAKT_UNLIKELY(step > longest_step_)) {
      go_far(event);
      return origin_ns_;
    }
    last_ = at;
    way_ += step * multiplier_;
    return last_ns();
  }
  /// The time from one event to the next, where both are near, so that it is less than 2^32 ns. Else returns false and
  /// nothing changes.
  TAKT_ALWAYS_INLINE bool length_of(Event begin, Event end, std::uint64_t& ns) noexcept {
    const std::uint64_t at = end >> kCodeBits;
    const std::uint64_t step = (begin >> kCodeBits) - last_;
    const std::uint64_t length = at - (begin >> kCodeBits);
    if (TAKT_UNLIKELY((step | length) > longest_step_)) { return false; }
    last_ = at;
    const std::uint64_t before = way_ + step * multiplier_;
    way_ = before + length * multiplier_;
    ns = (way_ >> 32U) - (before >> 32U);
    return true;
  }
  std::uint64_t last_ticks() const noexcept {
    return origin_ticks_ + (last_ - (origin_ticks_ << kCodeBits >> kCodeBits));
  }
  std::uint64_t last_ns() const noexcept { return origin_ns_ + (way_ >> 32U); }

 private:
  // So that the way stays below 2^23 ticks, of which a block of events takes half, and its product below 2^64.
  static constexpr std::uint64_t kLongestStep = (std::uint64_t{1} << 16U) - 1;
  static constexpr std::uint64_t kFarthest = std::uint64_t{1} << 23U;
  static_assert(kLongestStep * kBlockEvents < kFarthest / 2, "a block of short steps stays near");
  static constexpr std::uint64_t kLargestMultiplier = std::uint64_t{1} << 41U;  // a clock of 2 MHz

  void start_at(std::uint64_t ticks) noexcept;
  void go_far(Event event) noexcept;

  const Clock* clock_;
  ClockSource source_;
  std::uint32_t segments_ = 0;  // that the clock had
  std::uint64_t origin_ticks_ = 0;
  std::uint64_t origin_ns_ = 0;
  std::uint64_t last_ = 0;          // time of the last event as an event has it; differences wrap into the long way
  std::uint64_t way_ = 0;           // from origin_ns_ to the last event, in ns times 2^32
  std::uint64_t multiplier_ = 0;    // ns times 2^32 a tick
  std::uint64_t longest_step_ = 0;  // in ticks; a longer one, or a step back, takes the long way
};

}  // namespace detail
TAKT_END_NAMESPACE
