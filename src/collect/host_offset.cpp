// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/host_offset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// By which part a correction may stretch or shorten the time since the one before: the lengths of spans are wrong by
// as much.
constexpr double kMostStretch = 0.01;

}  // namespace

void HostOffset::add(double device_ns, std::uint64_t submitted_ns, std::uint64_t seen_ns) {
  // Bounds are kept for a minute; where nobody settles for longer, they are made use of before they go.
  if (has_new_ && device_ns > oldest_ns_ + kWindows * kWindowNs / 2) { settle(); }
  const Bound lower{device_ns, static_cast<double>(submitted_ns)};
  const Bound upper{device_ns, static_cast<double>(seen_ns)};
  const auto number = static_cast<std::int64_t>(std::floor(device_ns / kWindowNs));
  const std::int64_t place = number % static_cast<std::int64_t>(kWindows);
  Window& window = window_[static_cast<std::size_t>(place < 0 ? place + kWindows : place)];
  if (window.number > number) { return; }  // of a minute ago
  if (window.number < number) {
    window = {number, lower, upper};
  } else {
    if (is_tighter(window.lower, lower)) { window.lower = lower; }
    if (is_tighter(upper, window.upper)) { window.upper = upper; }
  }
  are_rates_found_ = false;
  oldest_ns_ = has_new_ ? std::min(oldest_ns_, device_ns) : device_ns;
  newest_ns_ = has_new_ || !knots_.empty() ? std::max(newest_ns_, device_ns) : device_ns;
  has_new_ = true;
}

/// Whether `b` as a lower bound says more than `a`, or `a` as an upper bound more than `b`.
bool HostOffset::is_tighter(const Bound& a, const Bound& b) const {
  return b.host_ns - a.host_ns > rate_ * (b.device_ns - a.device_ns);
}

double HostOffset::carried(const Bound& from, double device_ns, double rate_ahead, double rate_back) {
  const double distance = device_ns - from.device_ns;
  return from.host_ns + distance * (distance > 0 ? rate_ahead : rate_back);
}

bool HostOffset::is_recent(const Window& window) const {
  return static_cast<double>(window.number) * kWindowNs > newest_ns_ - kWindows * kWindowNs;
}

/// What the bounds leave possible: between an event and a later one the host's clock has gone on by at most the time
/// from the one's submission to the other's being seen, and by at least the time from the one's being seen to the
/// other's submission.
HostOffset::Rates HostOffset::find_rates() const {
  const Rates rates{1 - most_ppm_ * 1e-6, 1 + most_ppm_ * 1e-6};
  Rates found = rates;
  for (const Window& one : window_) {
    for (const Window& other : window_) {
      if (!is_recent(one) || !is_recent(other)) { continue; }
      const double ns = other.upper.device_ns - one.lower.device_ns;
      if (ns == 0) { continue; }
      const double rate = (other.upper.host_ns - one.lower.host_ns) / ns;
      if (ns > 0) {
        found.most = std::min(found.most, rate);
      } else {
        found.least = std::max(found.least, rate);
      }
    }
  }
  // These are bounds of means over parts of the minute, two of which differ by up to twice what one may from the mean.
  const double apart = 2 * wander_ppm_ * 1e-6;
  // A rate that has changed by more contradicts itself. Then only the first assumption is left, and where that does not
  // hold either the error shows it.
  if (found.least > found.most + apart) { return rates; }
  return {std::max(found.least - apart, rates.least), std::min(found.most + apart, rates.most)};
}

HostOffset::Rates HostOffset::rates() const {
  if (!are_rates_found_) { rates_ = find_rates(); }
  are_rates_found_ = true;
  return rates_;
}

HostOffset::Knot HostOffset::estimate(double device_ns) const {
  const Rates rates = this->rates();
  double least_ns = -std::numeric_limits<double>::infinity();
  double most_ns = std::numeric_limits<double>::infinity();
  for (const Window& window : window_) {
    if (!is_recent(window)) { continue; }
    least_ns = std::max(least_ns, carried(window.lower, device_ns, rates.least, rates.most));
    most_ns = std::min(most_ns, carried(window.upper, device_ns, rates.most, rates.least));
  }
  // Where the bounds contradict each other, they do so by as much.
  return {device_ns, least_ns / 2 + most_ns / 2, std::fabs(most_ns - least_ns) / 2 + kResolutionNs};
}

void HostOffset::host_may_be_slewed() {
  most_ppm_ = kMostPpm + kSlewPpm;
  wander_ppm_ = kSlewPpm;  // from a mean, over a part of the time that it is of
  are_rates_found_ = false;
}

void HostOffset::join(Knot knot) {
  if (!knots_.empty()) {
    const Knot& last = knots_.back();
    const double passed = knot.device_ns - last.device_ns;
    const double joined = std::clamp(knot.host_ns, last.host_ns + passed * (1 - kMostStretch),
                                     last.host_ns + passed * (1 + kMostStretch));
    knot.error_ns += std::fabs(joined - knot.host_ns);
    knot.host_ns = joined;
  }
  knots_.push_back(knot);
  if (knots_.size() > kKnots) { knots_.pop_front(); }
}

void HostOffset::settle() {
  if (!has_new_) { return; }
  if (knots_.empty()) { join(estimate(oldest_ns_)); }
  if (newest_ns_ > knots_.back().device_ns) { join(estimate(newest_ns_)); }
  const Rates now = rates();
  rate_ = now.least / 2 + now.most / 2;
  has_new_ = false;
}

HostOffset::Time HostOffset::at(double device_ns) const {
  if (knots_.empty()) { return {device_ns, std::numeric_limits<double>::infinity()}; }
  const auto after = std::lower_bound(knots_.begin(), knots_.end(), device_ns,
                                      [](const Knot& knot, double ns) { return knot.device_ns < ns; });
  if (after != knots_.end() && after->device_ns == device_ns) { return {after->host_ns, after->error_ns}; }
  if (after == knots_.begin() || after == knots_.end()) {
    const Knot& near = after == knots_.end() ? knots_.back() : *after;
    const double away = device_ns - near.device_ns;
    return {near.host_ns + away * rate_, near.error_ns + std::fabs(away) * 2 * most_ppm_ * 1e-6};
  }
  const Knot& before = *(after - 1);
  const double share = (device_ns - before.device_ns) / (after->device_ns - before.device_ns);
  const double passed = after->device_ns - before.device_ns;
  return {before.host_ns + share * (after->host_ns - before.host_ns),
          std::max(before.error_ns, after->error_ns) + passed * wander_ppm_ * 1e-6};
}

}  // namespace detail
TAKT_END_NAMESPACE
