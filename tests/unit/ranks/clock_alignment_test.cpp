// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_alignment.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

using takt::detail::align_by_collectives;
using takt::detail::ClockAlignment;
using takt::detail::CollectiveEnd;
using takt::detail::PingPong;
using takt_test::Random;

namespace {

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kStart = 1'772'360'130 * kSecond;  // a wall-clock time

/// The clock of another rank and its offset at kStart.
struct OtherClock {
  std::int64_t ahead_ns = 0;
  double drift_ppm = 0;

  std::int64_t at(std::int64_t own_ns) const {
    return own_ns + ahead_ns + std::llround(static_cast<double>(own_ns - kStart) * drift_ppm * 1e-6);
  }
};

/// Aligns with one point from an early series of answers and one from a late series.
ClockAlignment align_by_answers(const std::vector<PingPong>& early, const std::vector<PingPong>& late) {
  const auto first = takt::detail::shortest_answer(early);
  const auto last = takt::detail::shortest_answer(late);
  if (first && last) { return {*first, *last}; }
  if (first || last) { return ClockAlignment(first ? *first : *last); }
  return {};
}

double exponential(Random& random, double mean) { return -mean * std::log(1 - random.uniform()); }

/// Simulates sixteen consecutive queries, with 5 us latency plus a separate queueing delay each way.
std::vector<PingPong> ask(const OtherClock& clock, std::int64_t own_ns, Random& random) {
  std::vector<PingPong> answers;
  for (int question = 0; question < 16; ++question) {
    const auto there = 5 * kUs + static_cast<std::int64_t>(exponential(random, 30e3));
    const auto back = 5 * kUs + static_cast<std::int64_t>(exponential(random, 5e3));
    answers.push_back({own_ns, clock.at(own_ns + there), own_ns + there + back});
    own_ns += there + back;
  }
  return answers;
}

/// Returns ends of collectives, seen by each rank a little later, sometimes by a millisecond.
std::vector<CollectiveEnd> collectives(const OtherClock& clock, int count, Random& random) {
  std::vector<CollectiveEnd> ends;
  for (int end = 0; end < count; ++end) {
    const std::int64_t when = kStart + end * (kHour / count);
    const auto late = [&] {
      return static_cast<std::int64_t>(exponential(random, 20e3)) + (random.chance(1) ? kSecond / 1000 : 0);
    };
    const std::int64_t here = when + late();
    ends.push_back({here, clock.at(when + late())});
  }
  return ends;
}

std::vector<OtherClock> clocks() {
  return {{0, 0}, {123'456'789, 40}, {-24 * kHour, -87.5}, {24 * kHour, 12.25}, {-kStart, 3}};
}

/// Checks times from kStart to an hour later, and outside.
void check_readings(const ClockAlignment& alignment, const OtherClock& clock) {
  REQUIRE(alignment.is_known());
  for (int minutes = -30; minutes <= 90; minutes += 5) {
    const std::int64_t own = kStart + minutes * 60 * kSecond;
    INFO("ahead " << clock.ahead_ns << " ns, drift " << clock.drift_ppm << " ppm, minute " << minutes << ": off by "
                  << alignment.other_ns(own) - clock.at(own) << " ns, said " << alignment.error_ns(own));
    CHECK(std::llabs(alignment.other_ns(own) - clock.at(own)) <= alignment.error_ns(own));
  }
}

}  // namespace

TEST_CASE("Clock alignment: matches one answer computed by hand") {
  const ClockAlignment alignment = align_by_answers({{1000, 5300, 1400}}, {});
  CHECK(alignment.other_ns(1200) == 5300);
  CHECK(alignment.error_ns(1200) == 201);
  CHECK(alignment.drift_ppm() == 0);
  CHECK(alignment.error_ns(1200 + kSecond) == 201 + 100 * kUs);  // the relative drift is unknown
}

TEST_CASE("Clock alignment: uses the answer with the shortest round trip") {
  const ClockAlignment alignment = align_by_answers({{0, 90, 1000}, {2000, 2150, 2100}, {3000, 3900, 4000}}, {});
  CHECK(alignment.other_ns(2050) == 2150);
  CHECK(alignment.error_ns(2050) == 51);
}

TEST_CASE("Clock alignment: answers give offset and drift within the reported error") {
  for (const OtherClock& clock : clocks()) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      Random random(takt_test::test_seed() + round);
      const ClockAlignment alignment = align_by_answers(ask(clock, kStart, random), ask(clock, kStart + kHour, random));
      check_readings(alignment, clock);
      CHECK(alignment.error_ns(kStart + kHour / 2) < 60 * kUs);
      CHECK(alignment.drift_ppm() == Approx(clock.drift_ppm).margin(2 * 60e3 / kHour * 1e6));
    }
  }
}

