// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Collects results of one stream from a ring, places `head` to `tail`, with few polls of the device: streams finish in
/// order, so a ready place implies that all before it are ready. Polls the first place, then 1, 2, 4, 8 ... places
/// further on until one is pending (at most 2 + log2(n) of n places). Then collects the places before that.
/// \param look at a place: collects its result, or returns false while it is pending; also true if already collected.
/// \return the first place that is still pending; later places may have been collected, too.
template <class Look>
std::uint32_t drain(std::uint32_t head, std::uint32_t tail, Look look) noexcept {
  if (head == tail || !look(head)) { return head; }
  std::uint32_t last = head;  // known to be ready
  for (std::uint32_t step = 1; last + 1 != tail; step *= 2) {
    const std::uint32_t left = tail - 1 - last;
    const std::uint32_t next = last + (left < step ? left : step);
    if (!look(next)) { break; }
    last = next;
  }
  while (head != last + 1 && look(head)) { ++head; }
  return head;
}

/// Limits how often ends of regions poll a device: after a poll without results, by any thread, the next ends skip it.
/// Any thread; is_over() only on the thread whose regions end.
class PollBackoff {
 public:
  static constexpr std::uint32_t kEnds = 15;
  /// Returns true if this end should poll.
  bool is_over() noexcept {
    const std::uint32_t left = left_.load(std::memory_order_relaxed);
    if (left != 0) { left_.store(left - 1, std::memory_order_relaxed); }
    return left == 0;
  }
  /// Records a poll. \param before number of pending results before it, and `after` after it.
  void polled(std::uint64_t before, std::uint64_t after) noexcept {
    left_.store(before != 0 && before == after ? kEnds : 0, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> left_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
