// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Takes in results of one stream from a ring, places `head` to `tail`, and asks the device about few of them: streams
/// finish in order, so one place that is ready speaks for all before it. Looks at the first place, then 1, 2, 4, 8 ...
/// places further on until one is pending, at most 2 + log2(n) places of n; then takes in what lies between.
/// \param look at a place: takes its result in, or returns false while it is pending; true also where it has been
/// taken in.
/// \return the first place that is pending now; places behind it may have been taken in as well.
template <class Look>
std::uint32_t drain(std::uint32_t head, std::uint32_t tail, Look look) noexcept {
  if (head == tail || !look(head)) { return head; }
  std::uint32_t last = head;  // that is known to be ready
  for (std::uint32_t step = 1; last + 1 != tail; step *= 2) {
    const std::uint32_t left = tail - 1 - last;
    const std::uint32_t next = last + (left < step ? left : step);
    if (!look(next)) { break; }
    last = next;
  }
  while (head != last + 1 && look(head)) { ++head; }
  return head;
}

/// How often the ends of regions ask a device for results: where it was asked and had none, by whichever thread, the
/// next ends do not ask. Any thread; is_over() is for the thread whose regions end.
class PollBackoff {
 public:
  static constexpr std::uint32_t kEnds = 15;
  /// Whether this end is to ask.
  bool is_over() noexcept {
    const std::uint32_t left = left_.load(std::memory_order_relaxed);
    if (left != 0) { left_.store(left - 1, std::memory_order_relaxed); }
    return left == 0;
  }
  /// The device was asked. \param before how many results were pending then, and `after` its answer.
  void polled(std::uint64_t before, std::uint64_t after) noexcept {
    left_.store(before != 0 && before == after ? kEnds : 0, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> left_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
