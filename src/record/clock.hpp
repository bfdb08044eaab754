// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>
#include <takt/snapshot.hpp>

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The clock that a tick value was read from.
enum class ClockSource : std::uint32_t { counter, monotonic };

/// The user's choice of clock (TAKT_CLOCK).
enum class ClockChoice : std::uint8_t { automatic, counter, monotonic };

/// Reads the process's clock and converts ticks to ns since its start. Uses the processor's counter if it is invariant
/// and within 50 ppm of CLOCK_MONOTONIC_RAW. Its rate is measured in under 1 ms at the start, and again over increasing
/// spans. Each better rate applies from then on, without a jump. If the processor reports the rate (aarch64), that rate
/// is used and measurements only bound its error.
class Clock {
 public:
  static constexpr double kMaxErrorPpm = 50;

  /// Functions that read and check the clocks; tests replace them.
  struct Hardware {
    std::uint64_t (*ticks)() noexcept;
    std::uint64_t (*reference_ns)() noexcept;
    bool (*invariant)(const char*& reason) noexcept;
    std::uint64_t (*monotonic_ns)() noexcept;
    void (*leaving)() noexcept = nullptr;  ///< called before a switch away from the counter; no later event uses it
    double nominal_hz = 0;                 ///< counter rate reported by the processor; 0: none
  };

  explicit Clock(ClockChoice choice) noexcept;
  Clock(ClockChoice choice, const Hardware& hardware) noexcept;

  /// Acquire: pairs with the release stores to source_, made after the clock's origin is set.
  ClockSource source() const noexcept { return source_.load(std::memory_order_acquire); }
  /// Returns the current time, in ticks of `source`. Any thread.
  std::uint64_t ticks(ClockSource source) const noexcept {
    return source == ClockSource::counter ? hardware_.ticks() : hardware_.monotonic_ns();
  }
  /// Returns the earliest valid tick value. Any thread.
  std::uint64_t first_ticks(ClockSource source) const noexcept { return segment(source, 0).from_ticks; }
  /// Returns ns since the start. Any thread.
  std::uint64_t to_ns(ClockSource source, std::uint64_t ticks) const noexcept {
    const Segment segment = this->segment(source, ticks);
    // Earlier ticks were read on another core, before the clock started.
    return ticks < segment.from_ticks ? segment.base_ns : segment.to_ns(ticks);
  }
  std::uint64_t now_ns() const noexcept {
    const ClockSource source = this->source();
    return to_ns(source, ticks(source));
  }
  /// Returns the wall-clock time at the start, in ns since 1970.
  std::int64_t start_unix_ns() const noexcept { return start_unix_ns_; }

  /// Checks against the reference if a check is due: every second, or earlier to refine the rate. One of several
  /// concurrent callers does it. Returns false if the counter was just found wrong: source() is then monotonic.
  bool recheck() noexcept;

  /// Returns the clock's state for reports. Any thread.
  ClockInfo info() const;

  /// Conversion of ticks to ns for one span of time, until the next rate.
  struct Segment {
    std::uint64_t from_ticks = 0;
    std::uint64_t until_ticks = ~std::uint64_t{0};
    std::uint64_t base_ns = 0;
    std::uint64_t multiplier = 0;  ///< ns per tick, times 2^32

