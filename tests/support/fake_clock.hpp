// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/clock.hpp"

#include <atomic>
#include <cstdint>

namespace takt_test {

/// A processor counter and its reference clocks, moved by hand. One at a time per process; any thread may read.
/// Initially one tick is one nanosecond.
class FakeClock {
 public:
  /// \param ticks initial value of the counter.
  explicit FakeClock(std::uint64_t ticks = 1'000'000) {
    state() = State{};
    state().ticks = ticks;
    state().reference = state().monotonic = 5'000'000'000;
  }
  ~FakeClock() { state() = State{}; }
  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  /// Returns the hardware for a Clock's constructor, which waits for time to pass: during it time runs by itself.
  /// \param nominal_hz rate that the processor reports.
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
  /// From now on each read of the counter takes `ns` or a fifth longer, alternately.
  void set_read_ns(std::uint64_t ns) { state().read_ns = ns; }
  /// While time runs, delays the `reads`th reference read from now by `ns`.
  void hold_up_after(std::int64_t reads, std::uint64_t ns) {
    state().reads_left = reads;
    state().hold_up_ns = ns;
  }
  void set_invariant(bool on) { state().invariant = on; }
  /// Sets the counter's rate to `per_mille` ticks per 1,000 ns.
  void set_rate(std::uint64_t per_mille) { state().rate = per_mille; }

  /// Makes NTP run the system clock `ppm` faster than the reference, or slower if negative.
  void slew(std::int64_t ppm) { state().slew_ppm = ppm; }

  void advance(std::uint64_t ns) { pass(ns); }
  /// Moves the counter alone, as on a switch to another core or when it is set.
  void move_counter(std::int64_t ticks) {
    state().ticks.fetch_add(static_cast<std::uint64_t>(ticks), std::memory_order_relaxed);
  }
  std::uint64_t ticks() const { return shown(); }
  /// Returns how often a Clock reported that it stops using the counter.
  int left() const { return state().left; }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  struct State {
    std::atomic<std::uint64_t> ticks{0};       // value that was set, plus
    std::atomic<std::uint64_t> milliticks{0};  // ticks elapsed since
    std::atomic<std::uint64_t> reference{0};
    std::atomic<std::uint64_t> monotonic{0};
    std::atomic<std::int64_t> slewed_millionths{0};  // of the system clock, below one ns
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

/// A FakeClock and a Clock that uses it. Its time stops unless moved.
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
