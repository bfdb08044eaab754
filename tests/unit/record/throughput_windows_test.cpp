// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/throughput_windows.hpp"

#include <takt/snapshot.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

using takt::NoInterval;
using takt::Throughput;
using takt::detail::ThroughputWindows;

namespace {

constexpr std::uint64_t kUsualNs = 1'000'000;
constexpr std::uint64_t kStepsForInterval = ThroughputWindows::kMinWindows * ThroughputWindows::kStepsAtFirst;

/// Adds one window of equal steps, each of `items` in `ns`.
void add_window(ThroughputWindows& windows, std::uint64_t items, std::uint64_t ns) {
  for (std::uint64_t step = 0; step < ThroughputWindows::kStepsAtFirst; ++step) { windows.add(items, ns); }
}

/// Adds steps of 64 items in 1 ms, with up to 2 % deviation.
void add_steady(ThroughputWindows& windows, std::uint64_t steps, takt_test::Random& random) {
  for (std::uint64_t step = 0; step < steps; ++step) { windows.add(64, kUsualNs - 20'000 + random.below(40'001)); }
}

/// Checks that the interval contains the throughput and is plausible.
void check_interval(const Throughput& read) {
  REQUIRE(read.no_interval == NoInterval::none);
  REQUIRE(read.items_low > 0);
  REQUIRE(read.items_low <= read.items_per_s);
  REQUIRE(read.items_high >= read.items_per_s);
}

}  // namespace

