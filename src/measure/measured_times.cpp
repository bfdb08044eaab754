// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/measured_times.hpp"

#include <takt/snapshot.hpp>

#include "measure/median_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

double time_at(const std::vector<std::int64_t>& ordered, std::size_t place) {
  return static_cast<double>(ordered[place]);
}

void add_moments(const std::vector<std::int64_t>& values, MeasuredTimes& times) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const std::int64_t each : values) { sum += static_cast<double>(each); }
  times.mean_ns = sum / count;
  double squares = 0;
  for (const std::int64_t each : values) {
    const double off = static_cast<double>(each) - times.mean_ns;
    squares += off * off;
  }
  times.stdev_ns = values.size() < 2 ? 0 : std::sqrt(squares / (count - 1));
}

}  // namespace

MeasuredTimes measured_times(std::vector<std::int64_t> times_ns) {
  MeasuredTimes times;
  const std::size_t n = times_ns.size();
  times.n = n;
  if (n == 0) { return times; }
  add_moments(times_ns, times);
  std::sort(times_ns.begin(), times_ns.end());
  times.min_ns = time_at(times_ns, 0);
  times.max_ns = time_at(times_ns, n - 1);
  times.median_ns = (time_at(times_ns, (n - 1) / 2) + time_at(times_ns, n / 2)) / 2;
  if (const std::uint64_t rank = rank_of_median_end(n)) {
    times.has_interval = true;
    times.low_ns = time_at(times_ns, static_cast<std::size_t>(rank - 1));
    times.high_ns = time_at(times_ns, n - static_cast<std::size_t>(rank));
  }
  for (std::size_t at = 0; at < times.percentiles_ns.size(); ++at) {
    const double share = MeasuredTimes::kPercentiles[at];
    if (!has_percentile(n, share)) { continue; }
    const double rank = std::ceil(share * static_cast<double>(n) - 1e-9);  // 0.95 * 20 is 19
    times.percentiles_ns[at] = time_at(times_ns, static_cast<std::size_t>(rank) - 1);
  }
  return times;
}

bool is_narrow(const MeasuredTimes& times, double share) noexcept {
  return times.has_interval && times.high_ns - times.low_ns <= share * times.median_ns;
}

}  // namespace detail
TAKT_END_NAMESPACE
