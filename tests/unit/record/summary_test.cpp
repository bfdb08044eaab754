// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/summary.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using takt::Stats;
using takt::Summary;
using takt::detail::MemoryBudget;
using takt::detail::Wide;
using takt_test::Random;

namespace {

/// Returns every field and bucket.
std::vector<std::uint64_t> bits_of(const Summary& summary) {
  std::vector<std::uint64_t> bits{summary.n(),
                                  summary.total_ns(),
                                  summary.warmup_n(),
                                  summary.warmup_total_ns(),
                                  summary.first_n(),
                                  summary.first_total_ns(),
                                  summary.first_max_ns(),
                                  summary.min_ns(),
                                  summary.max_ns(),
                                  static_cast<std::uint64_t>(summary.sum_of_squares()),
                                  static_cast<std::uint64_t>(summary.sum_of_squares() >> 64U),
                                  summary.histogram().unbinned()};
  for (unsigned bucket = 0; bucket < takt::Histogram::buckets(); ++bucket) {
    bits.push_back(summary.histogram().count(bucket));
  }
  return bits;
}

double two_pass_stdev(const std::vector<std::uint64_t>& values) {
  long double mean = 0;
  for (const std::uint64_t value : values) { mean += static_cast<long double>(value); }
  mean /= static_cast<long double>(values.size());
  long double scatter = 0;
  for (const std::uint64_t value : values) {
    const long double off = static_cast<long double>(value) - mean;
    scatter += off * off;
  }
  return static_cast<double>(std::sqrt(scatter / static_cast<long double>(values.size() - 1)));
}

Summary summary_of(const std::vector<std::uint64_t>& values) {
  Summary summary;
  for (const std::uint64_t value : values) { summary.add(value); }
  return summary;
}

}  // namespace

TEST_CASE("Summary: is all zero when empty") {
  const Stats stats = Summary().stats();
  REQUIRE(stats.n == 0);
  REQUIRE(stats.mean_ns == 0.0);
  REQUIRE(stats.stdev_ns == 0.0);
  REQUIRE(stats.min_ns == 0);
  REQUIRE(stats.max_ns == 0);
  REQUIRE(stats.p50_ns == 0);
}

