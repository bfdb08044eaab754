// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/detail/hot.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// The host's monotonic clock, CLOCK_MONOTONIC in ns, for Timers with their own statistics. (Scopes and joined Timers
/// read the processor's counter if it is reliable, at half the cost.) Any thread.
class CpuBackend {
 public:
  static constexpr const char* name = "cpu";
  static constexpr bool immediate = true;

  bool mark(Mark& mark) noexcept {
    mark = host_ns();
    return true;
  }
  void retain(Mark) noexcept {}
  Elapsed elapsed(Mark begin, Mark end) noexcept {
    return Elapsed::ready(end > begin ? static_cast<std::int64_t>(end - begin) : 0);
  }
  void release(Mark) noexcept {}
  std::uint64_t host_ns() noexcept { return detail::posix_ns(CLOCK_MONOTONIC); }
};

static_assert(is_backend<CpuBackend>);

TAKT_END_NAMESPACE
