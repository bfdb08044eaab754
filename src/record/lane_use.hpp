// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <sched.h>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Which threads use a ring of pending spans: its owner alone, or one that asks the device for it, one that reads it,
/// or both. None waits: a thread that cannot enter does without. Any thread.
class LaneUse {
 public:
  enum Who : std::uint32_t { kOwner = 1, kAsker = 2, kReader = 4 };

  bool enter(Who who) noexcept {
    const std::uint32_t keeps_out =
        who == kOwner ? kOwner | kAsker | kReader : static_cast<std::uint32_t>(kOwner | who);
    std::uint32_t now = use_.load(std::memory_order_relaxed);
    while ((now & keeps_out) == 0) {
      // Acquire: pairs with leave().
      if (use_.compare_exchange_weak(now, now | who, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  /// Tries for a moment: only a driver that does not answer keeps a thread inside for longer.
  bool enter_soon(Who who) noexcept {
    constexpr int kTries = 200;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      if (enter(who)) { return true; }
      sched_yield();
    }
    return false;
  }
  /// Release: pairs with enter().
  void leave(Who who) noexcept { use_.fetch_and(~static_cast<std::uint32_t>(who), std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> use_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
