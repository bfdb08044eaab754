// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/clock.hpp"

#include "base/report_error.hpp"

#include <takt/detail/hot.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::uint64_t counter_ticks() noexcept { return takt::detail::ticks(); }

// The counter is checked against RAW because NTP may slew MONOTONIC by up to 500 ppm.
std::uint64_t raw_ns() noexcept { return posix_ns(CLOCK_MONOTONIC_RAW); }
std::uint64_t monotonic_ns() noexcept { return posix_ns(CLOCK_MONOTONIC); }

#if defined(__x86_64__)
// Returns true if the kernel lists the TSC. It compares all cores' counters at boot and later, and delists a TSC it
// finds unstable.
bool kernel_offers_tsc() noexcept {
  std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
  if (file == nullptr) { return true; }
  char text[256] = {};
  const bool read = std::fgets(text, sizeof(text), file) != nullptr;
  std::fclose(file);
  return !read || std::strstr(text, "tsc") != nullptr;
}

bool counter_invariant(const char*& reason) noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kInvariantTsc = 1U << 8U;  // CPUID 80000007h EDX[8]: same rate in all P-, C- and T-states
  if (__get_cpuid(0x80000007U, &a, &b, &c, &d) == 0 || (d & kInvariantTsc) == 0) {
    reason = "the processor does not promise an invariant TSC";
    return false;
  }
  if (!kernel_offers_tsc()) {
    reason = "the kernel has given up the TSC as unstable";
    return false;
  }
  return true;
}
#elif defined(__aarch64__)
bool counter_invariant(const char*&) noexcept { return true; }  // the generic timer's rate is constant by architecture
#else
bool counter_invariant(const char*& reason) noexcept {
  reason = "no counter is known for this architecture";
  return false;
}
#endif

// Pairs with nothing: other threads see the switch through Clock::source_.
void stop_using_counter() noexcept { mode().fetch_or(kModeMonotonic, std::memory_order_release); }

#if defined(__aarch64__)
constexpr const char* kCounterName = "cntvct";

double nominal_hz() noexcept {
  std::uint64_t hz = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return static_cast<double>(hz);
}
#else
constexpr const char* kCounterName = "tsc";

double nominal_hz() noexcept { return 0; }
#endif

/// Returns the difference of two rates, in ppm of `other`.
double off_ppm(double one, double other) noexcept { return std::abs(one / other - 1) * 1e6; }

}  // namespace

Clock::Clock(ClockChoice choice) noexcept
    : Clock(choice,
            Hardware{counter_ticks, raw_ns, counter_invariant, monotonic_ns, stop_using_counter, nominal_hz()}) {}

Clock::Clock(ClockChoice choice, const Hardware& hardware) noexcept : hardware_(hardware) {
  start_unix_ns_ = static_cast<std::int64_t>(posix_ns(CLOCK_REALTIME));
  begin_monotonic();
  const char* reason = "";
  if (choice == ClockChoice::monotonic) {
    use_monotonic("TAKT_CLOCK=monotonic");
  } else if (choice == ClockChoice::automatic && !hardware_.invariant(reason)) {
    use_monotonic(reason);
  } else if (!calibrate() && choice == ClockChoice::automatic) {
    use_monotonic("the counter did not keep within 50 ppm of CLOCK_MONOTONIC_RAW while it was measured");
  } else {
    source_.store(ClockSource::counter, std::memory_order_release);  // pairs with source()
    reason_ = choice == ClockChoice::counter ? "TAKT_CLOCK=counter" : "invariant, and agrees with CLOCK_MONOTONIC_RAW";
  }
  worst_error_ppm_.store(0, std::memory_order_relaxed);  // discards the error of a counter that was tried and rejected
  measure_resolution();
  measure_empty_region();
}

/// Returns the tightest of several reference readings, each taken between two counter readings.
Clock::Anchor Clock::anchor() const noexcept {
  Anchor best;
  best.window = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::uint64_t before = hardware_.ticks();
    const std::uint64_t ns = hardware_.reference_ns();
    const std::uint64_t after = hardware_.ticks();
    if (after - before < best.window) { best = Anchor{before + (after - before) / 2, ns, after - before}; }
  }
  return best;
}

