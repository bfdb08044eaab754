// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/clock.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_clock.hpp"
#include "support/mentions.hpp"

#include <cstdint>
#include <cstring>
#include <string>

using takt::detail::Clock;
using takt::detail::ClockSource;
using Choice = takt::detail::ClockChoice;
using takt_test::FakeClock;
using takt_test::mentions;
using takt_test::TestClock;

namespace {
constexpr std::uint64_t kSecond = 1'000'000'000;
}

TEST_CASE("Clock: uses a counter that is invariant and keeps time") {
  TestClock time;
  REQUIRE(time.clock.source() == ClockSource::counter);
  const std::uint64_t before = time.now_ns();
  time.fake.advance(12'345);
  REQUIRE(time.now_ns() - before == 12'345);
  REQUIRE(time.clock.info().frequency_hz == Approx(1e9).epsilon(1e-9));
  REQUIRE(time.clock.info().fallbacks == 0);
  REQUIRE(time.fake.left() == 0);
}

TEST_CASE("Clock: converts a counter of any rate to ns") {
  for (const std::uint64_t per_mille : {24U, 100U, 2'495U, 3'700U}) {  // 24 MHz to 3.7 GHz
    FakeClock fake;
    fake.set_rate(per_mille);
    Clock clock(Choice::counter, fake.hardware());
    fake.run(false);
    const std::uint64_t before = clock.now_ns();
    fake.advance(10 * kSecond);
    INFO("rate " << per_mille);
    REQUIRE(static_cast<double>(clock.now_ns() - before) == Approx(10e9).epsilon(2e-4));
    REQUIRE(clock.info().frequency_hz == Approx(1e6 * static_cast<double>(per_mille)).epsilon(2e-4));
  }
}

TEST_CASE("Clock: reports the observed resolution of the counter") {
  struct Counter {
    std::uint64_t per_mille;
    std::uint64_t read_ns;
    double step_ns;
  };
  // 25 MHz read every 10 ns, and rarely enough that no two readings are equal; 2.5 GHz; 1 GHz.
  for (const Counter& counter : {Counter{25, 10, 40}, Counter{25, 200, 40}, Counter{2500, 7, 1}, Counter{1000, 9, 1}}) {
    FakeClock fake;
    fake.set_rate(counter.per_mille);
    fake.set_read_ns(counter.read_ns);
    const Clock clock(Choice::counter, fake.hardware());
    INFO(counter.per_mille << " ticks in 1 000 ns, a read takes " << counter.read_ns << " ns");
    CHECK(clock.info().resolution_ns.value() == Approx(counter.step_ns).epsilon(0.01));
  }
  FakeClock fake;
  CHECK_FALSE(Clock(Choice::counter, fake.hardware()).info().resolution_ns);  // it did not move
}

TEST_CASE("Clock: uses a rate that the processor reports, and bounds its error by measurements") {
  FakeClock fake;
  fake.set_rate(25);
  Clock clock(Choice::automatic, fake.hardware(25e6));
  fake.run(false);
  REQUIRE(clock.source() == ClockSource::counter);
  CHECK(clock.info().frequency_hz == Approx(25e6).epsilon(1e-9));
  const std::uint64_t before = clock.now_ns();
  for (int second = 0; second < 200; ++second) {
    fake.advance(kSecond);
    REQUIRE(clock.recheck());
  }
  CHECK(clock.now_ns() - before == 200 * kSecond);
  CHECK(clock.info().frequency_hz == Approx(25e6).epsilon(1e-9));
  CHECK(clock.info().error_ppm < 0.01);
}

TEST_CASE("Clock: the error bound includes the error of a reported rate") {
  FakeClock fake;
  fake.set_rate(1000);
  Clock clock(Choice::automatic, fake.hardware(1e9 * (1 + 20e-6)));
  fake.run(false);
  for (int second = 0; second < 200; ++second) {
    fake.advance(kSecond);
    REQUIRE(clock.recheck());
  }
  CHECK(clock.info().frequency_hz == Approx(1.00002e9).epsilon(1e-9));
  CHECK(clock.info().error_ppm == Approx(20).epsilon(0.01));
}

TEST_CASE("Clock: measures the rate if the reported one is clearly wrong") {
  FakeClock fake;
  fake.set_rate(1000);
  const Clock clock(Choice::automatic, fake.hardware(24e6));
  CHECK(clock.source() == ClockSource::counter);
  CHECK(clock.info().frequency_hz == Approx(1e9).epsilon(2e-4));
}

TEST_CASE("Clock: uses the system clock if the counter is not invariant") {
  FakeClock fake;
  fake.set_invariant(false);
  Clock clock(Choice::automatic, fake.hardware());
  REQUIRE(clock.source() == ClockSource::monotonic);
  REQUIRE(clock.info().reason == "the fake is not invariant");
  REQUIRE(clock.info().name == "clock_gettime(CLOCK_MONOTONIC)");
  REQUIRE(fake.left() == 1);
  const std::uint64_t before = clock.now_ns();
  fake.advance(777);
  REQUIRE(clock.now_ns() - before == 777);
  REQUIRE(clock.recheck());
}

TEST_CASE("Clock: the environment's choice takes precedence") {
  FakeClock fake;
  SECTION("the system clock, even with an invariant counter") {
    Clock clock(Choice::monotonic, fake.hardware());
    REQUIRE(clock.source() == ClockSource::monotonic);
    REQUIRE(clock.info().reason == "TAKT_CLOCK=monotonic");
  }
  SECTION("the counter, even if not invariant") {
    fake.set_invariant(false);
    Clock clock(Choice::counter, fake.hardware());
    REQUIRE(clock.source() == ClockSource::counter);
    REQUIRE(clock.info().reason == "TAKT_CLOCK=counter");
  }
}

TEST_CASE("Clock: checking the counter takes at most 1 ms of the first use") {
  FakeClock fake;  // time passes only while it is read
  const auto reference_ns = fake.hardware().reference_ns;
  const std::uint64_t before = reference_ns();
  const Clock clock(Choice::automatic, fake.hardware());
  REQUIRE(clock.source() == ClockSource::counter);
  REQUIRE(reference_ns() - before <= 1'000'000);
}

TEST_CASE("Clock: rejects a counter that does not move") {
  FakeClock fake;
  fake.set_rate(0);
  Clock clock(Choice::automatic, fake.hardware());
  REQUIRE(clock.source() == ClockSource::monotonic);
}

TEST_CASE("Clock: does not reject a counter for time between two ticks") {
  for (const std::uint64_t per_mille : {24U, 40U, 100U}) {  // 24 MHz to 100 MHz
    for (std::uint64_t start = 0; start < 50; ++start) {
      FakeClock fake;
      fake.set_rate(per_mille);
      fake.advance(start);
      const Clock clock(Choice::automatic, fake.hardware());
      INFO("rate " << per_mille << ", begun " << start << " ns later");
      REQUIRE(clock.source() == ClockSource::counter);
    }
  }
}

TEST_CASE("Clock: rejects a counter whose rate changes during measurement") {
  FakeClock fake;
  static const FakeClock* steady;
  steady = &fake;
  Clock::Hardware hardware = fake.hardware();
  hardware.ticks = []() noexcept {
    const std::uint64_t passed = steady->ticks() - 1'000'000;
    return passed + passed * passed / 2'000'000'000;  // 400 ppm faster over the second span
  };
  const Clock clock(Choice::automatic, hardware);
  REQUIRE(clock.source() == ClockSource::monotonic);
  REQUIRE(mentions(clock.info().reason, {"50 ppm", "CLOCK_MONOTONIC_RAW"}));
}

TEST_CASE("Clock: does not reject the counter if the measuring thread is delayed") {
  for (const std::uint64_t ns : {300'000U, 700'000U, 799'000U, 5'000'000U}) {
    FakeClock fake;
    fake.set_rate(333);  // readings are off by up to a tick, which is 3 ns
    fake.hold_up_after(1000, ns);
    Clock clock(Choice::automatic, fake.hardware());
    INFO("for " << ns << " ns");
    REQUIRE(clock.source() == ClockSource::counter);
  }
}

TEST_CASE("Clock: drops a counter whose rate drifts, and time continues from the last value") {
  const support::CaughtErrors errors;
  TestClock time;
  for (int second = 0; second < 5; ++second) {
    time.fake.advance(2 * kSecond);
    REQUIRE(time.clock.recheck());
  }
  time.fake.set_rate(1001);  // 1 000 ppm
  time.fake.advance(2 * kSecond);
  const std::uint64_t before = time.now_ns();
  REQUIRE(!time.clock.recheck());
  REQUIRE(time.clock.source() == ClockSource::monotonic);
  REQUIRE(time.fake.left() == 1);
  REQUIRE(time.now_ns() >= before);
  REQUIRE(time.now_ns() - before < 1000);
  time.fake.advance(kSecond);
  REQUIRE(time.now_ns() - before < kSecond + 1000);
  REQUIRE(time.clock.info().fallbacks == 1);
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(mentions(errors.text(), {"TAKT_CLOCK=monotonic"}));
  REQUIRE(time.clock.recheck());  // reported once
}

TEST_CASE("Clock: drops a counter that is set back, and time does not go back") {
  const support::CaughtErrors errors;
  TestClock time;
  time.fake.advance(3 * kSecond);
  REQUIRE(time.clock.recheck());
  time.fake.advance(kSecond + 100);
  const std::uint64_t reached = time.now_ns();
  time.fake.move_counter(-static_cast<std::int64_t>(3 * kSecond));
  REQUIRE(!time.clock.recheck());
  REQUIRE(time.now_ns() >= reached);
  REQUIRE(time.now_ns() < reached + 1000);
}

TEST_CASE("Clock: drops a counter that jumps ahead, and time does not go back") {
  const support::CaughtErrors errors;
  TestClock time;
  time.fake.advance(3 * kSecond);
  REQUIRE(time.clock.recheck());
  time.fake.move_counter(static_cast<std::int64_t>(3600 * kSecond));
  time.fake.advance(2 * kSecond);
  const std::uint64_t reached = time.now_ns();
  REQUIRE(!time.clock.recheck());
  REQUIRE(time.now_ns() >= reached);
}

TEST_CASE("Clock: corrects a small error of the first measurement without a step") {
  FakeClock fake;
  fake.set_rate(1000);
  Clock clock(Choice::automatic, fake.hardware());
  fake.run(false);
  REQUIRE(clock.source() == ClockSource::counter);
  // From now on 40 ppm faster than measured: allowed, but much more than should remain.
  std::uint64_t last = clock.now_ns();
  std::uint64_t passed = 0;
  const auto pass = [&](std::uint64_t ns, int steps) {
    for (int step = 0; step < steps; ++step) {
      fake.advance(ns);
      fake.move_counter(static_cast<std::int64_t>(ns / 25'000));
      passed += ns;
      clock.recheck();
      const std::uint64_t now = clock.now_ns();
      REQUIRE(now >= last);
      REQUIRE(now - last <= ns + ns / 10'000 + 1);
      REQUIRE(now - last >= ns - ns / 10'000 - 1);
      last = now;
    }
  };
  pass(1'000'000, 2000);
  pass(kSecond, 600);
  REQUIRE(clock.source() == ClockSource::counter);
  REQUIRE(clock.info().frequency_hz == Approx(1.00004e9).epsilon(2e-6));
  const std::uint64_t before = clock.now_ns();
  passed = 0;
  pass(kSecond, 60);
  REQUIRE(static_cast<double>(clock.now_ns() - before) == Approx(60e9).epsilon(2e-6));
  REQUIRE(clock.info().error_ppm < 1);
}

TEST_CASE("Clock: reports the rate's error bound with its start, and the previous worst bound") {
  TestClock time;
  const double at_first = time.clock.info().error_ppm;
  REQUIRE(at_first > 1);
  REQUIRE(time.clock.info().error_since_ns == 0);
  REQUIRE(time.clock.info().worst_error_ppm == 0.0);
  for (int second = 0; second < 200; ++second) {
    time.fake.advance(kSecond);
    REQUIRE(time.clock.recheck());
  }
  const takt::ClockInfo info = time.clock.info();
  REQUIRE(info.error_ppm < at_first / 1000);
  REQUIRE(info.worst_error_ppm == at_first);
  REQUIRE(info.error_since_ns >= 100'000'000'000);
  REQUIRE(info.error_since_ns <= 102'000'000'000);
}

TEST_CASE("Clock: measures NTP's slewing of the system clock against the raw clock") {
  FakeClock fake;
  fake.set_invariant(false);
  Clock::Hardware hardware = fake.hardware();
  static std::uint64_t slewed_from;
  static const Clock::Hardware* plain;
  const Clock::Hardware unslewed = hardware;
  plain = &unslewed;
  slewed_from = hardware.monotonic_ns();
  hardware.monotonic_ns = []() noexcept {
    const std::uint64_t now = plain->monotonic_ns();
    return now + (now - slewed_from) / 5000;  // 200 ppm faster
  };
  const Clock clock(Choice::automatic, hardware);
  fake.run(false);
  REQUIRE(clock.source() == ClockSource::monotonic);
  REQUIRE(clock.info().error_ppm == 500);  // not measured yet, so the maximum that NTP may apply
  fake.advance(100 * kSecond);
  REQUIRE(clock.info().error_ppm == Approx(200).epsilon(0.01));
  REQUIRE(clock.info().worst_error_ppm == 0.0);
}

TEST_CASE("Clock: a better rate does not apply to readings that may already be converted") {
  TestClock time;
  time.fake.advance(5'000'000);
  time.fake.move_counter(300);  // changes the next rate
  time.fake.advance(5'100'000);
  const std::uint64_t reading = time.clock.ticks(ClockSource::counter);
  const Clock::Segment before = time.clock.segment(ClockSource::counter, reading);
  const std::uint64_t ns = time.clock.to_ns(ClockSource::counter, reading);
  time.clock.recheck();
  REQUIRE(time.clock.to_ns(ClockSource::counter, reading) == ns);
  REQUIRE(time.clock.segment(ClockSource::counter, reading).multiplier == before.multiplier);
  const std::uint64_t soon = reading + 10'000'000;
  REQUIRE(time.clock.segment(ClockSource::counter, soon).multiplier == before.multiplier);
  const Clock::Segment later = time.clock.segment(ClockSource::counter, reading + 30'000'000);
  REQUIRE(later.multiplier != before.multiplier);
  REQUIRE(later.to_ns(later.from_ticks) == before.to_ns(later.from_ticks));
}

TEST_CASE("Clock: a reading from before the start is 0") {
  TestClock time;
  REQUIRE(time.clock.to_ns(ClockSource::counter, 5) == 0);
  REQUIRE(time.clock.to_ns(ClockSource::counter, time.clock.first_ticks(ClockSource::counter)) == 0);
}

TEST_CASE("Clock: this machine's clock agrees with CLOCK_MONOTONIC_RAW and never goes back", "[timed]") {
  const Clock& clock = [&]() -> const Clock& {
    static const Clock real(Choice::automatic);
    return real;
  }();
  const std::uint64_t first = clock.now_ns();
  const std::uint64_t raw = takt::detail::posix_ns(CLOCK_MONOTONIC_RAW);
  std::uint64_t last = first;
  while (takt::detail::posix_ns(CLOCK_MONOTONIC_RAW) - raw < 20'000'000) {
    const std::uint64_t now = clock.now_ns();
    REQUIRE(now >= last);
    last = now;
  }
  const auto mine = static_cast<double>(clock.now_ns() - first);
  const auto its = static_cast<double>(takt::detail::posix_ns(CLOCK_MONOTONIC_RAW) - raw);
  REQUIRE(mine == Approx(its).epsilon(0.05));  // (the thread may have been preempted between two of these readings)
  REQUIRE(clock.info().empty_region_ns >= 0);
  REQUIRE(clock.info().empty_region_ns < 100'000);
}
