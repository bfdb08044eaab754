// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/clock_questions.hpp"

#include "base/wrapping.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

void ClockQuestions::answered(std::int64_t other_ns) {
  if (!sent_ns_) { return; }
  const PingPong answer = {*sent_ns_, other_ns, now_ns()};
  sent_ns_.reset();
  // Those that follow the row are signs of life. The first one may have waited for the other rank to come.
  if (answers_.size() < bounds_.most) { answers_.push_back(answer); }
}

bool ClockQuestions::wants_more() const {
  if (answers_.empty() || answers_.size() >= bounds_.most) { return false; }
  return wrapped_difference(now_ns(), answers_.front().received_ns) < bounds_.time.count();
}

std::optional<ClockReading> ClockQuestions::reading(std::uint32_t rank) const {
  const std::optional<ClockAlignment::Point> point = shortest_answer(answers_);
  if (!point) { return std::nullopt; }
  return ClockReading{rank, point->own_ns, point->ahead_ns, point->error_ns};
}

}  // namespace detail
TAKT_END_NAMESPACE
