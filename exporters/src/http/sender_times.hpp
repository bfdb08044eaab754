// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>
#include <cstdint>

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

}  // namespace detail
TAKT_END_NAMESPACE
