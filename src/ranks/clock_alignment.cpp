// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_alignment.hpp"

#include "base/median.hpp"
#include "base/wrapping.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kUnknownDrift = 1e-4;
constexpr std::size_t kLeastCollectives = 30;
constexpr double kShareWithin = 0.95;
constexpr double kLineErrors = 2;

/// Of what is no number of 64 bits the nearest that is.
std::int64_t whole(double value) noexcept {
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(value, -kMost, kMost));
}

/// How far the other clock gains on the own one, by the median over pairs of ends that are half of all ends apart.
double drift_of(const std::vector<CollectiveEnd>& ends) {
  const std::size_t half = ends.size() / 2;
  std::vector<double> drifts;
  for (std::size_t at = 0; at + half < ends.size(); ++at) {
    const auto own = static_cast<double>(wrapped_difference(ends[at + half].own_ns, ends[at].own_ns));
    const auto other = static_cast<double>(wrapped_difference(ends[at + half].other_ns, ends[at].other_ns));
    if (own > 0) { drifts.push_back(other / own - 1); }
  }
  return median(std::move(drifts));
}

}  // namespace

double ClockAlignment::between(std::int64_t own_ns) const noexcept {
  const auto length = static_cast<double>(wrapped_difference(last_.own_ns, first_.own_ns));
  return knows_drift() ? static_cast<double>(wrapped_difference(own_ns, first_.own_ns)) / length : 0;
}

std::int64_t ClockAlignment::other_ns(std::int64_t own_ns) const noexcept {
  const auto gained = static_cast<double>(wrapped_difference(last_.ahead_ns, first_.ahead_ns));
  return wrapped_sum(wrapped_sum(own_ns, first_.ahead_ns), whole(gained * between(own_ns)));
}

std::int64_t ClockAlignment::error_ns(std::int64_t own_ns) const noexcept {
  const double at = between(own_ns);
  const double of_points =
      std::fabs(1 - at) * static_cast<double>(first_.error_ns) + std::fabs(at) * static_cast<double>(last_.error_ns);
  const double of_drift =
      knows_drift() ? 0 : kUnknownDrift * std::fabs(static_cast<double>(wrapped_difference(own_ns, first_.own_ns)));
  return whole(std::ceil(of_points + of_drift)) + 1;  // 1 for readings in whole ns
}

double ClockAlignment::drift_ppm() const noexcept {
  if (!knows_drift()) { return 0; }
  return 1e6 * static_cast<double>(wrapped_difference(last_.ahead_ns, first_.ahead_ns)) /
         static_cast<double>(wrapped_difference(last_.own_ns, first_.own_ns));
}

ClockAlignment ClockAlignment::inverse() const noexcept {
  const auto turned = [](const Point& point) {
    return Point{wrapped_sum(point.own_ns, point.ahead_ns), wrapped_difference(0, point.ahead_ns), point.error_ns};
  };
  ClockAlignment inverse = *this;
  inverse.first_ = turned(first_);
  inverse.last_ = turned(last_);
  return inverse;
}

ClockAlignment::Point ClockAlignment::then(const Point& point, const ClockAlignment& next) noexcept {
  const std::int64_t other_ns = wrapped_sum(point.own_ns, point.ahead_ns);
  const std::int64_t more = next.error_ns(other_ns);
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - more;
  return {point.own_ns, wrapped_difference(next.other_ns(other_ns), point.own_ns),
          std::min(point.error_ns, room) + more};
}

ClockAlignment ClockAlignment::then(const ClockAlignment& next) const noexcept {
  if (!is_known() || !next.is_known()) { return {}; }
  return knows_drift() ? ClockAlignment(then(first_, next), then(last_, next)) : ClockAlignment(then(first_, next));
}

std::optional<ClockAlignment::Point> shortest_answer(const std::vector<PingPong>& answers) {
  const PingPong* best = nullptr;
  std::int64_t least = 0;
  for (const PingPong& each : answers) {
    const std::int64_t way = wrapped_difference(each.received_ns, each.sent_ns);
    if (way < 0 || (best != nullptr && way >= least)) { continue; }
    best = &each;
    least = way;
  }
  if (best == nullptr) { return std::nullopt; }
  const std::int64_t half_way = wrapped_sum(best->sent_ns, least / 2);
  return ClockAlignment::Point{half_way, wrapped_difference(best->answered_ns, half_way), least - least / 2};
}

ClockAlignment align_by_collectives(std::vector<CollectiveEnd> ends) {
  std::sort(ends.begin(), ends.end(),
            [](const CollectiveEnd& a, const CollectiveEnd& b) { return a.own_ns < b.own_ns; });
  if (ends.size() < kLeastCollectives || ends.front().own_ns == ends.back().own_ns) { return {}; }
  const double drift = drift_of(ends);
  // From the first end on, so that a double holds what clocks are apart to the ns.
  const CollectiveEnd start = ends.front();
  std::vector<double> ahead;
  for (const CollectiveEnd& each : ends) {
    const auto own = static_cast<double>(wrapped_difference(each.own_ns, start.own_ns));
    ahead.push_back(static_cast<double>(wrapped_difference(each.other_ns, start.other_ns)) - own * (1 + drift));
  }
  const double middle = median(ahead);
  for (double& each : ahead) { each = std::fabs(each - middle); }
  const auto within = static_cast<std::size_t>(std::ceil(kShareWithin * static_cast<double>(ahead.size()))) - 1;
  std::nth_element(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(within), ahead.end());
  // The line is not where the clock is either, but near it as the mean of so many ends is.
  const double wider = 1 + kLineErrors / std::sqrt(static_cast<double>(ahead.size()));
  const std::int64_t error = whole(std::ceil(ahead[within] * wider));
  const auto length = static_cast<double>(wrapped_difference(ends.back().own_ns, start.own_ns));
  const std::int64_t at_start = wrapped_sum(wrapped_difference(start.other_ns, start.own_ns), whole(middle));
  return {{start.own_ns, at_start, error}, {ends.back().own_ns, wrapped_sum(at_start, whole(length * drift)), error}};
}

}  // namespace detail
TAKT_END_NAMESPACE
