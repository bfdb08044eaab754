// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/clock.hpp"

#include "base/text.hpp"

#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/random.hpp"

#include <cstdint>

using namespace takt::detail;
using Choice = ClockChoice;
using takt_test::FakeClock;
using takt_test::Random;
using takt_test::TestClock;

namespace {

Event stamped(std::uint64_t ticks, Random& random) { return (ticks << kCodeBits) + random.below(kCodeMask + 1); }

/// Returns a step as between real events: mostly short, sometimes of any length, sometimes slightly back.
std::uint64_t step_from(std::uint64_t ticks, Random& random) {
  switch (random.below(8)) {
    case 0:
      return ticks + random.below(std::uint64_t{1} << random.below(45));
    case 1:
      return ticks - random.below(1000);
    case 2:
      return ticks;
    default:
      return ticks + random.below(3000);
  }
}

/// Checks that times equal the clock's at any rate of the counter, for a converter that is new in each block and for
/// one that continues.
template <class Step>
void compare(const Clock& clock, std::uint64_t ticks, Random& random, Step step) {
  ClockConverter converter(clock, ClockSource::counter, ticks);
  ClockConverter kept = converter;
  std::uint64_t last = ticks;
  for (int round = 0; round < 20'000; ++round) {
    if (round % static_cast<int>(kBlockEvents) == 0) {
      converter = ClockConverter(clock, ClockSource::counter, last);
      kept.go_on(ClockSource::counter, last);
    }
    const Event event = stamped(step(last), random);
    last = unwrap(event, last);
    REQUIRE(converter.ns_of(event) == clock.to_ns(ClockSource::counter, last));
    REQUIRE(kept.ns_of(event) == clock.to_ns(ClockSource::counter, last));
    REQUIRE(converter.last_ns() == clock.to_ns(ClockSource::counter, last));
    REQUIRE(converter.last_ticks() == last);
    REQUIRE(kept.last_ticks() == last);
  }
}

void compare(const Clock& clock, std::uint64_t ticks, Random& random) {
  compare(clock, ticks, random, [&random](std::uint64_t last) { return step_from(last, random); });
}

}  // namespace

TEST_CASE("ClockConverter: equals the clock at any rate and for any sequence of events") {
  Random random(7);
  for (const std::uint64_t per_mille : {1U, 24U, 100U, 1'000U, 2'495U, 5'000U}) {
    FakeClock fake;
    fake.set_rate(per_mille);
    const Clock clock(Choice::counter, fake.hardware());
    fake.run(false);
    INFO("rate " << per_mille);
    compare(clock, fake.ticks(), random);
  }
}

TEST_CASE("ClockConverter: follows the clock when its rate is measured again") {
  Random random(8);
  FakeClock fake;
  fake.set_rate(2'495);
  Clock clock(Choice::counter, fake.hardware());
  fake.run(false);
  const std::uint64_t first = fake.ticks();
  for (int check = 0; check < 6; ++check) {
    fake.advance(2 * kSecondNs);
    clock.recheck();
  }
  const std::uint64_t end = fake.ticks();
  for (std::uint64_t ticks = first; ticks < end; ticks += (end - first) / 50) { compare(clock, ticks, random); }
}

TEST_CASE("ClockConverter: if it continues, it equals the clock over the longest short steps at any rate") {
  Random random(10);
  for (const std::uint64_t per_mille : {2U, 3U, 24U, 1'000U, 5'000U}) {
    FakeClock fake;
    fake.set_rate(per_mille);
    const Clock clock(Choice::counter, fake.hardware());
    fake.run(false);
    INFO("rate " << per_mille);
    compare(clock, fake.ticks(), random, [](std::uint64_t last) { return last + 65'535; });
    compare(clock, fake.ticks(), random, [&random](std::uint64_t last) { return last + 65'000 + random.below(600); });
    compare(clock, fake.ticks(), random, [&random](std::uint64_t last) { return last + random.below(300); });
  }
}

TEST_CASE("ClockConverter: if it continues, it uses a newly measured rate from its start on") {
  FakeClock fake;
  fake.set_rate(24);  // slow enough for all of this to be near
  Clock clock(Choice::counter, fake.hardware());
  fake.run(false);
  fake.advance(5'000'000);
  fake.move_counter(8);  // changes the next rate
  ClockConverter converter(clock, ClockSource::counter, fake.ticks());
  const std::uint32_t segments = clock.segments();
  for (int step = 0; step < 100; ++step) {
    fake.advance(1'000'000);
    if (step == 10) { clock.recheck(); }
    converter.go_on(ClockSource::counter, converter.last_ticks());
    REQUIRE(converter.ns_of(fake.ticks() << kCodeBits) == clock.to_ns(ClockSource::counter, fake.ticks()));
  }
  REQUIRE(clock.segments() == segments + 1);
}

TEST_CASE("ClockConverter: gives a length as the difference of two times, only for near ones") {
  Random random(9);
  const TestClock time;
  int reported = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t ticks = time.fake.ticks() + random.below(1000 * kSecondNs);
    ClockConverter converter(time.clock, ClockSource::counter, ticks);
    const std::uint64_t from = step_from(ticks, random);
    const std::uint64_t to = step_from(from, random);
    std::uint64_t length = 0;
    if (converter.length_of(stamped(from, random), stamped(to, random), length)) {
      ++reported;
      REQUIRE(from >= ticks);
      REQUIRE(to >= from);
      REQUIRE(length == time.clock.to_ns(ClockSource::counter, to) - time.clock.to_ns(ClockSource::counter, from));
      REQUIRE(length < std::uint64_t{1} << 32U);
      REQUIRE(converter.last_ticks() == to);
    } else {
      REQUIRE((from < ticks || to < from || from - ticks > 60'000 || to - from > 60'000));
      REQUIRE(converter.last_ticks() == ticks);
    }
  }
  REQUIRE(reported > 5'000);
}
