// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>

#include "collect/slewed_clock.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/random.hpp"
#include "support/recorder_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace takt::detail;
using std::chrono::nanoseconds;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;
using takt_test::Random;
using takt_test::RecorderFixture;

namespace {

constexpr std::uint64_t kPerMs = 1'000'000;

struct SlewedTag {};

/// Regions on a fake device of a process whose clock is the system's, which NTP slews by up to 500 ppm, from any moment
/// to any other. The device's clock is 37 ppm slower than the reference.
struct SlewedTest : RecorderFixture {
  using Api = FakeApi<SlewedTag>;
  static constexpr KeyIndex kForward = 3;

  SlewedTest() : RecorderFixture(1'000'000, ClockChoice::monotonic), driver(Api::driver()), stream(driver.stream()) {
    driver.hold(true);
    tracing = true;
    go_on(kPerMs);  // at 0 nothing has a time
    stream->now_ns = device_now();
    promised_ns = stream->now_ns;
  }
  ~SlewedTest() { tracing = false; }
  SlewedTest(const SlewedTest&) = delete;
  SlewedTest& operator=(const SlewedTest&) = delete;

  std::int64_t device_now() const {
    return 777'000'000'000'000 + std::llround(static_cast<double>(reference_ns) * (1 - 37e-6));
  }
  /// In parts, as NTP sets in and ends anywhere.
  void go_on(std::uint64_t ns) {
    while (ns != 0) {
      if (random.below(3) == 0) { time.fake.slew(static_cast<std::int64_t>(random.below(3)) * 500 - 500); }
      const std::uint64_t part = std::min(ns, 1 + random.below(150 * kPerMs));
      pass(part);
      driver.pass(nanoseconds(static_cast<std::int64_t>(part)));
      reference_ns += part;
      ns -= part;
    }
  }
  /// The stream comes to what is recorded now only `ns` later. Returns when that is, on the clock of the process.
  template <class Record>
  std::int64_t reached_after(std::uint64_t ns, Record record) {
    const std::uint64_t now = reference_ns;
    reference_ns += ns;
    const std::int64_t device_ns = std::max(device_now(), promised_ns);
    reference_ns = now;
    driver.work(stream, nanoseconds(device_ns - promised_ns));
    promised_ns = device_ns;
    record();
    go_on(ns);
    const auto reached_ns = static_cast<std::int64_t>(time.now_ns());
    go_on(random.below(30'000));
    driver.finish();
    return reached_ns;
  }
  Harvest harvest() {
    recorder->fold();
    recorder->poll(true);
    const std::vector<std::uint32_t> paths(recorder->tree().nodes(), 0);
    if (Outbox* outbox = recorder->outbox()) { collector->drain(*outbox, outbox->end(), recorder, 0, paths); }
    return collector->harvest(false);
  }

  FakeDriver& driver;
  FakeStream* stream;
  Random random{takt_test::test_seed()};
  std::uint64_t reference_ns = 0;
  std::int64_t promised_ns = 0;  // how far the work given to the stream reaches
};

}  // namespace

TEST_CASE_METHOD(SlewedTest, "time line: spans lie within the published bound while NTP slews the clock by 500 ppm") {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  std::size_t placed = 0;
  std::int64_t bound_ns = 0;
  for (int region = 0; region < 2000; ++region) {
    Region open = 0;
    begins.push_back(reached_after(2000 + random.below(20'000), [&] {
      open = recorder->begin_device(kForward, 0, {&takt::event_ops<Api>, stream});
    }));
    go_on(50 * kPerMs + random.below(100 * kPerMs));
    ends.push_back(reached_after(2000 + random.below(20'000), [&] { end(open); }));
    recorder->poll(true);
    go_on(100 * kPerMs);
    if (region % 5 != 4) { continue; }
    const Harvest all = harvest();
    takt::Snapshot snapshot;
    collector->time_lines().read(snapshot);
    bound_ns = snapshot.time_lines.at(0).clock_error_ns;
    for (const takt::Span& span : all.spans) {
      if (span.stream == takt::Span::kHost) { continue; }
      REQUIRE(std::abs(span.begin_ns - begins[placed]) <= bound_ns);
      REQUIRE(std::abs(span.begin_ns + span.duration_ns - ends[placed]) <= bound_ns);
      ++placed;
    }
  }
  REQUIRE(placed == begins.size());
  INFO("bound " << bound_ns << " ns");
  CHECK(bound_ns < 250'000);
  CHECK(driver.misuses() == std::vector<std::string>{});
}

TEST_CASE("SlewedClock: no time is further off than it is said to be, between slews that begin and end anywhere") {
  SlewedClock clock;
  Random random(takt_test::test_seed());
  double steady_ns = 1e9;
  double ns = 1e9;
  double rate = 1;
  std::vector<SlewedClock::Time> truth;  // steady in error_ns
  double worst_ns = 0;
  for (int round = 0; round < 20'000; ++round) {
    if (random.below(10) == 0) { rate = 1 + (static_cast<double>(random.below(1001)) - 500) * 1e-6; }
    const double passed = 1 + static_cast<double>(random.below(50 * kPerMs));
    steady_ns += passed;
    ns += passed * rate;
    truth.push_back({ns, steady_ns});
    if (random.below(3) != 0) {
      const auto within = static_cast<double>(random.below(4000));
      const double off = (static_cast<double>(random.below(1001)) / 1000 - 0.5) * within;
      clock.add({static_cast<std::uint64_t>(ns), static_cast<std::uint64_t>(steady_ns + off),
                 static_cast<std::uint64_t>(within) + 2});
    }
    if (round % 500 != 499) { continue; }
    clock.settle();
    for (const SlewedClock::Time& each : truth) {
      const SlewedClock::Time time = clock.at(each.error_ns);
      REQUIRE(std::fabs(time.ns - each.ns) <= time.error_ns);
      worst_ns = std::max(worst_ns, time.error_ns);
    }
    truth.clear();
  }
  CHECK(worst_ns < 500'000);
}

TEST_CASE("SlewedClock: while the counter is the clock, there is nothing to turn") {
  SlewedClock clock;
  clock.add({17, 17, 0});
  clock.settle();
  CHECK(clock.at(5e9).ns == 5e9);
  CHECK(clock.at(5e9).error_ns == 0);
}

TEST_CASE("SlewedClock: what is long ago stays within its bound, with fewer moments") {
  SlewedClock clock;
  const auto ns_of = [](std::uint64_t steady_ns) { return steady_ns + steady_ns / 4000; };  // 250 ppm
  for (std::uint64_t ms = 1; ms < 3 * SlewedClock::kMoments; ++ms) {
    clock.add({ns_of(ms * kPerMs), ms * kPerMs, 10});
    if (ms % 1000 == 0) { clock.settle(); }
  }
  clock.settle();
  for (std::uint64_t ms = 2; ms < 2 * SlewedClock::kMoments; ms += 77) {
    const std::uint64_t steady_ns = ms * kPerMs + kPerMs / 3;
    const SlewedClock::Time time = clock.at(static_cast<double>(steady_ns));
    REQUIRE(std::fabs(time.ns - static_cast<double>(ns_of(steady_ns))) <= time.error_ns);
    REQUIRE(time.error_ns < 20'000);
  }
}
