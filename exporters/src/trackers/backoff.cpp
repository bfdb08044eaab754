// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/backoff.hpp"

#include <algorithm>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

using std::chrono::milliseconds;

milliseconds Backoff::wait(const HttpReply& reply) {
  const auto doubled = times_.first_wait * (1LL << std::clamp(tries_ - 1, 0, 20));
  const auto max = std::min<milliseconds>(doubled, times_.longest_wait);
  const milliseconds wait(std::uniform_int_distribution<std::int64_t>(0, max.count())(jitter_));
  asked_to_wait_ = reply.retry_after_s > 0;
  if (!asked_to_wait_) { return wait; }
  const std::int64_t asked_s = std::min<std::int64_t>(reply.retry_after_s, 86'400);
  return std::max(wait, std::min<milliseconds>(std::chrono::seconds(asked_s), times_.longest_retry_after));
}

void Backoff::reset() noexcept {
  tries_ = 0;
  asked_to_wait_ = false;
}

}  // namespace detail
TAKT_END_NAMESPACE
