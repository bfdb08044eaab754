// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "session/session_trials.hpp"

#include <cstdint>

namespace takt_test {

/// Time for trials, moved by hand: the test sets the length of each step. One at a time, on one thread.
class VirtualTime {
 public:
  VirtualTime() {
    now_ns() = 1'000'000'000;
    before_ = takt::detail::trial_clock.exchange([]() noexcept { return now_ns(); });
  }
  ~VirtualTime() { takt::detail::trial_clock = before_; }
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  static std::uint64_t& now_ns() {
    static std::uint64_t now = 0;
    return now;
  }
  static void pass(std::uint64_t ns) { now_ns() += ns; }
  static void pass_until(std::uint64_t ns) {
    if (now_ns() < ns) { now_ns() = ns; }
  }

 private:
  takt::detail::TrialClock before_;
};

}  // namespace takt_test