    /// \param ticks not before from_ticks.
    std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
      return base_ns + static_cast<std::uint64_t>((static_cast<Wide>(ticks - from_ticks) * multiplier) >> 32U);
    }
  };
  /// Returns the number of segments. Segments never change, and a new one applies slightly in the future. Any thread.
  /// Acquire: pairs with refine().
  std::uint32_t segments() const noexcept { return segments_.load(std::memory_order_acquire); }
  /// Returns the segment that contains `ticks`, for loops that convert many. Any thread.
  Segment segment(ClockSource source, std::uint64_t ticks) const noexcept {
    if (source == ClockSource::monotonic) {
      return Segment{monotonic_zero_.load(std::memory_order_relaxed), ~std::uint64_t{0},
                     monotonic_base_ns_.load(std::memory_order_relaxed), std::uint64_t{1} << 32U};
    }
    const std::uint32_t count = segments_.load(std::memory_order_acquire);  // pairs with refine()
    std::uint32_t at = count - 1;
    while (at > 0 && ticks < segment_[at].from_ticks) { --at; }
    Segment segment = segment_[at];
    if (at + 1 < count) { segment.until_ticks = segment_[at + 1].from_ticks; }
    return segment;
  }

 private:
  struct Anchor {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
    std::uint64_t window = 0;  // ticks between the two counter readings: bounds the error of the pair
  };
  static constexpr std::uint64_t kRefineAheadNs = 20'000'000;
  Anchor anchor() const noexcept;
  void refine(const Anchor& here) noexcept;
  bool calibrate() noexcept;
  void begin_monotonic() noexcept;
  void use_monotonic(const char* reason) noexcept;
  void note_error(double ppm) noexcept;
  void measure_resolution() noexcept;
  void measure_empty_region() noexcept;
  double error_ppm(const Anchor& a, const Anchor& b, double multiplier) const noexcept;
  double rate(double measured) const noexcept;
  double slewed_ppm() const noexcept;

  Hardware hardware_;
  std::atomic<ClockSource> source_{ClockSource::monotonic};
  // System clock reading and time at the switch to it; stored before source_.
  std::atomic<std::uint64_t> monotonic_zero_{0};
  std::atomic<std::uint64_t> monotonic_base_ns_{0};
  std::array<Segment, 16> segment_;
  std::atomic<std::uint32_t> segments_{1};
  Anchor first_;
  Anchor last_;  // of the last re-check; accessed only while checking_
  std::atomic<bool> checking_{false};
  std::atomic<std::uint64_t> next_check_ns_{0};  // on the reference clock
  std::uint64_t next_refine_ns_ = 10'000'000;    // clock age at the next rate measurement
  std::atomic<double> error_ppm_{0};
  std::atomic<double> worst_error_ppm_{0};            // worst bound before the current one
  std::atomic<std::uint64_t> monotonic_raw_zero_{0};  // the reference when monotonic_zero_ was read
  std::atomic<const char*> reason_{""};
  std::atomic<std::uint64_t> fallbacks_{0};
  std::int64_t start_unix_ns_ = 0;
  std::int64_t empty_region_ns_ = 0;
  double resolution_ns_ = 0;
};

/// Converts the events of one thread, in order, to Clock::to_ns() times, exact to the ns. The fast path covers short
/// distances between events with 64-bit arithmetic.
class ClockConverter {
 public:
  /// \param last_ticks time of the event before the first.
  ClockConverter(const Clock& clock, ClockSource source, std::uint64_t last_ticks) noexcept
      : clock_(&clock), source_(source) {
    start_at(last_ticks);
  }

  /// Continues from `last_ticks` with another block of events: usually the position and the rate are unchanged. A
  /// better rate applies only to later events (Clock::refine).
  TAKT_ALWAYS_INLINE void go_on(ClockSource source, std::uint64_t last_ticks) noexcept {
    const bool stands_here = last_ticks == this->last_ticks() && last_ticks - origin_ticks_ < kFarthest / 2;
    if (TAKT_LIKELY(stands_here && source == source_ && segments_ == clock_->segments())) { return; }
    source_ = source;
    start_at(last_ticks);
  }

  /// Converts the next event.
  /// \param event has a time; convert each event once, in order.
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
  /// Computes the time between two events, if both are near, so that it is less than 2^32 ns. Otherwise returns false
  /// and changes nothing.
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
  // Keeps the distance below 2^23 ticks, of which a block of events takes half, and its product below 2^64.
  static constexpr std::uint64_t kLongestStep = (std::uint64_t{1} << 16U) - 1;
  static constexpr std::uint64_t kFarthest = std::uint64_t{1} << 23U;
  static_assert(kLongestStep * kBlockEvents < kFarthest / 2, "a block of short steps stays near");
  static constexpr std::uint64_t kLargestMultiplier = std::uint64_t{1} << 41U;  // 2 MHz clock

  void start_at(std::uint64_t ticks) noexcept;
  void go_far(Event event) noexcept;

  const Clock* clock_;
  ClockSource source_;
  std::uint32_t segments_ = 0;  // number of the clock's segments at the start
  std::uint64_t origin_ticks_ = 0;
  std::uint64_t origin_ns_ = 0;
  std::uint64_t last_ = 0;        // time of the last event, as stored in events; wrapped differences take the slow path
  std::uint64_t way_ = 0;         // from origin_ns_ to the last event, in ns times 2^32
  std::uint64_t multiplier_ = 0;  // ns per tick, times 2^32
  std::uint64_t longest_step_ = 0;  // in ticks; longer or negative steps take the slow path
};

}  // namespace detail
TAKT_END_NAMESPACE
