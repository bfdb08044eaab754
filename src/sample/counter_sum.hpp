// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a counter has counted since its first reading, whatever it began with. A value; one thread at a time.
class CounterSum {
 public:
  /// \param range behind which it begins again at 0; 0: it only does so when somebody resets it.
  explicit CounterSum(std::uint64_t range = 0) noexcept : range_(range) {}

  /// Takes the next reading; it must have gone round once at most. What was counted before a reset is lost: nothing is
  /// added then. Returns the sum.
  std::uint64_t add(std::uint64_t reading) noexcept {
    if (has_last_) {
      if (reading >= last_) {
        sum_ += reading - last_;
      } else if (last_ <= range_) {
        sum_ += range_ - last_ + reading;
      }
    }
    has_last_ = true;
    last_ = reading;
    return sum_;
  }

 private:
  std::uint64_t range_;
  std::uint64_t last_ = 0;
  std::uint64_t sum_ = 0;
  bool has_last_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
