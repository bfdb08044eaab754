// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How long somebody may wait for a pipe or a terminal that takes nothing: while a run ends, to a moment that is known.
/// Any thread.
class WritePatience {
 public:
  using Time = std::chrono::steady_clock::time_point;

  constexpr WritePatience() noexcept = default;
  void end_at(Time moment) noexcept { until_ns_.store(ns_of(moment), std::memory_order_relaxed); }
  void forget() noexcept { until_ns_.store(kForEver, std::memory_order_relaxed); }

  /// For poll(2). \param most in ms, -1: for ever.
  int left_ms(int most) const noexcept {
    const std::int64_t until = until_ns_.load(std::memory_order_relaxed);
    if (until == kForEver) { return most; }
    const std::int64_t left = std::max<std::int64_t>(until - ns_of(std::chrono::steady_clock::now()), 0) / 1'000'000;
    return static_cast<int>(most < 0 ? std::min<std::int64_t>(left, std::numeric_limits<int>::max())
                                     : std::min<std::int64_t>(left, most));
  }

 private:
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
  static std::int64_t ns_of(Time moment) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
  }

  std::atomic<std::int64_t> until_ns_{kForEver};
};

/// Of the table on stdout, and of lines on stderr.
inline WritePatience table_patience;
inline WritePatience fault_patience;

}  // namespace detail
TAKT_END_NAMESPACE
