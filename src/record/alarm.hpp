// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Wakes a thread of Takt. ring() takes no lock, and is a system call only if a thread may be asleep and it
/// has not rung since the last clear(). Each ring is an exchange, also where it has rung: by a look alone the thread
/// that clears it could miss what was done before. Any thread.
class Alarm {
 public:
  void ring() noexcept {
    if (state_.exchange(kRung, std::memory_order_release) == kAsleep) { wake(); }  // pairs with clear()
  }
  /// The caller sees what happened before the ring. A thread that sleeps goes on sleeping.
  void clear() noexcept {
    std::uint32_t rung = kRung;
    state_.compare_exchange_strong(rung, kQuiet, std::memory_order_acquire);  // pairs with ring()
  }
  /// Sleeps until it has rung, for at most `most`. One thread at a time.
  void wait(std::chrono::milliseconds most) noexcept;

 private:
  static constexpr std::uint32_t kQuiet = 0;
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kRung = 2;

  void wake() noexcept;

  std::atomic<std::uint32_t> state_{kQuiet};
};

}  // namespace detail
TAKT_END_NAMESPACE
