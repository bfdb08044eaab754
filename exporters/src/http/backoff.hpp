// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "http/http.hpp"
#include "http/sender_times.hpp"

#include <chrono>
#include <random>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// When what has failed is tried again: after a random part of 1 s, 2 s, 4 s ... 60 s, or when the server says. One
/// thread at a time.
class Backoff {
 public:
  explicit Backoff(const SenderTimes& times) : times_(times), jitter_(std::random_device()()) {}

  /// Counts a try that failed.
  void failed() noexcept { ++tries_; }
  /// How long to wait after that.
  std::chrono::milliseconds wait(const HttpReply& reply);
  /// The server is not asking to wait any more.
  void waited() noexcept { asked_to_wait_ = false; }
  /// The next failure is a first one.
  void reset() noexcept;

  int tries() const noexcept { return tries_; }
  /// The wait is one that the server has asked for.
  bool asked_to_wait() const noexcept { return asked_to_wait_; }

 private:
  SenderTimes times_;
  int tries_ = 0;
  bool asked_to_wait_ = false;
  std::minstd_rand jitter_;
};

}  // namespace detail
TAKT_END_NAMESPACE
