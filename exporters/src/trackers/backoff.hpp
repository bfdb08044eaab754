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

/// Returns the Unix time in seconds. Any thread.
inline std::int64_t now_unix_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Timeouts and waits. Tests use shorter ones, and set the clock.
struct SenderTimes {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds total{30'000};
  std::chrono::milliseconds first_wait{1'000};  ///< maximum before the second try; doubled each time
  std::chrono::milliseconds longest_wait{60'000};
  std::chrono::milliseconds longest_retry_after{300'000};  ///< maximum that a server may ask for
  std::chrono::milliseconds other_process{60'000};         ///< wait for another process that requests a token
  std::int64_t (*unix_s)() = &now_unix_s;                  ///< clock for the expiry of tokens
};

/// Schedule of retries: waits a random part of 1 s, 2 s, 4 s ... 60 s, or as long as the server asks. One thread at a
/// time.
class Backoff {
 public:
  explicit Backoff(const SenderTimes& times) : times_(times), jitter_(std::random_device()()) {}

  /// Counts a failed try.
  void failed() noexcept { ++tries_; }
  /// Returns the wait after the failed try.
  std::chrono::milliseconds wait(const HttpReply& reply);
  /// Records that the server no longer asks to wait.
  void waited() noexcept { asked_to_wait_ = false; }
  /// Treats the next failure as a first one.
  void reset() noexcept;

  int tries() const noexcept { return tries_; }
  /// Returns whether the server asked for the wait.
  bool asked_to_wait() const noexcept { return asked_to_wait_; }

 private:
  SenderTimes times_;
  int tries_ = 0;
  bool asked_to_wait_ = false;
  std::minstd_rand jitter_;
};

}  // namespace detail
TAKT_END_NAMESPACE
