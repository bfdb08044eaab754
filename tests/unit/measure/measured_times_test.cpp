// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/measured_times.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using takt::MeasuredTimes;
using takt::detail::is_narrow;
using takt::detail::measured_times;
using takt::detail::rank_of_median_end;

namespace {

/// Returns the probability that the k-th values from both ends enclose the median of n, by Pascal's triangle.
double coverage(std::uint64_t n, std::uint64_t k) {
  std::vector<double> chances = {1};  // by number of heads
  for (std::uint64_t thrown = 0; thrown < n; ++thrown) {
    std::vector<double> next(chances.size() + 1, 0);
    for (std::size_t heads = 0; heads < chances.size(); ++heads) {
      next[heads] += chances[heads] / 2;
      next[heads + 1] += chances[heads] / 2;
    }
    chances = next;
  }
  double inside = 0;
  for (std::uint64_t heads = k; heads + k <= n; ++heads) { inside += chances[static_cast<std::size_t>(heads)]; }
  return inside;
}

std::vector<std::int64_t> some_times(std::size_t count, std::uint64_t seed) {
  takt_test::Random random(seed);
  std::vector<std::int64_t> times;
  for (std::size_t each = 0; each < count; ++each) {
    times.push_back(static_cast<std::int64_t>(1e6 - 2e5 * std::log(1 - random.uniform())));
  }
  return times;
}

}  // namespace

TEST_CASE("Measured times: the median's interval is the narrowest with 95 % coverage") {
  for (std::uint64_t n = 0; n < takt::detail::kMinForMedian; ++n) { CHECK(rank_of_median_end(n) == 0); }
  for (const std::uint64_t n : {6U, 7U, 8U, 9U, 10U, 15U, 29U, 30U, 31U, 100U, 333U, 1000U}) {
    const std::uint64_t k = rank_of_median_end(n);
    INFO(n << " values, rank " << k);
    REQUIRE(k >= 1);
    CHECK(coverage(n, k) >= 0.95);
    CHECK(coverage(n, k + 1) < 0.95);
  }
  CHECK(rank_of_median_end(30) == 10);  // as in published tables
  // For large n it is close to n / 2 - 0.98 sqrt(n).
  CHECK(std::fabs(static_cast<double>(rank_of_median_end(100'000)) - (50'000 - 0.98 * std::sqrt(1e5))) < 2);
}

TEST_CASE("Measured times: statistics equal those of the sorted times") {
  const std::vector<std::int64_t> times = some_times(200, 7);
  const MeasuredTimes found = measured_times(times);
  std::vector<std::int64_t> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  long double sum = 0;
  long double squares = 0;
  for (const std::int64_t each : times) {
    sum += static_cast<long double>(each);
    squares += static_cast<long double>(each) * static_cast<long double>(each);
  }
  CHECK(found.n == 200);
  CHECK(found.mean_ns == Approx(static_cast<double>(sum / 200)));
  CHECK(found.stdev_ns == Approx(static_cast<double>(std::sqrt((squares - sum * sum / 200) / 199))));
  CHECK(found.min_ns == static_cast<double>(sorted.front()));
  CHECK(found.max_ns == static_cast<double>(sorted.back()));
  CHECK(found.median_ns == (static_cast<double>(sorted[99]) + static_cast<double>(sorted[100])) / 2);
  REQUIRE(found.has_interval);
  CHECK(found.low_ns == static_cast<double>(sorted[static_cast<std::size_t>(rank_of_median_end(200)) - 1]));
  CHECK(found.high_ns == static_cast<double>(sorted[200 - static_cast<std::size_t>(rank_of_median_end(200))]));
  CHECK(found.percentiles_ns[0] == static_cast<double>(sorted[179]));  // 180 of 200 do not exceed it
  CHECK(found.percentiles_ns[1] == static_cast<double>(sorted[189]));
  CHECK(found.percentiles_ns[2] == static_cast<double>(sorted[197]));
  CHECK_FALSE(found.percentiles_ns[3]);
}

TEST_CASE("Measured times: few times give no interval and no percentile equal to the maximum") {
  CHECK(measured_times({}).n == 0);
  const MeasuredTimes one = measured_times({5});
  CHECK(one.mean_ns == 5);
  CHECK(one.median_ns == 5);
  CHECK(one.stdev_ns == 0);
  CHECK_FALSE(one.has_interval);
  CHECK_FALSE(is_narrow(one, 0.5));
  CHECK_FALSE(measured_times(some_times(5, 1)).has_interval);
  CHECK(measured_times(some_times(6, 1)).has_interval);
  CHECK_FALSE(measured_times(some_times(9, 1)).percentiles_ns[0]);
  CHECK(measured_times(some_times(10, 1)).percentiles_ns[0] > 0);
  CHECK(measured_times(some_times(20, 1)).percentiles_ns[1] > 0);
  CHECK_FALSE(measured_times(some_times(99, 1)).percentiles_ns[2]);
  CHECK(measured_times(some_times(1000, 1)).percentiles_ns[3] > 0);
}

TEST_CASE("Measured times: the interval is as narrow as reported") {
  const MeasuredTimes times = measured_times({90, 100, 100, 100, 100, 110});
  CHECK(times.low_ns == 90);
  CHECK(times.high_ns == 110);
  CHECK(is_narrow(times, 0.2));
  CHECK_FALSE(is_narrow(times, 0.19));
}

TEST_CASE("Measured times: the interval of 30 skewed times covers their median as often as stated") {
  const int cases = takt_test::scaled(4000);
  const double median_ns = 1e6 + 2e5 * std::log(2.0);
  int held = 0;
  for (int each = 0; each < cases; ++each) {
    const MeasuredTimes times =
        measured_times(some_times(30, takt_test::test_seed() + static_cast<std::uint64_t>(each)));
    held += times.low_ns <= median_ns && median_ns <= times.high_ns ? 1 : 0;
  }
  // The coverage is 95.7 % for this rank. One deviation is 0.33 percentage points, or 1.0 for the fewer cases with a
  // sanitizer.
  CHECK(static_cast<double>(held) / cases == Approx(coverage(30, 10)).margin(takt_test::kSanitized ? 0.04 : 0.013));
}