TEST_CASE("ThroughputWindows: rates are sums divided by sums") {
  ThroughputWindows windows;
  REQUIRE(windows.read().items_per_s == 0.0);
  windows.add(10, 1'000'000'000);
  windows.add(20, 500'000'000);
  windows.exclude(70);
  windows.exclude(7);
  const Throughput read = windows.read();
  REQUIRE(read.steps == 2);
  REQUIRE(read.items == 30);
  REQUIRE(read.period_ns == 1'500'000'000);
  REQUIRE(read.items_per_s == Approx(20.0));
  REQUIRE(read.steps_per_s == Approx(2 / 1.5));
  REQUIRE(read.excluded_steps == 2);
  REQUIRE(read.excluded_ns == 77);
  REQUIRE(read.windows == 0);
}

TEST_CASE("ThroughputWindows: few steps give no interval") {
  takt_test::Random random(1);
  ThroughputWindows windows;
  add_steady(windows, kStepsForInterval - 1, random);
  REQUIRE(windows.read().no_interval == NoInterval::few_steps);
  REQUIRE(windows.read().items_low == 0.0);
  REQUIRE(windows.read().items_high == 0.0);
  add_steady(windows, 1, random);
  REQUIRE(windows.read().windows == ThroughputWindows::kMinWindows);
  check_interval(windows.read());
}

TEST_CASE("ThroughputWindows: steps without items give no interval") {
  ThroughputWindows windows;
  for (int count = 0; count < 50; ++count) { add_window(windows, 0, kUsualNs); }
  REQUIRE(windows.read().windows == 50);
  REQUIRE(windows.read().no_interval == NoInterval::few_steps);
  REQUIRE(windows.read().items_high == 0.0);
  REQUIRE(windows.read().steps_per_s == Approx(1000));
}

TEST_CASE("ThroughputWindows: equal steps give an interval of zero width") {
  ThroughputWindows windows;
  for (int count = 0; count < 20; ++count) { add_window(windows, 64, kUsualNs); }
  check_interval(windows.read());
  REQUIRE(windows.read().items_low == Approx(64'000));
  REQUIRE(windows.read().items_high == Approx(64'000));
}

TEST_CASE("ThroughputWindows: the interval is Student's for the ratio, symmetric on the logarithm") {
  // 97.5 % quantiles from tables, by degrees of freedom.
  const std::vector<std::pair<unsigned, double>> quantiles = {
      {15, 2.13145}, {20, 2.08596}, {30, 2.04227}, {40, 2.02108}, {60, 2.00030}};
  for (const auto& [degrees, quantile] : quantiles) {
    ThroughputWindows windows;
    std::vector<double> ms;
    for (unsigned window = 0; window <= degrees; ++window) {
      // Neighbours alternate around the mean, so that correlation does not widen the interval.
      const std::uint64_t percent = window % 2 == 0 ? 100 + window % 5 : 100 - window % 5;
      add_window(windows, 100, percent * kUsualNs / 100);
      ms.push_back(static_cast<double>(percent) / 100);
    }
    double mean = 0;
    for (const double each : ms) { mean += each / static_cast<double>(ms.size()); }
    double squares = 0;
    for (const double each : ms) { squares += (each - mean) * (each - mean); }
    const double half = quantile * std::sqrt(squares / degrees / (degrees + 1)) / mean;
    const Throughput read = windows.read();
    INFO(degrees << " degrees of freedom");
    check_interval(read);
    REQUIRE(read.windows == degrees + 1);
    REQUIRE(std::log(read.items_high / read.items_per_s) == Approx(half).epsilon(1e-3));
    REQUIRE(std::log(read.items_per_s / read.items_low) == Approx(half).epsilon(1e-3));
  }
}

TEST_CASE("ThroughputWindows: time proportional to the number of items is not scatter") {
  ThroughputWindows windows;
  for (unsigned window = 0; window < 40; ++window) {
    const std::uint64_t items = 100 + (window * 7919) % 13;
    add_window(windows, items, items * 10'000);
  }
  check_interval(windows.read());
  REQUIRE(windows.read().items_high == Approx(windows.read().items_low).epsilon(1e-9));
}

TEST_CASE("ThroughputWindows: with checkpoints the interval is around the displayed throughput") {
  takt_test::Random random(2);
  ThroughputWindows windows;
  for (int checkpoint = 0; checkpoint < 20; ++checkpoint) {
    add_steady(windows, 249, random);
    windows.add(64, 115 * kUsualNs);
    add_steady(windows, 250, random);
  }
  const Throughput read = windows.read();
  check_interval(read);
  REQUIRE(read.items_per_s == Approx(64.0 * 500 / 0.614).epsilon(0.01));
}

TEST_CASE("ThroughputWindows: fewer than ten stalls give no interval and are counted") {
  for (const std::uint64_t stalls : {1U, 2U, 9U, 12U}) {
    takt_test::Random random(3);
    ThroughputWindows windows;
    for (std::uint64_t stall = 0; stall < stalls; ++stall) {
      add_steady(windows, 500, random);
      windows.add(64, 300 * kUsualNs);
      add_steady(windows, 499, random);
    }
    const Throughput read = windows.read();
    INFO(stalls << " stalls");
    if (stalls < 10) {
      REQUIRE(read.no_interval == NoInterval::few_stalls);
      REQUIRE(read.stalls == stalls);
      REQUIRE(read.items_high == 0.0);
    } else {
      check_interval(read);
    }
  }
}

TEST_CASE("ThroughputWindows: counts a stall in the first step") {
  takt_test::Random random(4);
  ThroughputWindows windows;
  windows.add(64, 3000 * kUsualNs);
  add_steady(windows, 10'000, random);
  REQUIRE(windows.read().no_interval == NoInterval::few_stalls);
  REQUIRE(windows.read().stalls == 1);
}

TEST_CASE("ThroughputWindows: one stall too short leaves nine, so there is no interval") {
  ThroughputWindows windows;
  for (std::uint64_t step = 0; step < 10'000; ++step) {
    const std::uint64_t longer = step % 1000 != 500 ? 0 : step == 500 ? 250 : 300;
    windows.add(64, kUsualNs + longer * kUsualNs);
  }
  REQUIRE(windows.read().no_interval == NoInterval::few_stalls);
  REQUIRE(windows.read().stalls == 9);
}

TEST_CASE("ThroughputWindows: a slowly changing pace gives no interval") {
  takt_test::Random random(5);
  SECTION("a drift") {
    ThroughputWindows windows;
    for (std::uint64_t step = 0; step < 2000; ++step) { windows.add(64, kUsualNs + 500 * step + random.below(10'000)); }
    REQUIRE(windows.read().no_interval == NoInterval::correlated);
    REQUIRE(windows.read().items_high == 0.0);
  }
  SECTION("two speeds") {
    ThroughputWindows windows;
    for (std::uint64_t step = 0; step < 4000; ++step) {
      windows.add(64, (step / 500 % 2 == 0 ? kUsualNs : 2 * kUsualNs) + random.below(10'000));
    }
    REQUIRE(windows.read().no_interval == NoInterval::correlated);
  }
}

TEST_CASE("ThroughputWindows: 64 windows become 32 of twice the steps without losing data") {
  ThroughputWindows windows;
  std::uint64_t items = 0;
  for (unsigned window = 0; window < 64; ++window) {
    add_window(windows, window, kUsualNs);
    items += window * ThroughputWindows::kStepsAtFirst;
    REQUIRE(windows.read().windows == (window == 63 ? 32 : window + 1));
  }
  REQUIRE(windows.read().items == items);
  add_window(windows, 64, kUsualNs);  // now half a window
  REQUIRE(windows.read().windows == 32);
  add_window(windows, 65, kUsualNs);
  REQUIRE(windows.read().windows == 33);
  for (unsigned window = 66; window < 4 * 64; ++window) { add_window(windows, window, kUsualNs); }
  REQUIRE(windows.read().windows == 32);
  REQUIRE(windows.read().items_per_s == Approx(127'500));
}
