// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/slewed_clock.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kSlewed = SlewedClock::kMostPpm * 1e-6;

}  // namespace

void SlewedClock::add(const Moment& moment) {
  const bool same = moment.ns == moment.steady_ns && moment.within_ns == 0;  // the counter's
  if (moment.ns == 0 || (same && pairs_.empty() && new_.empty())) { return; }
  new_.push_back(
      {static_cast<double>(moment.steady_ns), static_cast<double>(moment.ns), static_cast<double>(moment.within_ns)});
  if (new_.size() >= kMoments) { settle(); }
}

void SlewedClock::settle() {
  std::sort(new_.begin(), new_.end(), [](const Pair& a, const Pair& b) { return a.steady_ns < b.steady_ns; });
  for (const Pair& each : new_) {
    const bool is_next =
        pairs_.empty() || (each.steady_ns >= pairs_.back().steady_ns + kApartNs && each.ns > pairs_.back().ns);
    if (is_next) { pairs_.push_back(each); }
  }
  new_.clear();
  if (pairs_.size() > kMoments) { thin_out(); }
}

/// The further back, the further apart: by a part of their age, so that a day takes no more of them than there may be.
void SlewedClock::thin_out() {
  constexpr double kPartOfAge = 1.0 / 2048;
  std::deque<Pair> kept;
  for (std::size_t at = 0; at < pairs_.size(); ++at) {
    const bool is_needed = kept.empty() || at + 1 == pairs_.size() ||
                           pairs_[at + 1].steady_ns - kept.back().steady_ns >
                               (pairs_.back().steady_ns - pairs_[at].steady_ns) * kPartOfAge;
    if (is_needed) { kept.push_back(pairs_[at]); }
  }
  pairs_ = std::move(kept);
  while (pairs_.size() > kMoments) { pairs_.pop_front(); }
}

SlewedClock::Time SlewedClock::at(double steady_ns) const {
  if (pairs_.empty()) { return {steady_ns, 0}; }
  const auto after = std::lower_bound(pairs_.begin(), pairs_.end(), steady_ns,
                                      [](const Pair& pair, double ns) { return pair.steady_ns < ns; });
  if (after == pairs_.begin() || after == pairs_.end()) {
    const Pair& near = after == pairs_.end() ? pairs_.back() : *after;
    const double away = steady_ns - near.steady_ns;
    return {near.ns + away, std::fabs(away) * kSlewed + near.within_ns};
  }
  const Pair& before = *(after - 1);
  const double passed = steady_ns - before.steady_ns;
  const double left = after->steady_ns - steady_ns;
  const double ns = before.ns + passed / (passed + left) * (after->ns - before.ns);
  const double least = std::max(before.ns + passed * (1 - kSlewed) - before.within_ns,
                                after->ns - left * (1 + kSlewed) - after->within_ns);
  const double most = std::min(before.ns + passed * (1 + kSlewed) + before.within_ns,
                               after->ns - left * (1 - kSlewed) + after->within_ns);
  return {ns, std::max({most - ns, ns - least, 0.0})};
}

}  // namespace detail
TAKT_END_NAMESPACE