TEST_CASE("Clock alignment: ends of collectives give offset and drift within the reported error") {
  for (const OtherClock& clock : clocks()) {
    for (const int count : {30, 60, 1000}) {
      Random random(takt_test::test_seed() + static_cast<std::uint64_t>(count));
      std::vector<CollectiveEnd> ends = collectives(clock, count, random);
      std::reverse(ends.begin(), ends.begin() + count / 2);  // in any order
      const ClockAlignment alignment = align_by_collectives(ends);
      check_readings(alignment, clock);
      if (count < 1000) { continue; }  // two of thirty may be off by a millisecond
      CHECK(alignment.error_ns(kStart + kHour / 2) < 120 * kUs);
      CHECK(alignment.drift_ppm() == Approx(clock.drift_ppm).margin(0.01));
    }
  }
}

TEST_CASE("Clock alignment: the error is the spread of collectives") {
  std::vector<CollectiveEnd> ends;
  for (std::int64_t end = 0; end < 100; ++end) {
    const std::int64_t off = end % 50 == 7 ? 90'000 : end % 2 == 0 ? 400 : -400;
    ends.push_back({end * kSecond, 7 * kHour + end * kSecond + off});
  }
  const ClockAlignment alignment = align_by_collectives(ends);
  CHECK(alignment.error_ns(50 * kSecond) >= 400);
  CHECK(alignment.error_ns(50 * kSecond) <= 1000);
  CHECK(std::llabs(alignment.other_ns(50 * kSecond) - 7 * kHour - 50 * kSecond) <= alignment.error_ns(50 * kSecond));
}

TEST_CASE("Clock alignment: few collectives constrain the line less than many") {
  const auto error_of = [](std::int64_t count) {
    std::vector<CollectiveEnd> ends;
    for (std::int64_t end = 0; end < count; ++end) {
      ends.push_back({end * kSecond, end * kSecond + (end % 3 == 0 ? 400 : -200)});
    }
    return align_by_collectives(ends).error_ns(0);
  };
  CHECK(error_of(30) > error_of(3000) + 100);
}

TEST_CASE("Clock alignment: is empty if there is too little data") {
  CHECK_FALSE(align_by_answers({}, {}).is_known());
  CHECK_FALSE(align_by_answers({{1000, 5000, 999}}, {}).is_known());
  CHECK_FALSE(align_by_collectives({}).is_known());
  CHECK_FALSE(align_by_collectives(std::vector<CollectiveEnd>(29, {1, 2})).is_known());
  CHECK_FALSE(align_by_collectives(std::vector<CollectiveEnd>(40, {1, 2})).is_known());
  CHECK(ClockAlignment().other_ns(42) == 42);
  CHECK(align_by_answers({}, {{1000, 5300, 1400}}).other_ns(1200) == 5300);
  std::vector<CollectiveEnd> few;
  for (std::int64_t end = 0; end < 30; ++end) { few.push_back({end * kSecond, end * kSecond}); }
  CHECK(align_by_collectives(few).is_known());
  few.pop_back();
  CHECK_FALSE(align_by_collectives(few).is_known());
  CHECK_FALSE(align_by_answers({{1000, 5300, 1400}}, {}).knows_drift());
}

TEST_CASE("Clock alignment: can be inverted and chained to a third clock") {
  const ClockAlignment second({kStart, 5 * kSecond, 40}, {kStart + 100 * kSecond, 6 * kSecond, 60});
  const ClockAlignment third({kStart + 5 * kSecond, -7 * kSecond, 3}, {kStart + 106 * kSecond, -7 * kSecond, 3});
  CHECK(second.inverse().other_ns(kStart + 5 * kSecond) == kStart);
  CHECK(second.inverse().other_ns(second.other_ns(kStart + 50 * kSecond)) == kStart + 50 * kSecond);
  const ClockAlignment both = second.then(third);
  CHECK(both.other_ns(kStart + 50 * kSecond) == kStart + 50 * kSecond + 5 * kSecond + kSecond / 2 - 7 * kSecond);
  CHECK(both.error_ns(kStart) >= 43);
  CHECK(both.error_ns(kStart) <= 46);
  CHECK(both.error_ns(kStart + 100 * kSecond) >= 63);
  CHECK(both.drift_ppm() == Approx(1e4));
  CHECK_FALSE(second.then(ClockAlignment()).is_known());
  CHECK_FALSE(ClockAlignment().then(second).is_known());
  const ClockAlignment once(ClockAlignment::Point{kStart, kSecond, 10});
  CHECK_FALSE(once.then(second).knows_drift());
  CHECK(once.then(ClockAlignment::same()).other_ns(kStart) == kStart + kSecond);
}

TEST_CASE("Clock alignment: accepts any readings") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> odd = {kMin, -1, 0, 1, kMax};
  for (const std::int64_t a : odd) {
    for (const std::int64_t b : odd) {
      const ClockAlignment alignment = align_by_answers({{a, b, a}}, {{b, a, kMax}});
      CHECK(alignment.error_ns(a) >= 0);
      CHECK(std::isfinite(alignment.drift_ppm()));
      CHECK(alignment.then(alignment.inverse()).error_ns(b) >= 0);
      std::vector<CollectiveEnd> ends(40, {a, b});
      ends.back() = {b, a};
      CHECK(align_by_collectives(ends).error_ns(b) >= 0);
      CHECK(std::isfinite(static_cast<double>(align_by_collectives(ends).other_ns(a))));
    }
  }
}