/// Returns the maximum error of a rate between two anchors: half a window at each end plus one tick.
double Clock::error_ppm(const Anchor& a, const Anchor& b, double multiplier) const noexcept {
  const double uncertain_ns = (static_cast<double>(a.window + b.window) / 2 + 1) * multiplier;
  return uncertain_ns / static_cast<double>(b.ns - a.ns) * 1e6;
}

/// Returns ns per tick: nominal if known, else as measured.
double Clock::rate(double measured) const noexcept {
  return hardware_.nominal_hz > 0 ? 1e9 / hardware_.nominal_hz : measured;
}

/// Measures the rate over two spans of at least 0.4 ms, which must agree within their error: an anchor is off by 10 ns
/// or more, 25 ppm of such a span. recheck() finds smaller errors later. If the thread is preempted in the first span,
/// the second is still long enough.
bool Clock::calibrate() noexcept {
  constexpr std::uint64_t kSpanNs = 400'000;
  Anchor anchors[3];
  anchors[0] = anchor();
  for (int span = 1; span < 3; ++span) {
    while (hardware_.reference_ns() < anchors[span - 1].ns + kSpanNs) {}
    anchors[span] = anchor();
    if (anchors[span].ticks <= anchors[span - 1].ticks || anchors[span].ns <= anchors[span - 1].ns) { return false; }
  }
  const auto rate = [&](int from, int to) {
    return static_cast<double>(anchors[to].ns - anchors[from].ns) /
           static_cast<double>(anchors[to].ticks - anchors[from].ticks);
  };
  first_ = last_ = anchors[0];
  const double measured = rate(0, 2);
  const double disagreement = off_ppm(rate(0, 1), rate(1, 2));
  const double error = std::max(disagreement, error_ppm(anchors[0], anchors[2], measured));
  // Firmware may report an invalid rate; the kernel then uses another source.
  if (off_ppm(measured, this->rate(measured)) > kMaxErrorPpm + error) { hardware_.nominal_hz = 0; }
  const double multiplier = this->rate(measured);
  segment_[0] =
      Segment{first_.ticks, ~std::uint64_t{0}, 0, static_cast<std::uint64_t>(std::llround(multiplier * 4294967296.0))};
  error_ppm_.store(error + off_ppm(measured, multiplier), std::memory_order_relaxed);
  next_check_ns_.store(first_.ns + next_refine_ns_, std::memory_order_relaxed);
  const double unknown = error_ppm(anchors[0], anchors[1], multiplier) + error_ppm(anchors[1], anchors[2], multiplier);
  return disagreement <= kMaxErrorPpm + unknown;
}

void Clock::begin_monotonic() noexcept {
  monotonic_raw_zero_.store(hardware_.reference_ns(), std::memory_order_relaxed);
  monotonic_zero_.store(hardware_.monotonic_ns(), std::memory_order_relaxed);
}

void Clock::use_monotonic(const char* reason) noexcept {
  reason_.store(reason, std::memory_order_relaxed);
  note_error(0);
  if (hardware_.leaving != nullptr) { hardware_.leaving(); }
  source_.store(ClockSource::monotonic,
                std::memory_order_release);  // pairs with source(): a thread that sees it also sees the mode
}

/// Sets a new error bound and keeps the worst earlier one for reports.
void Clock::note_error(double ppm) noexcept {
  const double before = error_ppm_.exchange(ppm, std::memory_order_relaxed);
  if (before > worst_error_ppm_.load(std::memory_order_relaxed)) {
    worst_error_ppm_.store(before, std::memory_order_relaxed);
  }
}

