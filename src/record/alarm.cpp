// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/alarm.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <ctime>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

/// The word of a futex is what the atomic holds.
long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* most) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t), "an atomic word is a word");
  return ::syscall(SYS_futex, &word, what | FUTEX_PRIVATE_FLAG, value, most, nullptr, 0);
}

}  // namespace

void Alarm::wait(std::chrono::milliseconds most) noexcept {
  const auto until = steady_clock::now() + most;
  std::uint32_t quiet = kQuiet;
  // Acquire, here and below: pairs with ring().
  if (!state_.compare_exchange_strong(quiet, kAsleep, std::memory_order_acquire) && quiet == kRung) { return; }
  while (state_.load(std::memory_order_acquire) == kAsleep) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - steady_clock::now()).count();
    if (left <= 0) { break; }
    timespec time = {};
    time.tv_sec = static_cast<time_t>(left / 1'000'000'000);
    time.tv_nsec = static_cast<long>(left % 1'000'000'000);
    if (futex(state_, FUTEX_WAIT, kAsleep, &time) != 0 && errno == ETIMEDOUT) { break; }
  }
  std::uint32_t asleep = kAsleep;
  state_.compare_exchange_strong(asleep, kQuiet, std::memory_order_acquire);  // pairs with ring()
}

/// Keeps errno: the program may be about to read it.
void Alarm::wake() noexcept {
  const int before = errno;
  futex(state_, FUTEX_WAKE, 1, nullptr);
  errno = before;
}

}  // namespace detail
TAKT_END_NAMESPACE
