// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/http.hpp"

#include <takt/config.hpp>

#include <chrono>
#include <cstdint>
#include <random>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Seconds since 1970. Any thread.
inline std::int64_t now_unix_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// How long is waited for what. Tests wait less, and set the clock.
struct SenderTimes {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds total{30'000};
  std::chrono::milliseconds first_wait{1'000};  ///< before the second try, at the most; doubled each time
  std::chrono::milliseconds longest_wait{60'000};
  std::chrono::milliseconds longest_retry_after{300'000};  ///< of what a server may ask for
  std::chrono::milliseconds other_process{60'000};         ///< that asks for a token which this one could use as well
  std::int64_t (*unix_s)() = &now_unix_s;                  ///< by which tokens end
};

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
