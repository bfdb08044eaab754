// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Preloaded, it makes hours pass in seconds: each reading of the monotonic clock is 1 ms later than the one before.
#include <atomic>
#include <cstdint>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static std::atomic<std::int64_t> readings{0};
  if (clock != CLOCK_MONOTONIC) { return static_cast<int>(::syscall(SYS_clock_gettime, clock, time)); }
  const std::int64_t now_ms = ++readings;
  time->tv_sec = now_ms / 1000;
  time->tv_nsec = now_ms % 1000 * 1'000'000;
  return 0;
}