/// Returns the maximum deviation of the system clock's rate from the reference, in ppm: NTP slews only the system
/// clock. Over a short time, returns the kernel's NTP limit because two readings are not enough.
double Clock::slewed_ppm() const noexcept {
  constexpr double kMaxPpm = 500;
  constexpr double kShortNs = 10e6;
  const std::uint64_t before = hardware_.reference_ns();
  const std::uint64_t monotonic = hardware_.monotonic_ns() - monotonic_zero_.load(std::memory_order_relaxed);
  const std::uint64_t after = hardware_.reference_ns();
  const std::uint64_t zero = monotonic_raw_zero_.load(std::memory_order_relaxed);
  const auto raw = static_cast<double>(before - zero);
  if (raw < kShortNs) { return kMaxPpm; }
  const double differs = std::abs(static_cast<double>(monotonic) - raw) + static_cast<double>(after - before) + 100;
  return differs / raw * 1e6;
}

bool Clock::recheck() noexcept {
  if (source() != ClockSource::counter) { return true; }
  const std::uint64_t now = hardware_.reference_ns();
  // Acquire: pairs with the release at the end of the previous check, on any thread.
  if (now < next_check_ns_.load(std::memory_order_relaxed) || checking_.exchange(true, std::memory_order_acquire)) {
    return true;
  }
  const Anchor here = anchor();
  const std::uint32_t count = segments_.load(std::memory_order_relaxed);
  const double used = static_cast<double>(segment_[count - 1].multiplier) / 4294967296.0;
  bool good = here.ticks > last_.ticks && here.ns > last_.ns;
  if (good) {
    const double seen = static_cast<double>(here.ns - last_.ns) / static_cast<double>(here.ticks - last_.ticks);
    const double allowed = kMaxErrorPpm + error_ppm(last_, here, used) + error_ppm_.load(std::memory_order_relaxed);
    good = off_ppm(seen, used) <= allowed;
  }
  if (!good) {
    // Continues from the counter's last time at the other clock's rate; time never goes back.
    const std::uint64_t since = here.ns > last_.ns ? here.ns - last_.ns : 0;
    const std::uint64_t reached =
        std::max(to_ns(ClockSource::counter, here.ticks), to_ns(ClockSource::counter, last_.ticks) + since);
    begin_monotonic();
    monotonic_base_ns_.store(reached, std::memory_order_relaxed);
    fallbacks_.fetch_add(1, std::memory_order_relaxed);
    use_monotonic("the counter left CLOCK_MONOTONIC_RAW by more than 50 ppm while running");
    report_error(
        "clock",
        "the processor's counter no longer agrees with CLOCK_MONOTONIC_RAW; timing continues with "
        "clock_gettime, and regions open at the switch are discarded. TAKT_CLOCK=monotonic avoids the counter.");
  } else if (here.ns - first_.ns >= next_refine_ns_ && count < segment_.size()) {
    refine(here);
  }
  last_ = here;
  const std::uint64_t wait = std::min<std::uint64_t>(1'000'000'000, first_.ns + next_refine_ns_ - here.ns);
  next_check_ns_.store(here.ns + wait, std::memory_order_relaxed);
  checking_.store(false, std::memory_order_release);  // pairs with the exchange above
  return good;
}

/// Starts using the rate over the whole time so far, slightly in the future: times that other threads convert now use
/// the old rate and are earlier.
void Clock::refine(const Anchor& here) noexcept {
  const std::uint32_t count = segments_.load(std::memory_order_relaxed);
  const double measured = static_cast<double>(here.ns - first_.ns) / static_cast<double>(here.ticks - first_.ticks);
  const double better = rate(measured);
  const std::uint64_t from = here.ticks + static_cast<std::uint64_t>(static_cast<double>(kRefineAheadNs) / better);
  segment_[count] = Segment{from, ~std::uint64_t{0}, segment_[count - 1].to_ns(from),
                            static_cast<std::uint64_t>(std::llround(better * 4294967296.0))};
  if (hardware_.ticks() >= from) { return; }  // delayed too long: try again later
  note_error(error_ppm(first_, here, better) + off_ppm(measured, better));
  segments_.store(count + 1, std::memory_order_release);  // pairs with segment()
  next_refine_ns_ *= 10;
}

/// Measures the resolution: the smallest step if two consecutive reads may be equal, else the greatest common divisor
/// of all steps.
void Clock::measure_resolution() noexcept {
  constexpr int kReads = 100;
  const ClockSource source = this->source();
  bool stood = false;
  std::uint64_t min = ~std::uint64_t{0};
  std::uint64_t factor = 0;
  std::uint64_t last = ticks(source);
  for (int read = 0; read < kReads; ++read) {
    const std::uint64_t now = ticks(source);
    const std::uint64_t step = now > last ? now - last : 0;  // another core's counter may be slightly behind
    stood = stood || step == 0;
    if (step != 0) { min = std::min(min, step); }
    factor = std::gcd(factor, step);
    last = now;
  }
  if (factor == 0) { return; }
  const double counter_ns = static_cast<double>(segment_[0].multiplier) / 4294967296.0;
  const double tick_ns = source == ClockSource::counter ? counter_ns : 1;
  resolution_ns_ = std::max(1.0, static_cast<double>(stood ? min : factor) * tick_ns);
}

/// Measures the reported length of an empty region: the clock read that ends it and the two stores before.
void Clock::measure_empty_region() noexcept {
  constexpr int kTries = 101;
  static Event sink[2];
  std::array<std::int64_t, kTries> length{};
  const ClockSource source = this->source();
  for (std::int64_t& each : length) {
    const std::uint64_t begin = source == ClockSource::counter ? takt::detail::ticks() : ticks(source);
    __atomic_store_n(&sink[0], begin, __ATOMIC_RELAXED);
    __atomic_store_n(&sink[1], begin, __ATOMIC_RELEASE);  // pairs with nothing: same cost as store_cursor()
    const std::uint64_t end = source == ClockSource::counter ? takt::detail::ticks() : ticks(source);
    each = static_cast<std::int64_t>(to_ns(source, end) - to_ns(source, begin));
  }
  std::nth_element(length.begin(), length.begin() + kTries / 2, length.end());
  empty_region_ns_ = length[kTries / 2];
}

ClockInfo Clock::info() const {
  ClockInfo info;
  const bool counter = source() == ClockSource::counter;
  info.name = counter ? kCounterName : "clock_gettime(CLOCK_MONOTONIC)";
  info.reason = reason_.load(std::memory_order_relaxed);
  const std::uint32_t segment = segments_.load(std::memory_order_acquire) - 1;  // pairs with refine()
  info.frequency_hz = counter ? 4294967296.0 * 1e9 / static_cast<double>(segment_[segment].multiplier) : 1e9;
  info.error_ppm = counter ? error_ppm_.load(std::memory_order_relaxed) : slewed_ppm();
  info.worst_error_ppm = worst_error_ppm_.load(std::memory_order_relaxed);
  info.error_since_ns = static_cast<std::int64_t>(counter ? segment_[segment].base_ns
                                                          : monotonic_base_ns_.load(std::memory_order_relaxed));
  info.empty_region_ns = empty_region_ns_;
  if (resolution_ns_ > 0) { info.resolution_ns = resolution_ns_; }
  info.fallbacks = fallbacks_.load(std::memory_order_relaxed);
  return info;
}

void ClockConverter::start_at(std::uint64_t ticks) noexcept {
  segments_ = clock_->segments();  // read before the segment, so that go_on() notices a new one
  const Clock::Segment segment = clock_->segment(source_, ticks);
  origin_ticks_ = ticks;
  last_ = ticks << kCodeBits >> kCodeBits;
  if (ticks < segment.from_ticks) {  // read on another core, before the clock started
    origin_ns_ = segment.base_ns;
    longest_step_ = 0;
    multiplier_ = way_ = 0;
    return;
  }
  const Wide exact = static_cast<Wide>(ticks - segment.from_ticks) * segment.multiplier;
  origin_ns_ = segment.base_ns + static_cast<std::uint64_t>(exact >> 32U);
  way_ = static_cast<std::uint64_t>(exact) & 0xFFFFFFFFU;
  multiplier_ = segment.multiplier;
  const bool short_ways = segment.until_ticks - ticks > kFarthest && segment.multiplier <= kLargestMultiplier;
  longest_step_ = short_ways ? kLongestStep : 0;
}

TAKT_COLD void ClockConverter::go_far(Event event) noexcept { start_at(unwrap(event, last_ticks())); }

}  // namespace detail
TAKT_END_NAMESPACE
