// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/histogram.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

using takt::Histogram;
using takt::detail::MemoryBudget;
using takt_test::Random;

namespace {

/// Returns the counts of all buckets, and of unbinned values.
std::vector<std::uint64_t> counts_of(const Histogram& histogram) {
  std::vector<std::uint64_t> counts;
  for (unsigned bucket = 0; bucket < Histogram::buckets(); ++bucket) { counts.push_back(histogram.count(bucket)); }
  counts.push_back(histogram.unbinned());
  return counts;
}

/// Returns the value at the nearest rank of `per_mille` in sorted values, using only integers.
std::uint64_t at_rank(const std::vector<std::uint64_t>& sorted, std::uint64_t per_mille) {
  const std::uint64_t rank = std::max<std::uint64_t>(1, (sorted.size() * per_mille + 999) / 1000);
  return sorted[rank - 1];
}

/// 64 buckets per octave: the middle of a bucket is within a 128th of every value in it.
bool within_a_bucket(std::uint64_t shown, std::uint64_t value) {
  const std::uint64_t apart = shown > value ? shown - value : value - shown;
  return apart <= value / 128;
}

using Distribution = std::function<std::uint64_t(Random&)>;

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(6.283185307179586 * random.uniform());
}

}  // namespace

TEST_CASE("Histogram: every duration below 128 ns has its own bucket") {
  for (std::uint64_t ns = 0; ns < 128; ++ns) {
    REQUIRE(Histogram::bucket_of(ns) == ns);
    REQUIRE(Histogram::middle_ns(Histogram::bucket_of(ns)) == ns);
  }
  REQUIRE(Histogram::bucket_of(128) == Histogram::bucket_of(129));
}

TEST_CASE("Histogram: buckets are contiguous, each within a 128th of its middle") {
  for (unsigned bucket = 0; bucket < Histogram::buckets(); ++bucket) {
    const std::uint64_t lowest = Histogram::lowest_ns(bucket);
    const std::uint64_t highest = Histogram::lowest_ns(bucket + 1) - 1;
    REQUIRE(lowest <= highest);
    REQUIRE(Histogram::bucket_of(lowest) == bucket);
    REQUIRE(Histogram::bucket_of(highest) == bucket);
    REQUIRE(within_a_bucket(Histogram::middle_ns(bucket), lowest));
    REQUIRE(within_a_bucket(Histogram::middle_ns(bucket), highest));
  }
  REQUIRE(Histogram::lowest_ns(Histogram::buckets()) == Histogram::kMaxNs + 1);
}

TEST_CASE("Histogram: add() and try_add() use the bucket that bucket_of() names") {
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t ns = random.next() >> random.below(64);
    Histogram histogram;
    if (ns <= Histogram::kMaxNs) { REQUIRE_FALSE(histogram.try_add(ns)); }  // no page exists yet
    REQUIRE(histogram.total() == 0);
    histogram.add(ns);
    REQUIRE(histogram.count(Histogram::bucket_of(ns)) == 1);
    REQUIRE(histogram.total() == 1);
    if (ns > Histogram::kMaxNs) { continue; }
    REQUIRE(histogram.try_add(ns));
    REQUIRE(histogram.count(Histogram::bucket_of(ns)) == 2);
    REQUIRE(histogram.total() == 2);
  }
}

TEST_CASE("Histogram: try_add() agrees with add() at both ends of every bucket") {
  Histogram histogram;
  for (unsigned bucket = 0; bucket < Histogram::buckets(); ++bucket) {
    histogram.add(Histogram::lowest_ns(bucket));
    REQUIRE(histogram.try_add(Histogram::lowest_ns(bucket)));
    REQUIRE(histogram.try_add(Histogram::lowest_ns(bucket + 1) - 1));
    REQUIRE(histogram.count(bucket) == 3);
  }
}

TEST_CASE("Histogram: counts durations beyond 19 h as 19 h") {
  Histogram histogram;
  histogram.add(Histogram::kMaxNs + 1);
  histogram.add(~std::uint64_t{0});
  REQUIRE(histogram.count(Histogram::buckets() - 1) == 2);
  REQUIRE(histogram.total() == 2);
}

