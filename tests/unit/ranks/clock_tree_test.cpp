// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_alignment.hpp"

#include "ranks/gathered_ranks.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <vector>

using takt::ClockReading;
using takt::detail::align_by_readings;
using takt::detail::ClockAlignment;
using takt::detail::parent_of;
using takt::detail::RankReadings;
using takt_test::Random;

namespace {

constexpr std::int64_t kClockTreeSecond = 1'000'000'000;
constexpr std::int64_t kClockTreeHour = 3600 * kClockTreeSecond;
constexpr std::int64_t kDay = 24 * kClockTreeHour;
constexpr std::int64_t kClockTreeStart = 1'772'360'130 * kClockTreeSecond;  // a wall-clock time

/// Returns a rank's clock at a true time: offset by days, and drifting by up to 87.5 ppm.
std::int64_t clock_of(std::uint32_t rank, std::int64_t true_ns) {
  const double drift_ppm = rank == 0 ? 0 : 87.5 * std::sin(rank * 1.7);
  const std::int64_t days = rank == 0 ? 0 : static_cast<std::int64_t>(rank % 5) - 2;
  return true_ns + days * kDay + std::llround(static_cast<double>(true_ns - kClockTreeStart) * drift_ppm * 1e-6);
}

/// Returns a reading at the middle of the round trip. `skew_ns`: excess of the outward latency over its estimate, up to
/// half the round trip.
ClockReading read_clock(std::uint32_t rank, std::uint32_t other, std::int64_t true_ns, Random& random) {
  const auto error = static_cast<std::int64_t>(500 + random.below(20'000));
  const std::int64_t skew = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * error))) - error;
  ClockReading reading;
  reading.rank = other;
  reading.unix_ns = clock_of(rank, true_ns);
  reading.ahead_ns = clock_of(other, true_ns + skew) - reading.unix_ns;
  reading.error_ns = error + 1 + error / 10'000;  // half the round trip on a clock that drifts
  return reading;
}

/// Each rank reads its parent's clock at the start and the end of an hour.
std::vector<RankReadings> readings_of(std::uint32_t ranks, Random& random) {
  std::vector<RankReadings> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RankReadings& one = all.emplace_back();
    one.rank = rank;
    if (rank == 0) { continue; }
    const auto late = static_cast<std::int64_t>(random.below(2'000'000));
    for (const std::int64_t when : {std::int64_t{0}, kClockTreeHour}) {
      one.readings.push_back(read_clock(rank, parent_of(rank), kClockTreeStart + when + late, random));
    }
  }
  return all;
}

/// Checks times from the start to the end, and a little outside.
void check(const ClockAlignment& alignment, std::uint32_t rank, std::uint32_t first) {
  REQUIRE(alignment.is_known());
  for (std::int64_t minutes = -1; minutes <= 61; minutes += 2) {
    const std::int64_t true_ns = kClockTreeStart + minutes * 60 * kClockTreeSecond;
    const std::int64_t off = alignment.other_ns(clock_of(rank, true_ns)) - clock_of(first, true_ns);
    INFO("rank " << rank << ", minute " << minutes << ": off by " << off);
    CHECK(std::llabs(off) <= alignment.error_ns(clock_of(rank, true_ns)));
  }
}

}  // namespace

TEST_CASE("Clock tree: aligns clocks that are days apart and drift within the reported error") {
  Random random(takt_test::test_seed());
  const std::vector<RankReadings> all = readings_of(64, random);
  const auto aligned = align_by_readings(all);
  REQUIRE(aligned.size() == 64);
  for (const auto& [rank, alignment] : aligned) { check(alignment, rank, 0); }
  CHECK(aligned.at(0).error_ns(kClockTreeStart) <= 1);
  CHECK(aligned.at(63).error_ns(clock_of(63, kClockTreeStart)) < 6 * 23'000);  // six hops of at most 20.5 us
  CHECK(aligned.at(32).drift_ppm() == Approx(-87.5 * std::sin(32 * 1.7)).margin(0.1));
}

TEST_CASE("Clock tree: uses the first rank's clock even if rank 0 left nothing") {
  Random random(takt_test::test_seed());
  std::vector<RankReadings> all = readings_of(8, random);
  all.erase(all.begin(), all.begin() + 3);  // ranks 0, 1 and 2; the last one was the parent of 3
  const auto without = align_by_readings(all);
  CHECK(without.empty());  // nothing is known about rank 3
  all.erase(all.begin());
  const auto aligned = align_by_readings(all);
  for (const std::uint32_t rank : {4U, 5U, 6U, 7U}) { check(aligned.at(rank), rank, 4); }
  CHECK(aligned.at(4).error_ns(kClockTreeStart) <= 1);
}

TEST_CASE("Clock tree: stops at a broken link, and accepts an answer of rank 0 for the parent") {
  Random random(takt_test::test_seed());
  std::vector<RankReadings> all = readings_of(16, random);
  all[12].readings.clear();
  all[13].readings.back() = read_clock(13, 0, kClockTreeStart + kClockTreeHour, random);
  const auto aligned = align_by_readings(all);
  CHECK(aligned.count(12) == 0);
  CHECK(aligned.count(14) == 0);
  CHECK(aligned.count(15) == 0);
  REQUIRE(aligned.count(13) == 1);
  CHECK_FALSE(aligned.at(13).knows_drift());
  check(aligned.at(11), 11, 0);
  const std::int64_t late = clock_of(13, kClockTreeStart + kClockTreeHour);
  CHECK(std::llabs(aligned.at(13).other_ns(late) - (kClockTreeStart + kClockTreeHour)) <=
        aligned.at(13).error_ns(late));
}

TEST_CASE("Clock tree: uses the earliest and the latest of many readings in any order") {
  Random random(takt_test::test_seed());
  std::vector<RankReadings> all = readings_of(2, random);
  std::vector<ClockReading>& readings = all[1].readings;
  readings.insert(readings.begin(), read_clock(1, 0, kClockTreeStart + kClockTreeHour / 2, random));
  check(align_by_readings(all).at(1), 1, 0);
  CHECK(align_by_readings(all).at(1).knows_drift());
}

TEST_CASE("Clock tree: accepts any readings") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> odd = {kMin, -1, 0, 1, kMax};
  for (const std::int64_t a : odd) {
    for (const std::int64_t b : odd) {
      const std::vector<RankReadings> all = {{1, {{0, a, b, kMax}, {1, a, a, 1}, {0, b, a, b}}},
                                             {2, {{1, b, b, a}, {7, 0, 0, 0}}},
                                             {7, {{2, a, a, a}, {9, 0, 0, 0}, {7, 0, 0, 0}}}};
      for (const auto& [rank, alignment] : align_by_readings(all)) {
        CHECK(alignment.error_ns(a) >= 0);
        CHECK(std::isfinite(alignment.drift_ppm()));
      }
    }
  }
  CHECK(align_by_readings({}).size() <= 1);
}
