// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/clock_alignment.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A clock that is compared with those of other ranks, in ns since 1970.
using UnixClock = std::function<std::int64_t()>;

/// Questions to one rank for its time, one at a time. One thread at a time.
class ClockQuestions {
 public:
  /// So many in a row, or for so long: nobody is to wait for many where answers take long.
  struct Bounds {
    std::size_t most = 8;
    std::chrono::nanoseconds time = std::chrono::microseconds(100);
  };

  ClockQuestions(UnixClock clock, Bounds bounds) : clock_(std::move(clock)), bounds_(bounds) {}

  std::int64_t now_ns() const { return clock_(); }
  void asked() { sent_ns_ = now_ns(); }
  void answered(std::int64_t other_ns);
  /// To another rank from now on.
  void begin_again() noexcept {
    sent_ns_.reset();
    answers_.clear();
  }

  bool is_under_way() const noexcept { return sent_ns_.has_value(); }
  bool has_answer() const noexcept { return !answers_.empty(); }
  /// Whether another one in this row is worth it.
  bool wants_more() const;
  /// By the answer that took the shortest way there and back; none: there is no answer.
  std::optional<ClockReading> reading(std::uint32_t rank) const;

 private:
  UnixClock clock_;
  Bounds bounds_;
  std::optional<std::int64_t> sent_ns_;
  std::vector<PingPong> answers_;
};

}  // namespace detail
TAKT_END_NAMESPACE