TEST_CASE("Summary: matches four durations computed by hand") {
  Summary summary;
  summary.add_first(4'000);
  for (const std::uint64_t ns : {1'000U, 3'000U, 2'000U}) { summary.add(ns); }
  const Stats stats = summary.stats();
  REQUIRE(stats.n == 4);
  REQUIRE(stats.total_ns == 10'000);
  REQUIRE(stats.warmup_n == 0);
  REQUIRE(stats.first_ns == 4'000);
  REQUIRE(stats.mean_ns == 2'500);
  REQUIRE(stats.stdev_ns == Approx(1290.994449).epsilon(1e-9));
  REQUIRE(stats.min_ns == 1'000);
  REQUIRE(stats.max_ns == 4'000);
  REQUIRE(stats.p50_ns == Approx(2'000).epsilon(0.0079));
  REQUIRE(stats.p99_ns == 4'000);  // never above the maximum
  REQUIRE(summary.sum_of_squares() == 30'000'000);
}

TEST_CASE("Summary: warm-up enters only count and total, and may be the first call") {
  Summary summary;
  summary.add_warmup(900);
  summary.add_warmup(800);
  REQUIRE(summary.measured_n() == 0);
  REQUIRE(summary.min_ns() == 0);
  REQUIRE(summary.mean_ns() == 0.0);
  REQUIRE(summary.percentile_ns(0.5) == 0);
  summary.add(100);
  summary.add(120);
  REQUIRE(summary.n() == 4);
  REQUIRE(summary.total_ns() == 1'920);
  REQUIRE(summary.warmup_n() == 2);
  REQUIRE(summary.warmup_total_ns() == 1'700);
  REQUIRE(summary.measured_n() == 2);
  REQUIRE(summary.mean_ns() == 110);
  REQUIRE(summary.max_ns() == 120);
  REQUIRE(summary.min_ns() == 100);
  REQUIRE(summary.stdev_ns() == Approx(std::sqrt(200.0)));
  REQUIRE(summary.percentile_ns(1) == 120);
  REQUIRE(summary.first_n() == 1);
  REQUIRE(summary.first_total_ns() == 900);
  REQUIRE(summary.first_max_ns() == 900);
}

TEST_CASE("Summary: counts and adds first calls and keeps the longest") {
  Summary a;
  a.add_first(70);
  a.add(20);
  Summary b;
  b.add_first(50);
  b.add_warmup(500);  // not the first
  a.merge(b);
  REQUIRE(a.first_n() == 2);
  REQUIRE(a.first_total_ns() == 120);
  REQUIRE(a.first_max_ns() == 70);
  REQUIRE(a.n() == 4);
  REQUIRE(a.mean_ns() == Approx((70 + 20 + 50) / 3.0));
}

TEST_CASE("Summary: squares do not overflow") {
  Summary summary;
  Wide expected = 0;
  for (const std::uint64_t ns : {std::uint64_t{1} << 32U, (std::uint64_t{1} << 32U) - 1, std::uint64_t{1} << 46U,
                                 (std::uint64_t{1} << 40U) + 12'345, std::uint64_t{3}}) {
    summary.add(ns);
    expected += static_cast<Wide>(ns) * ns;
    REQUIRE(summary.sum_of_squares() == expected);
  }
  // Just below 2^32 ns the fast path carries into the upper half.
  Summary carried;
  expected = 0;
  for (int count = 0; count < 10; ++count) {
    carried.add(0xFFFFFFFFU);
    expected += static_cast<Wide>(0xFFFFFFFFU) * 0xFFFFFFFFU;
    REQUIRE(carried.sum_of_squares() == expected);
  }
  REQUIRE(carried.stdev_ns() == 0.0);
  carried.merge(summary);
  REQUIRE(carried.sum_of_squares() == expected + summary.sum_of_squares());
}

TEST_CASE("Summary: try_add() does what add() does, or nothing") {
  Random random(11);
  Summary tried;
  Summary added;
  int refused = 0;
  for (int round = 0; round < 5'000; ++round) {
    const std::uint64_t ns = random.next() >> (16 + random.below(48));
    const bool done = tried.try_add(ns);
    if (done) { added.add(ns); }
    REQUIRE(bits_of(tried) == bits_of(added));
    if (done) { continue; }
    ++refused;
    tried.add(ns);
    added.add(ns);
  }
  REQUIRE(refused > 100);
  REQUIRE(refused < 4'900);
  REQUIRE(added.sum_of_squares() >> 64U != 0);
}

TEST_CASE("Summary: sums saturate, whatever is added and by any function") {
  const std::uint64_t max = takt::detail::kMaxSum;
  Summary summary;
  for (int count = 0; count < 3; ++count) { summary.add(max - 5); }
  REQUIRE(summary.is_full());
  for (int count = 0; count < 100; ++count) {
    if (!summary.try_add(1'000)) { summary.add(1'000); }
  }
  summary.add_warmup(~std::uint64_t{0});
  summary.add_warmup(7);
  REQUIRE(summary.n() == 105);
  REQUIRE(summary.total_ns() == max);
  REQUIRE(summary.warmup_total_ns() == max);
  REQUIRE(summary.measured_total_ns() == 0);
  REQUIRE(summary.sum_of_squares() == ~Wide{0});
  REQUIRE(summary.stdev_ns() == 0.0);
  Summary sum;
  sum.add_first(max);
  sum.merge(summary);
  sum.merge(sum);
  REQUIRE(sum.total_ns() == max);
  REQUIRE(sum.first_total_ns() == max);
  REQUIRE(sum.n() == 212);
}

TEST_CASE("Summary: short durations on the fast path saturate the total, too") {
  Summary summary;
  summary.add(takt::detail::kMaxSum - 1'000);
  for (int count = 0; count < 10'000; ++count) {
    if (!summary.try_add(4'000'000'000)) { summary.add(4'000'000'000); }
  }
  REQUIRE(summary.n() == 10'001);
  REQUIRE(summary.total_ns() == takt::detail::kMaxSum);
}

TEST_CASE("Summary: merging saturated sums gives the same bits in any order") {
  Summary small;
  small.add(takt::detail::kMaxSum / 3);
  Summary two = small;
  two.merge(small);
  Summary left = two;
  left.merge(two);
  Summary right = small;
  for (int count = 0; count < 3; ++count) { right.merge(small); }
  REQUIRE(bits_of(left) == bits_of(right));
  REQUIRE(left.is_full());
  REQUIRE_FALSE(two.is_full());
}

TEST_CASE("Summary: the standard deviation equals that of a two-pass computation") {
  Random random(11);
  SECTION("nearly equal durations without cancellation") {
    std::vector<std::uint64_t> values;
    for (int count = 0; count < 50'000; ++count) { values.push_back(3'600'000'000'000U + random.below(1000)); }
    REQUIRE(summary_of(values).stdev_ns() == Approx(two_pass_stdev(values)).epsilon(1e-12));
  }
  SECTION("equal values") { REQUIRE(summary_of(std::vector<std::uint64_t>(1000, 987'654'321'987U)).stdev_ns() == 0.0); }
  SECTION("equal values and one that differs by a nanosecond") {
    std::vector<std::uint64_t> values(1000, 987'654'321'987U);
    ++values[3];
    REQUIRE(summary_of(values).stdev_ns() == Approx(two_pass_stdev(values)).epsilon(1e-9));
  }
  SECTION("over all octaves") {
    std::vector<std::uint64_t> values;
    for (int count = 0; count < 50'000; ++count) { values.push_back(random.next() >> (18 + random.below(40))); }
    REQUIRE(summary_of(values).stdev_ns() == Approx(two_pass_stdev(values)).epsilon(1e-12));
  }
  SECTION("beyond 128 bits") {  // n times the squares is more than 2^128
    std::vector<std::uint64_t> values(1024, 17);
    values[500] = std::uint64_t{1} << 60U;
    REQUIRE(summary_of(values).stdev_ns() == Approx(two_pass_stdev(values)).epsilon(1e-12));
  }
}

TEST_CASE("Summary: the standard deviation needs two calls after warm-up") {
  Summary summary;
  summary.add_warmup(10);
  summary.add(20);
  REQUIRE(summary.stdev_ns() == 0.0);
  summary.add(22);
  REQUIRE(summary.stdev_ns() == Approx(std::sqrt(2.0)));
}

TEST_CASE("Summary: percentiles are between minimum and maximum") {
  Summary summary;
  summary.add(1'000'001);
  REQUIRE(summary.percentile_ns(0.0) == 1'000'001);
  REQUIRE(summary.percentile_ns(1.0) == 1'000'001);
  Summary longest;
  longest.add(takt::Histogram::kMaxNs * 2);
  REQUIRE(longest.percentile_ns(0.5) == takt::Histogram::kMaxNs * 2);
}

TEST_CASE("Summary: without memory it keeps all but percentiles and counts the missing values") {
  MemoryBudget nothing(0);
  Summary summary;
  summary.add_first(100, &nothing);
  summary.add(300, &nothing);
  REQUIRE(summary.n() == 2);
  REQUIRE(summary.mean_ns() == 200);
  REQUIRE(summary.max_ns() == 300);
  REQUIRE(summary.histogram().unbinned() == 2);
  Summary sum;
  sum.merge(summary, &nothing);
  REQUIRE(sum.n() == 2);
  REQUIRE(sum.histogram().unbinned() == 2);
}

TEST_CASE("Summary: merging in any order and shape gives the same bits") {
  Random random(takt_test::test_seed());
  std::vector<Summary> parts(24);
  for (Summary& part : parts) {
    const std::uint64_t calls = random.below(300);
    for (std::uint64_t call = 0; call < calls; ++call) {
      const std::uint64_t ns = random.next() >> (18 + random.below(45));
      if (call < 3 && random.chance(50)) {
        part.add_warmup(ns);
      } else if (part.n() == 0) {
        part.add_first(ns);
      } else {
        part.add(ns);
      }
    }
  }
  Summary expected;
  for (const Summary& part : parts) { expected.merge(part); }
  for (int round = 0; round < 20; ++round) {
    std::vector<Summary> heap = parts;
    while (heap.size() > 1) {
      std::swap(heap[random.below(heap.size())], heap.back());
      const Summary taken = heap.back();
      heap.pop_back();
      heap[random.below(heap.size())].merge(taken);
    }
    REQUIRE(bits_of(heap.front()) == bits_of(expected));
  }
}

TEST_CASE("Summary: merging two equals adding the calls of both") {
  Random random(5);
  Summary one;
  Summary two;
  Summary both;
  for (int call = 0; call < 2000; ++call) {
    const std::uint64_t ns = random.next() >> (18 + random.below(45));
    (random.chance(30) ? one : two).add(ns);
    both.add(ns);
  }
  one.merge(two);
  REQUIRE(bits_of(one) == bits_of(both));
}

TEST_CASE("Summary: clear() resets everything") {
  Summary summary;
  summary.add_warmup(5);
  summary.add(0xFFFFFFFFFFU);
  summary.clear();
  REQUIRE(bits_of(summary) == bits_of(Summary()));
  summary.add_first(9);
  REQUIRE(summary.min_ns() == 9);
  REQUIRE(summary.max_ns() == 9);
}

TEST_CASE("Summary: a copy is equal and independent") {
  Summary summary;
  summary.add_first(10);
  Summary copy = summary;
  copy.add(20);
  REQUIRE(summary.n() == 1);
  summary = copy;
  REQUIRE(bits_of(summary) == bits_of(copy));
}
