// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/process_watch.hpp"

#include <takt/detail/ticks.hpp>

#include "session/run_queue.hpp"

#include <time.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::uint64_t system_monotonic_ns() noexcept { return posix_ns(CLOCK_MONOTONIC); }
std::uint64_t system_boot_ns() noexcept { return posix_ns(CLOCK_BOOTTIME); }
std::uint64_t system_cpu_ns() noexcept { return posix_ns(CLOCK_PROCESS_CPUTIME_ID); }

// The two clocks are read one after the other: less than this is no sleep.
constexpr std::uint64_t kLeastSleepNs = 10'000'000;

std::uint64_t ns_beyond(std::uint64_t now, std::uint64_t before) noexcept { return now > before ? now - before : 0; }

}  // namespace

ProcessWatch::Clocks ProcessWatch::system_clocks() noexcept {
  return {system_monotonic_ns, system_boot_ns, system_cpu_ns, run_queue_ns};
}

ProcessWatch::ProcessWatch(const Clocks& clocks) noexcept
    : clocks_(clocks),
      asleep_before_ns_(asleep_ns()),
      thread_(this_thread_number()),
      waited_before_ns_(clocks_.waited_ns(thread_)),
      processors_(usable_processors()),
      waited_ns_(waited_before_ns_ < 0 ? ProcessTimes::kUnknown : 0) {}

void ProcessWatch::sleeps() noexcept {
  slept_at_ns_ = clocks_.monotonic_ns();
  slept_at_cpu_ns_ = clocks_.cpu_ns();
}

void ProcessWatch::wakes(std::uint64_t most_ns) noexcept {
  const std::uint64_t late = ns_beyond(clocks_.monotonic_ns(), slept_at_ns_ + most_ns);
  if (late < kLateNs) { return; }
  // Where other threads ran all the while, it was this one that did not.
  if (ns_beyond(clocks_.cpu_ns(), slept_at_cpu_ns_) > most_ns + late / 10) { return; }
  stopped_ns_.fetch_add(late, std::memory_order_relaxed);
}

std::int64_t ProcessWatch::waited_ns() const noexcept {
  const std::int64_t now = waited_before_ns_ < 0 ? -1 : clocks_.waited_ns(thread_);
  if (now >= waited_before_ns_ && now >= 0) { waited_ns_.store(now - waited_before_ns_, std::memory_order_relaxed); }
  return waited_ns_.load(std::memory_order_relaxed);
}

ProcessTimes ProcessWatch::read() const noexcept {
  ProcessTimes times;
  times.cpu_ns = static_cast<std::int64_t>(ns_beyond(clocks_.cpu_ns(), cpu_zero_ns_));
  times.stopped_ns = static_cast<std::int64_t>(stopped_ns_.load(std::memory_order_relaxed));
  const std::uint64_t slept = ns_beyond(asleep_ns(), asleep_before_ns_);
  times.suspended_ns = slept < kLeastSleepNs ? 0 : static_cast<std::int64_t>(slept);
  times.before_ns = before_ns_;
  times.waited_ns = waited_ns();
  times.processors = processors_;
  return times;
}

}  // namespace detail
TAKT_END_NAMESPACE
