// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_alignment.hpp"

#include "base/median.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kUnknownDrift = 1e-4;
constexpr std::size_t kLeastCollectives = 30;
constexpr double kShareWithin = 0.95;
constexpr double kLineErrors = 2;

/// Readings come from files, too, and may be anything: the difference wraps rather than overflow.
std::int64_t apart(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t together(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Of what is no number of 64 bits the nearest that is.
std::int64_t whole(double value) noexcept {
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(value, -kMost, kMost));
}

/// The point of the answer that took the shortest way; false where there is none.
bool shortest(const std::vector<PingPong>& answers, ClockAlignment::Point& point) {
  const PingPong* best = nullptr;
  std::int64_t least = 0;
  for (const PingPong& each : answers) {
    const std::int64_t way = apart(each.received_ns, each.sent_ns);
    if (way < 0 || (best != nullptr && way >= least)) { continue; }
    best = &each;
    least = way;
  }
  if (best == nullptr) { return false; }
  point.own_ns = together(best->sent_ns, least / 2);
  point.ahead_ns = apart(best->answered_ns, point.own_ns);
  point.error_ns = least - least / 2;
  return true;
}

/// How far the other clock gains on the own one, by the median over pairs of ends that are half of all ends apart.
double drift_of(const std::vector<CollectiveEnd>& ends) {
  const std::size_t half = ends.size() / 2;
  std::vector<double> drifts;
  for (std::size_t at = 0; at + half < ends.size(); ++at) {
    const auto own = static_cast<double>(apart(ends[at + half].own_ns, ends[at].own_ns));
    const auto other = static_cast<double>(apart(ends[at + half].other_ns, ends[at].other_ns));
    if (own > 0) { drifts.push_back(other / own - 1); }
  }
  return median(std::move(drifts));
}

}  // namespace

double ClockAlignment::between(std::int64_t own_ns) const noexcept {
  const auto length = static_cast<double>(apart(last_.own_ns, first_.own_ns));
  return has_drift() ? static_cast<double>(apart(own_ns, first_.own_ns)) / length : 0;
}

std::int64_t ClockAlignment::other_ns(std::int64_t own_ns) const noexcept {
  const auto gained = static_cast<double>(apart(last_.ahead_ns, first_.ahead_ns));
  return together(together(own_ns, first_.ahead_ns), whole(gained * between(own_ns)));
}

std::int64_t ClockAlignment::error_ns(std::int64_t own_ns) const noexcept {
  const double at = between(own_ns);
  const double of_points =
      std::fabs(1 - at) * static_cast<double>(first_.error_ns) + std::fabs(at) * static_cast<double>(last_.error_ns);
  const double of_drift =
      has_drift() ? 0 : kUnknownDrift * std::fabs(static_cast<double>(apart(own_ns, first_.own_ns)));
  return whole(std::ceil(of_points + of_drift)) + 1;  // 1 for readings in whole ns
}

double ClockAlignment::drift_ppm() const noexcept {
  if (!has_drift()) { return 0; }
  return 1e6 * static_cast<double>(apart(last_.ahead_ns, first_.ahead_ns)) /
         static_cast<double>(apart(last_.own_ns, first_.own_ns));
}

ClockAlignment align_by_answers(const std::vector<PingPong>& early, const std::vector<PingPong>& late) {
  ClockAlignment::Point first;
  ClockAlignment::Point last;
  const bool has_first = shortest(early, first);
  const bool has_last = shortest(late, last);
  if (has_first && has_last && last.own_ns > first.own_ns) { return {first, last}; }
  if (has_first || has_last) { return ClockAlignment(has_last ? last : first); }
  return {};
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
    const auto own = static_cast<double>(apart(each.own_ns, start.own_ns));
    ahead.push_back(static_cast<double>(apart(each.other_ns, start.other_ns)) - own * (1 + drift));
  }
  const double middle = median(ahead);
  for (double& each : ahead) { each = std::fabs(each - middle); }
  const auto within = static_cast<std::size_t>(std::ceil(kShareWithin * static_cast<double>(ahead.size()))) - 1;
  std::nth_element(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(within), ahead.end());
  // The line is not where the clock is either, but near it as the mean of so many ends is.
  const double wider = 1 + kLineErrors / std::sqrt(static_cast<double>(ahead.size()));
  const std::int64_t error = whole(std::ceil(ahead[within] * wider));
  const auto length = static_cast<double>(apart(ends.back().own_ns, start.own_ns));
  const std::int64_t at_start = together(apart(start.other_ns, start.own_ns), whole(middle));
  return {{start.own_ns, at_start, error}, {ends.back().own_ns, together(at_start, whole(length * drift)), error}};
}

}  // namespace detail
TAKT_END_NAMESPACE
