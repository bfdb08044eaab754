// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/own_cost.hpp"

#include "support/catch.hpp"

#include <cstdint>

using takt::ProcessTimes;
using takt::detail::ProcessWatch;

namespace {

constexpr std::uint64_t kWatched = 1'000'000'000;

/// A machine whose clocks are moved by hand. One at a time.
struct FakeMachine {
  FakeMachine() { now() = Now{}; }
  static ProcessWatch::Clocks clocks() {
    return {[]() noexcept { return now().monotonic; }, []() noexcept { return now().monotonic + now().asleep; },
            []() noexcept { return now().cpu; }, [](std::int64_t) noexcept { return now().waited; }};
  }
  static void pass(std::uint64_t ns, std::uint64_t cpu_ns) {
    now().monotonic += ns;
    now().cpu += cpu_ns;
  }
  static void wait(std::int64_t ns) { now().waited += ns; }
  static void end_thread() { now().waited = -1; }
  static void sleep(std::uint64_t ns) { now().asleep += ns; }

 private:
  struct Now {
    std::uint64_t monotonic = 100 * kWatched;
    std::uint64_t asleep = 7 * kWatched;  // before the run
    std::uint64_t cpu = 5 * kWatched;
    std::int64_t waited = 9;  // before the run
  };
  static Now& now() {
    static Now now;
    return now;
  }
};

}  // namespace

TEST_CASE("ProcessWatch: CPU time counts from the start of the run") {
  FakeMachine machine;
  ProcessWatch watch(FakeMachine::clocks());
  watch.begin_at_cpu(4 * kWatched);
  watch.set_before(11);
  FakeMachine::pass(10 * kWatched, 3 * kWatched);
  const ProcessTimes times = watch.read();
  REQUIRE(times.cpu_ns == 4'000'000'000);
  REQUIRE(times.stopped_ns == 0);
  REQUIRE(times.suspended_ns == 0);
  REQUIRE(times.before_ns == 11);
}

TEST_CASE("ProcessWatch: a thread that wakes late in a process without CPU time was stopped") {
  FakeMachine machine;
  ProcessWatch watch(FakeMachine::clocks());
  const auto nap = [&watch](std::uint64_t ns, std::uint64_t cpu_ns) {
    watch.sleeps();
    FakeMachine::pass(ns, cpu_ns);
    watch.wakes(kWatched);
  };
  SECTION("in time, or woken early") {
    nap(kWatched / 10, 0);
    nap(kWatched, 0);
    REQUIRE(watch.read().stopped_ns == 0);
  }
  SECTION("a little late, as on a busy machine") {
    nap(kWatched + ProcessWatch::kLateNs - 1, 0);
    REQUIRE(watch.read().stopped_ns == 0);
  }
  SECTION("late without CPU time, twice") {
    nap(4 * kWatched, kWatched / 2);
    nap(2 * kWatched, 0);
    REQUIRE(watch.read().stopped_ns == 4'000'000'000);
  }
  SECTION("stopped during its sleep: the rest of the planned sleep is not counted") {
    watch.sleeps();
    FakeMachine::pass(kWatched / 10, 0);
    FakeMachine::pass(3 * kWatched, 0);
    watch.wakes(kWatched);
    REQUIRE(watch.read().stopped_ns == 2'100'000'000);
  }
  SECTION("late, but other threads ran") {
    nap(4 * kWatched, 4 * kWatched);
    REQUIRE(watch.read().stopped_ns == 0);
  }
}

TEST_CASE("ProcessWatch: distinguishes machine sleep from a stopped process") {
  FakeMachine machine;
  ProcessWatch watch(FakeMachine::clocks());
  watch.sleeps();
  FakeMachine::pass(kWatched, 0);
  FakeMachine::sleep(30 * kWatched);
  watch.wakes(kWatched);
  REQUIRE(watch.read().stopped_ns == 0);
  REQUIRE(watch.read().suspended_ns == 30'000'000'000);
}

TEST_CASE("ProcessWatch: the thread's wait for a CPU counts from the start of the run and is kept after its end") {
  FakeMachine machine;
  const ProcessWatch watch(FakeMachine::clocks());
  REQUIRE(watch.read().waited_ns == 0);
  FakeMachine::wait(300);
  REQUIRE(watch.read().waited_ns == 300);
  FakeMachine::end_thread();
  REQUIRE(watch.read().waited_ns == 300);
}

TEST_CASE("ProcessWatch: handles a system without data on waiting threads") {
  FakeMachine machine;
  FakeMachine::end_thread();
  const ProcessWatch watch(FakeMachine::clocks());
  REQUIRE_FALSE(watch.read().waited_ns);
}

TEST_CASE("ProcessWatch: reads the clocks of this machine") {
  const ProcessWatch watch;
  const ProcessTimes times = watch.read();
  REQUIRE(times.cpu_ns > 0);
  REQUIRE(times.stopped_ns == 0);
  REQUIRE(times.waited_ns.value_or(0) >= 0);
  REQUIRE(times.processors > 0);
}
