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

/// The clock that a reading in ticks comes from.
enum class ClockSource : std::uint32_t { counter, monotonic };

/// What the user wants it to be (TAKT_CLOCK).
enum class ClockChoice : std::uint8_t { automatic, counter, monotonic };

/// Tells what the clock of the process reads and turns ticks into ns since it was started. The processor's counter is
/// used where it is invariant and keeps within 50 ppm of CLOCK_MONOTONIC_RAW; its rate is measured in under 1 ms at
/// the start and again over ever longer spans while running. Each better rate holds from then on, joined without a
/// step. Where the processor tells the rate (aarch64), that one holds, and each measurement only bounds its error.
class Clock {
 public:
  static constexpr double kMaxErrorPpm = 50;

  /// How readings are taken and judged; tests put their own in its place.
  struct Hardware {
    std::uint64_t (*ticks)() noexcept;
    std::uint64_t (*reference_ns)() noexcept;
    bool (*invariant)(const char*& reason) noexcept;
    std::uint64_t (*monotonic_ns)() noexcept;
    void (*leaving)() noexcept = nullptr;  ///< called before the counter is given up, so that nobody stamps by it later
    double nominal_hz = 0;                 ///< the rate of the counter as the processor tells it; 0: it does not
  };

  explicit Clock(ClockChoice choice) noexcept;
  Clock(ClockChoice choice, const Hardware& hardware) noexcept;

  /// Acquire: pairs with the release stores to source_, before which the origin of the clock is set.
  ClockSource source() const noexcept { return source_.load(std::memory_order_acquire); }
  /// Now, in ticks of `source`. Any thread.
  std::uint64_t ticks(ClockSource source) const noexcept {
    return source == ClockSource::counter ? hardware_.ticks() : hardware_.monotonic_ns();
  }
  /// The first reading that counts. Any thread.
  std::uint64_t first_ticks(ClockSource source) const noexcept { return segment(source, 0).from_ticks; }
  /// ns since the start. Any thread.
  std::uint64_t to_ns(ClockSource source, std::uint64_t ticks) const noexcept {
    const Segment segment = this->segment(source, ticks);
    // Read on another core, before the clock was started?
    return ticks < segment.from_ticks ? segment.base_ns : segment.to_ns(ticks);
  }
  std::uint64_t now_ns() const noexcept {
    const ClockSource source = this->source();
    return to_ns(source, ticks(source));
  }
  /// Wall clock at the start, in ns since 1970.
  std::int64_t start_unix_ns() const noexcept { return start_unix_ns_; }

  /// Compares with the reference once a second or more; one thread at a time does it, others pass. Returns false if the
  /// counter has just been found wrong: from now on source() is monotonic.
  bool recheck() noexcept;

  /// For reports. Any thread.
  ClockInfo info() const;

  /// How ticks become ns, from some time on and until the rate was measured again.
  struct Segment {
    std::uint64_t from_ticks = 0;
    std::uint64_t until_ticks = ~std::uint64_t{0};
    std::uint64_t base_ns = 0;
    std::uint64_t multiplier = 0;  ///< ns in a tick, times 2^32

    /// \param ticks not before from_ticks.
    std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
      return base_ns + static_cast<std::uint64_t>((static_cast<Wide>(ticks - from_ticks) * multiplier) >> 32U);
    }
  };
  /// How many segments there are; they are never changed, and one that comes holds only from a little later on. Any
  /// thread. Acquire: pairs with refine().
  std::uint32_t segments() const noexcept { return segments_.load(std::memory_order_acquire); }
  /// The segment that holds `ticks`, for loops that convert many. Any thread.
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
    std::uint64_t window = 0;  // ticks in which both readings were taken: bounds the error of the pair
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
  // The reading of the system's clock that was taken when it began to be used, and the time then; before source_.
  std::atomic<std::uint64_t> monotonic_zero_{0};
  std::atomic<std::uint64_t> monotonic_base_ns_{0};
  std::array<Segment, 16> segment_;
  std::atomic<std::uint32_t> segments_{1};
  Anchor first_;
  Anchor last_;  // of the re-checks; only touched while checking_
  std::atomic<bool> checking_{false};
  std::atomic<std::uint64_t> next_check_ns_{0};  // on the reference
  std::uint64_t next_refine_ns_ = 10'000'000;    // age of the clock at which its rate is measured again
  std::atomic<double> error_ppm_{0};
  std::atomic<double> worst_error_ppm_{0};            // of the time before that
  std::atomic<std::uint64_t> monotonic_raw_zero_{0};  // the reference when monotonic_zero_ was read
  std::atomic<const char*> reason_{""};
  std::atomic<std::uint64_t> fallbacks_{0};
  std::int64_t start_unix_ns_ = 0;
  std::int64_t empty_region_ns_ = 0;
  double resolution_ns_ = 0;
};

/// Tells the times of the events of one thread, one after the other, on the axis of Clock::to_ns and to the same
/// nanosecond. From one event to the next the way is short and mostly needs 64 bits only: that is the fast way.
class ClockConverter {
 public:
  /// \param last_ticks of the event before the first.
  ClockConverter(const Clock& clock, ClockSource source, std::uint64_t last_ticks) noexcept
      : clock_(&clock), source_(source) {
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
