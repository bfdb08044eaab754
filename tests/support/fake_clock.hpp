// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/clock.hpp"

#include <atomic>
#include <cstdint>

namespace takt_test {

/// A processor's counter and the clocks it is compared with, moved by hand. One at a time in a process; any thread may
/// read.
/// As made, a tick is a nanosecond.
class FakeClock {
 public:
  /// \param ticks what the counter shows at first.
  explicit FakeClock(std::uint64_t ticks = 1'000'000) {
    state() = State{};
    state().ticks = ticks;
    state().reference = state().monotonic = 5'000'000'000;
  }
  ~FakeClock() { state() = State{}; }
  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  /// For the constructor of a Clock, which waits for time to pass: it does so by itself while one is made.
  /// \param nominal_hz what the processor tells of its rate.
  takt::detail::Clock::Hardware hardware(double nominal_hz = 0) const {
    return {[]() noexcept {
              if (state().read_ns != 0) { pass(state().read_ns + ++state().reads % 2 * state().read_ns / 5); }
              return shown();
            },
            []() noexcept {
              if (state().runs) { pass(16 + (--state().reads_left == 0 ? state().hold_up_ns.load() : 0)); }
              return state().reference.load(std::memory_order_relaxed);
            },
            [](const char*& reason) noexcept {
              if (!state().invariant) { reason = "the fake is not invariant"; }
              return state().invariant.load();
            },
            []() noexcept { return state().monotonic.load(std::memory_order_relaxed); },
            []() noexcept { state().left.fetch_add(1, std::memory_order_relaxed); },
            nominal_hz};
  }
  void run(bool on) { state().runs = on; }
  /// From now on each read of the counter takes so long, or a fifth longer, in turn.
  void set_read_ns(std::uint64_t ns) { state().read_ns = ns; }
  /// While time runs, whoever reads the reference for the `reads`th time from now is kept from running for so long
  /// before.
  void hold_up_after(std::int64_t reads, std::uint64_t ns) {
    state().reads_left = reads;
    state().hold_up_ns = ns;
  }
  void set_invariant(bool on) { state().invariant = on; }
  /// From now on the counter makes `per_mille` ticks in 1 000 ns.
  void set_rate(std::uint64_t per_mille) { state().rate = per_mille; }

  /// From now on NTP makes the system's clock go faster than the reference by `ppm`, or slower.
  void slew(std::int64_t ppm) { state().slew_ppm = ppm; }

  void advance(std::uint64_t ns) { pass(ns); }
  /// The counter alone: another core's, or one that has been set.
  void move_counter(std::int64_t ticks) {
    state().ticks.fetch_add(static_cast<std::uint64_t>(ticks), std::memory_order_relaxed);
  }
  std::uint64_t ticks() const { return shown(); }
  /// How often a Clock said that it is leaving the counter.
  int left() const { return state().left; }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  struct State {
    std::atomic<std::uint64_t> ticks{0};       // as set, and
    std::atomic<std::uint64_t> milliticks{0};  // as gone by since
    std::atomic<std::uint64_t> reference{0};
    std::atomic<std::uint64_t> monotonic{0};
    std::atomic<std::int64_t> slewed_millionths{0};  // of the system's clock, less than a ns
    std::atomic<std::int64_t> slew_ppm{0};
    std::atomic<std::uint64_t> rate{1000};
    std::atomic<std::int64_t> reads_left{0};
    std::atomic<std::uint64_t> hold_up_ns{0};
    std::atomic<std::uint64_t> read_ns{0};
    std::atomic<std::uint64_t> reads{0};
    std::atomic<bool> runs{true};
    std::atomic<bool> invariant{true};
    std::atomic<int> left{0};

    State() = default;
    State& operator=(const State& other) {
      ticks = other.ticks.load();
      milliticks = other.milliticks.load();
      reference = other.reference.load();
      monotonic = other.monotonic.load();
      slewed_millionths = other.slewed_millionths.load();
      slew_ppm = other.slew_ppm.load();
      rate = other.rate.load();
      reads_left = other.reads_left.load();
      hold_up_ns = other.hold_up_ns.load();
      read_ns = other.read_ns.load();
      reads = other.reads.load();
      runs = other.runs.load();
      invariant = other.invariant.load();
      left = other.left.load();
      return *this;
    }
  };
  static State& state() {
    static State state;
    return state;
  }
  static std::uint64_t shown() {
    return state().ticks.load(std::memory_order_relaxed) + state().milliticks.load(std::memory_order_relaxed) / 1000;
  }
  static void pass(std::uint64_t ns) {
    state().milliticks.fetch_add(ns * state().rate, std::memory_order_relaxed);
    state().reference.fetch_add(ns, std::memory_order_relaxed);
    const std::int64_t slewed_millionths = state().slewed_millionths + static_cast<std::int64_t>(ns) * state().slew_ppm;
    state().slewed_millionths = slewed_millionths % kMillion;
    const auto passed = static_cast<std::int64_t>(ns) + slewed_millionths / kMillion;
    state().monotonic.fetch_add(static_cast<std::uint64_t>(passed), std::memory_order_relaxed);
  }
};

/// A FakeClock and a Clock that believes it. Its time stands still unless moved.
struct TestClock {
  explicit TestClock(std::uint64_t ticks = 1'000'000,
                     takt::detail::ClockChoice choice = takt::detail::ClockChoice::automatic)
      : fake(ticks), clock(choice, fake.hardware()) {
    fake.run(false);
  }
  std::uint64_t now_ns() const { return clock.now_ns(); }

  FakeClock fake;
  takt::detail::Clock clock;
};

}  // namespace takt_test
