// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/own_cost.hpp"

#include "base/threads.hpp"
#include "process/process.hpp"
#include "support/catch.hpp"
#include "support/patience.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

using takt::Snapshot;
using takt::detail::overhead_ns;
using takt::detail::region_cost_ns;
using takt::detail::row_cost;
using takt::detail::skipped_cost_ns;

TEST_CASE("own cost: covers regions, and the rows that they are in, with their columns") {
  Snapshot snapshot;
  const std::uint32_t batch = takt_test::add_path(snapshot, "Batch");
  for (int call = 0; call < 1000; ++call) { snapshot.paths[batch].host.add(5); }
  const auto nothing = static_cast<double>(overhead_ns(Snapshot()));
  const auto regions = static_cast<double>(overhead_ns(snapshot)) - nothing;
  REQUIRE(region_cost_ns() > 0);
  REQUIRE(regions == Approx(1000 * region_cost_ns()).margin(2));

  snapshot.series.resize(1);
  snapshot.series[0].steps = 1000;
  const auto rows = static_cast<double>(overhead_ns(snapshot)) - nothing;
  REQUIRE(row_cost().row_ns > 0);
  REQUIRE(rows - regions == Approx(1000 * row_cost().row_ns).margin(2));

  takt_test::add_path(snapshot, "Inner", takt_test::add_path(snapshot, "Outer", batch));
  const auto columns = static_cast<double>(overhead_ns(snapshot)) - nothing;
  REQUIRE(columns - rows == Approx(2000 * row_cost().column_ns).margin(2));
}

TEST_CASE("own cost: a skipped region has a separate cost", "[timed]") {
  Snapshot snapshot;
  snapshot.paths[takt_test::add_path(snapshot, "Sampled")].skipped = 1000;
  const auto nothing = static_cast<double>(overhead_ns(Snapshot()));
  const auto skipped = static_cast<double>(overhead_ns(snapshot)) - nothing;
  REQUIRE(skipped_cost_ns() > 0);
  REQUIRE(skipped == Approx(1000 * skipped_cost_ns()).margin(2));
  // Else the check above proves nothing. Which cost is higher depends on the build.
  REQUIRE(skipped_cost_ns() != region_cost_ns());
}

// Also run with the system clock, by own_cost.by_the_system_clock.
TEST_CASE("own cost: a region costs at least about as much as its two clock readings", "[timed]") {
  const takt::detail::Clock& clock = takt::detail::process_clock();
  std::array<std::uint64_t, 101> took{};
  for (std::uint64_t& each : took) {
    const std::uint64_t begin = clock.now_ns();
    for (int count = 0; count < 200; ++count) { clock.ticks(clock.source()); }
    each = clock.now_ns() - begin;
  }
  std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
  REQUIRE(region_cost_ns() > 0.7 * static_cast<double>(took[took.size() / 2]) / 100);
}

TEST_CASE("own cost: includes background threads, running or ended") {
  static std::atomic<bool> worked{false};
  static std::atomic<bool> stop{false};
  const std::int64_t before = takt::detail::background_cpu_ns();
  const auto spin = [](void*) {
    takt_test::until([] { return takt::detail::background_cpu_ns() != 0; }, [] {});
    worked = true;
    takt_test::until([] { return stop.load(); }, [] {});
  };
  REQUIRE(takt::detail::start_background("spin", spin, nullptr));
  REQUIRE(takt_test::until([] { return worked.load(); }, [] {}));
  const std::int64_t running = takt::detail::background_cpu_ns();
  REQUIRE(running > before);
  REQUIRE(overhead_ns(Snapshot()) >= running);
  stop = true;
  // The time used grows and is kept after the thread ends.
  REQUIRE(takt_test::until([running] { return takt::detail::background_cpu_ns() > running; }, [] {}));
}
