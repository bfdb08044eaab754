// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/throughput_windows.hpp"

#include <takt/snapshot.hpp>

#include "base/statistics.hpp"

#include <sched.h>
#include <algorithm>
#include <cmath>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

void ThroughputWindows::add(std::uint64_t items, std::uint64_t period_ns) noexcept {
  const std::uint64_t version = version_.own();
  version_.set(version + 1);
  steps_.add(1);
  items_.set(bounded_sum(items_.own(), items));
  ns_.set(bounded_sum(ns_.own(), period_ns));
  // Windows hold no more than these sums; once saturated, there is no rate.
  if (items_.own() < kMaxSum && ns_.own() < kMaxSum) {
    add_to_window(items, period_ns);
    add_powers(period_ns);
  }
  version_.set(version + 2);
}

void ThroughputWindows::add_powers(std::uint64_t period_ns) noexcept {
  const auto ns = static_cast<double>(period_ns);
  if (TAKT_UNLIKELY(steps_.own() == 1)) { first_ns_ = ns; }
  const double differs = ns - first_ns_;
  double power = 1;
  for (Relaxed<double>& sum : power_) { sum.add(power *= differs); }
}

inline void ThroughputWindows::add_to_window(std::uint64_t items, std::uint64_t period_ns) noexcept {
  Window& window = window_[full_.own()];
  window.items.add(items);
  window.ns.add(period_ns);
  open_steps_.add(1);
  if (TAKT_UNLIKELY(open_steps_.own() == per_window_.own())) { next_window(); }
}

TAKT_COLD void ThroughputWindows::next_window() noexcept {
  unsigned full = full_.own();
  open_steps_.set(0);
  if (++full == kWindows) {
    for (unsigned pair = 0; pair < kWindows / 2; ++pair) {
      window_[pair].items.set(window_[2 * pair].items.own() + window_[2 * pair + 1].items.own());
      window_[pair].ns.set(window_[2 * pair].ns.own() + window_[2 * pair + 1].ns.own());
    }
    full = kWindows / 2;
    per_window_.set(per_window_.own() * 2);
  }
  full_.set(full);
  window_[full] = Window();
}

void ThroughputWindows::exclude(std::uint64_t period_ns) noexcept {
  const std::uint64_t version = version_.own();
  version_.set(version + 1);
  excluded_steps_.add(1);
  excluded_ns_.set(bounded_sum(excluded_ns_.own(), period_ns));
  version_.set(version + 2);
}

/// Data that a reader copies between two reads of the version.
struct ThroughputWindows::Interval {
  WindowShare window[kWindows];
  double power[kPowers] = {};

  double stalls(std::uint64_t steps) const noexcept;
  void judge(Throughput& result) const noexcept;
};

/// Returns the number of equal stalls that would give this scatter: (sum of squares)^2 / sum of fourth powers, which is
/// steps by kurtosis. k stalls among equal steps give k; normally distributed steps give a third of their number.
double ThroughputWindows::Interval::stalls(std::uint64_t steps) const noexcept {
  const double n = static_cast<double>(steps);
  const double mean = power[0] / n;
  const double squares = power[1] - n * mean * mean;
  const double fourths =
      power[3] - 4 * mean * power[2] + 6 * mean * mean * power[1] - 3 * n * mean * mean * mean * mean;
  // Only rounding: all periods are equal.
  if (squares <= 1e-12 * power[1] || fourths <= 0) { return std::numeric_limits<double>::max(); }
  return squares * squares / fourths;
}

/// Computes the interval of items by time: an interval of a ratio, from the windows' excess times. Correlated
/// neighbours widen it by (1 + r) / (1 - r), as in a first-order series, and n windows are worth n (1 - r) / (1 + r).
/// It is symmetric in the logarithm, so no limit is below 0.
void ThroughputWindows::Interval::judge(Throughput& result) const noexcept {
  if (result.windows < kMinWindows) { return; }
  const double stalls = this->stalls(result.steps);
  if (stalls < kMinStalls) {
    result.no_interval = NoInterval::few_stalls;
    // Capped: rounded up to ten, it would contradict the limit.
    result.stalls = static_cast<std::uint64_t>(std::llround(std::min(stalls, kMinStalls - 1)));
    return;
  }
  const RatioScatter scatter = scatter_of(window, result.windows);
  if (scatter.items <= 0) { return; }
  const double r = scatter.correlation();
  if (scatter.windows * (1 - r) < kMinIndependent * (1 + r)) {
    result.no_interval = NoInterval::correlated;
    return;
  }
  const double half = scatter.interval_factor(r > 0 ? (1 + r) / (1 - r) : 1);
  result.no_interval = NoInterval::none;
  result.items_low = result.items_per_s / half;
  result.items_high = result.items_per_s * half;
}

Throughput ThroughputWindows::read() const noexcept {
  Throughput result;
  Interval interval;
  for (;;) {
    const std::uint64_t version = version_.get();
    result.steps = steps_.get();
    result.items = items_.get();
    result.period_ns = ns_.get();
    result.excluded_steps = excluded_steps_.get();
    result.excluded_ns = excluded_ns_.get();
    result.windows = full_.get();
    for (unsigned window = 0; window < result.windows && window < kWindows; ++window) {
      interval.window[window] = {static_cast<double>(window_[window].items.get()),
                                 static_cast<double>(window_[window].ns.get())};
    }
    for (unsigned at = 0; at < kPowers; ++at) { interval.power[at] = power_[at].get(); }
    if ((version & 1U) == 0 && version_.get() == version) { break; }
    sched_yield();
  }
  if (result.period_ns == 0) { return result; }
  const double seconds = static_cast<double>(result.period_ns) * 1e-9;
  result.items_per_s = static_cast<double>(result.items) / seconds;
  result.steps_per_s = static_cast<double>(result.steps) / seconds;
  interval.judge(result);
  return result;
}

}  // namespace detail
TAKT_END_NAMESPACE