TEST_CASE("Histogram: percentiles are within 0.78 % of the value at their rank for any distribution") {
  const std::vector<std::pair<const char*, Distribution>> distributions = {
      {"lognormal around 20 us",
       [](Random& random) { return static_cast<std::uint64_t>(20'000 * std::exp(normal(random))); }},
      {"lognormal around 2 s",
       [](Random& random) { return static_cast<std::uint64_t>(2e9 * std::exp(0.3 * normal(random))); }},
      {"log-uniform from 1 ns to 19 h",
       [](Random& random) { return static_cast<std::uint64_t>(std::exp(random.uniform() * std::log(68.4e12))); }},
      {"uniform from 0 to 1 000", [](Random& random) { return random.below(1001); }},
      {"two heaps",
       [](Random& random) { return random.chance(70) ? 500 + random.below(20) : 900'000 + random.below(100); }},
      {"one value", [](Random&) { return std::uint64_t{123'456'789}; }},
      {"zero", [](Random&) { return std::uint64_t{0}; }},
  };
  for (const auto& [name, distribution] : distributions) {
    for (const std::size_t size : {1U, 2U, 3U, 10U, 999U, 20'000U}) {
      Random random(size);
      Histogram histogram;
      std::vector<std::uint64_t> values;
      for (std::size_t count = 0; count < size; ++count) {
        values.push_back(distribution(random));
        histogram.add(values.back());
      }
      std::sort(values.begin(), values.end());
      for (const std::uint64_t per_mille : {0U, 1U, 10U, 250U, 500U, 750U, 900U, 950U, 990U, 999U, 1000U}) {
        INFO(name << ", " << size << " values, " << per_mille << " per mille");
        REQUIRE(within_a_bucket(histogram.percentile_ns(static_cast<double>(per_mille) / 1000),
                                at_rank(values, per_mille)));
      }
    }
  }
}

TEST_CASE("Histogram: the rank of a percentile is the nearest one for every count up to 3 000") {
  // Each value is its rank minus one, so that the result shows the rank.
  Histogram histogram;
  for (std::uint64_t n = 1; n <= 128; ++n) {
    histogram.add(n - 1);
    for (std::uint64_t per_mille = 1; per_mille <= 1000; ++per_mille) {
      INFO(n << " values, " << per_mille << " per mille");
      REQUIRE(histogram.percentile_ns(static_cast<double>(per_mille) / 1000) + 1 == (n * per_mille + 999) / 1000);
    }
  }
  // Larger counts: all values but one are 1, and a rank that is off by one finds the other.
  for (std::uint64_t n = 129; n <= 3000; n += 98) {
    for (const std::uint64_t per_mille : {500U, 900U, 990U, 999U}) {
      const std::uint64_t rank = (n * per_mille + 999) / 1000;
      Histogram steps;
      Histogram one;
      one.add(1);
      for (std::uint64_t count = 1; count < rank; ++count) { steps.merge(one); }
      steps.add(2);
      for (std::uint64_t count = rank; count < n; ++count) { steps.add(3); }
      INFO(n << " values, " << per_mille << " per mille");
      REQUIRE(steps.percentile_ns(static_cast<double>(per_mille) / 1000) == 2);
    }
  }
}

TEST_CASE("Histogram: without values every percentile is 0") { REQUIRE(Histogram().percentile_ns(0.5) == 0); }

TEST_CASE("Histogram: merging in any order and shape gives the same bits") {
  Random random(7);
  std::vector<Histogram> parts(30);
  for (Histogram& part : parts) {
    const std::uint64_t size = random.below(500);
    for (std::uint64_t count = 0; count < size; ++count) { part.add(random.next() >> random.below(60)); }
  }
  parts[3].merge(Histogram());
  Histogram expected;
  for (const Histogram& part : parts) { expected.merge(part); }
  for (int round = 0; round < 20; ++round) {
    std::vector<Histogram> heap = parts;
    while (heap.size() > 1) {  // any two at a time
      std::swap(heap[random.below(heap.size())], heap.back());
      Histogram taken = heap.back();
      heap.pop_back();
      heap[random.below(heap.size())].merge(taken);
    }
    REQUIRE(counts_of(heap.front()) == counts_of(expected));
  }
}

TEST_CASE("Histogram: counts go beyond 32 bits") {
  Histogram doubled;
  doubled.add(1000);
  Histogram all_ones;  // 2^32 - 1 after the loop
  for (int bit = 0; bit < 32; ++bit) {
    all_ones.merge(doubled);
    doubled.merge(Histogram(doubled));
  }
  const unsigned bucket = Histogram::bucket_of(1000);
  REQUIRE(doubled.count(bucket) == std::uint64_t{1} << 32U);
  REQUIRE(all_ones.count(bucket) == (std::uint64_t{1} << 32U) - 1);

  SECTION("by adding one") {
    all_ones.add(1000);
    REQUIRE(all_ones.count(bucket) == std::uint64_t{1} << 32U);
    all_ones.add(1000);
    REQUIRE(all_ones.count(bucket) == (std::uint64_t{1} << 32U) + 1);
    REQUIRE(all_ones.total() == (std::uint64_t{1} << 32U) + 1);
  }
  SECTION("by merging repeatedly") {
    for (int times = 0; times < 3; ++times) { all_ones.merge(all_ones); }
    REQUIRE(all_ones.count(bucket) == 8 * ((std::uint64_t{1} << 32U) - 1));
    doubled.add(5);
    all_ones.merge(doubled);
    REQUIRE(all_ones.count(bucket) == 8 * ((std::uint64_t{1} << 32U) - 1) + (std::uint64_t{1} << 32U));
    REQUIRE(all_ones.count(5) == 1);
  }
  SECTION("and percentiles include them") {
    doubled.add(7);
    REQUIRE(doubled.percentile_ns(1e-12) == 7);
    REQUIRE(within_a_bucket(doubled.percentile_ns(0.5), 1000));
  }
  SECTION("clear() resets those, too") {
    doubled.clear();
    REQUIRE(doubled.total() == 0);
    doubled.add(1000);
    REQUIRE(doubled.count(bucket) == 1);
  }
}

TEST_CASE("Histogram: counts durations as unbinned without memory") {
  MemoryBudget nothing(0);
  Histogram histogram;
  histogram.add(5, &nothing);
  histogram.add(5'000'000, &nothing);
  REQUIRE(histogram.unbinned() == 2);
  REQUIRE(histogram.total() == 0);
  REQUIRE(nothing.refused() == 2);
  REQUIRE(nothing.used() == 0);

  Histogram other;
  for (int count = 0; count < 10; ++count) { other.add(9); }
  other.add(1'000'000);
  histogram.merge(other, &nothing);
  REQUIRE(histogram.unbinned() == 13);
  REQUIRE(histogram.total() == 0);
}

TEST_CASE("Histogram: with memory for one octave it keeps that octave") {
  Histogram sample;
  sample.add(3);
  MemoryBudget one(sample.bytes());
  Histogram histogram;
  for (int count = 0; count < 5; ++count) { histogram.add(3, &one); }
  histogram.add(63, &one);
  histogram.add(64, &one);
  REQUIRE(histogram.total() == 6);
  REQUIRE(histogram.unbinned() == 1);
  REQUIRE(histogram.bytes() == sample.bytes());

  Histogram full;  // 2^32 times one duration; the carry needs a page, but there is no memory
  full.add(3);
  for (int bit = 0; bit < 32; ++bit) { full.merge(full); }
  histogram.merge(full, &one);
  REQUIRE(histogram.total() == 6);
  REQUIRE(histogram.unbinned() == 1 + (std::uint64_t{1} << 32U));
}

TEST_CASE("Histogram: allocates pages by octave and clear() keeps them") {
  Histogram histogram;
  REQUIRE(histogram.bytes() == 0);
  histogram.add(100);
  const std::size_t page = histogram.bytes();
  REQUIRE(page <= 272);
  for (std::uint64_t ns = 64; ns < 128; ++ns) { histogram.add(ns); }
  REQUIRE(histogram.bytes() == page);
  histogram.add(128);
  REQUIRE(histogram.bytes() == 2 * page);
  histogram.clear();
  REQUIRE(histogram.total() == 0);
  REQUIRE(histogram.bytes() == 2 * page);
}

TEST_CASE("Histogram: a copy is equal and independent") {
  auto histogram = std::make_unique<Histogram>();
  histogram->add(10);
  histogram->add(1 << 20);
  MemoryBudget nothing(0);
  histogram->add(1 << 30, &nothing);
  Histogram copy(*histogram);
  REQUIRE(counts_of(copy) == counts_of(*histogram));
  copy.add(10);
  REQUIRE(histogram->count(10) == 1);
  histogram->add(70);
  copy = *histogram;
  REQUIRE(counts_of(copy) == counts_of(*histogram));
  copy = *&copy;
  REQUIRE(counts_of(copy) == counts_of(*histogram));
  histogram.reset();
  REQUIRE(copy.total() == 3);
}

TEST_CASE("Histogram: packing keeps the contents in fewer bytes, and more can be added") {
  Random random(23);
  Histogram plain;
  for (int count = 0; count < 20'000; ++count) { plain.add(random.next() >> random.below(64)); }
  for (int count = 0; count < 40; ++count) { plain.add(std::uint64_t{1} << count); }
  Histogram packed = plain;
  packed.pack();
  CHECK(packed.bytes() < plain.bytes());
  CHECK(packed.total() == plain.total());
  for (unsigned bucket = 0; bucket < Histogram::buckets(); ++bucket) {
    REQUIRE(packed.count(bucket) == plain.count(bucket));
  }
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.999, 1.0}) {
    CHECK(packed.percentile_ns(share) == plain.percentile_ns(share));
  }
  const Histogram copy = packed;
  CHECK_FALSE(packed.try_add(100));
  packed.add(100);
  plain.add(100);
  Histogram sum;
  sum.merge(copy);
  sum.add(100);
  for (unsigned bucket = 0; bucket < Histogram::buckets(); ++bucket) {
    REQUIRE(packed.count(bucket) == plain.count(bucket));
    REQUIRE(sum.count(bucket) == plain.count(bucket));
  }
  CHECK(copy.total() + 1 == packed.total());  // which shared its data
}

TEST_CASE("Histogram: a packed copy keeps its contents while the original changes") {
  Histogram live;
  for (int count = 0; count < 300; ++count) { live.add(1'000); }
  Histogram copy;
  copy.add(5);
  copy.copy_packed(live);
  live.add(1'000);
  CHECK(copy.total() == 300);
  CHECK(copy.bytes() < 64);
  copy.clear();
  CHECK(copy.total() == 0);
  copy.pack();
  CHECK(copy.percentile_ns(0.5) == 0);
  copy = live;
  CHECK(copy.total() == 301);
  CHECK(copy.try_add(1'000));
}
