// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <time.h>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Nanoseconds of a POSIX clock. Any thread; no system call where the kernel offers it in the vDSO.
inline std::uint64_t posix_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The processor's counter: one unserialised instruction, about 10 ns. Reading it may overlap with neighbouring work by
/// some cycles; fences would cost more than the region (13 to 24 ns).
TAKT_ALWAYS_INLINE std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return posix_ns(CLOCK_MONOTONIC);
#endif
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
