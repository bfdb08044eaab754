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

/// How long a delivery goes on while a server takes nothing. One thread at a time.
class Patience {
 public:
  /// \param answers so far, that took something.
  explicit Patience(std::chrono::milliseconds most, std::uint64_t answers = 0) : most_(most), answers_(answers) {}

  /// \param asking a request is under way, which has a time limit of its own.
  bool lasts(std::uint64_t answers, bool asking) {
    const auto now = std::chrono::steady_clock::now();
    if (std::exchange(answers_, answers) != answers) { last_ = now; }
    return asking || now - last_ <= most_;
  }

 private:
  const std::chrono::milliseconds most_;
  std::uint64_t answers_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace cli
TAKT_END_NAMESPACE
