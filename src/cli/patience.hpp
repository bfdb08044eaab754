// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What a delivery may do between two questions whether the lease is still its own.
constexpr std::chrono::milliseconds kDeliverySlice(200);

/// How long the deliveries of a call, one after the other, go on while a server takes nothing. One thread at a time.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds most) : most_(most) {}

  /// A delivery begins, or goes on after something else.
  /// \param answers so far, that took something.
  void begin(std::uint64_t answers) {
    answers_ = answers;
    began_ = std::chrono::steady_clock::now();
    last_ = began_;
  }
  /// \param asking a request is under way, which has a time limit of its own; but once patience was lost, a moment has
  /// to do for those of all further deliveries until the server takes something.
  bool lasts(std::uint64_t answers, bool asking) {
    const auto now = std::chrono::steady_clock::now();
    if (std::exchange(answers_, answers) != answers) {
      last_ = now;
      lost_ = false;
    }
    const bool lasts = lost_ ? asking && now - began_ <= kMoment : asking || now - last_ <= most_;
    lost_ = lost_ || !lasts;
    return lasts;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds kMoment{1000};

  const std::chrono::milliseconds most_;
  std::uint64_t answers_ = 0;
  Time began_;
  Time last_;
  bool lost_ = false;
};

}  // namespace cli
TAKT_END_NAMESPACE
