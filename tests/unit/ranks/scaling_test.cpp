// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/scaling.hpp"

#include "support/catch.hpp"

#include <vector>

using takt::detail::communication_lengthening;
using takt::detail::communication_share;
using takt::detail::data_stall;
using takt::detail::items_per_s;
using takt::detail::Scaling;
using takt::detail::scaling_efficiency;
using takt::detail::scaling_of;
using takt::detail::scaling_rows;
using takt::detail::ScalingRow;
using takt::detail::ScalingRun;
using takt::detail::speed_up;

namespace {

/// Returns a run of `seconds` at a rate in items per second.
ScalingRun at_rate(std::uint64_t ranks, double rate, double seconds = 100) {
  return {ranks, 1000, rate * seconds, seconds * 1e9};
}

}  // namespace

// The deep-learning tutorial of SC21: values read off its plots. Its ranks are nodes.

TEST_CASE("Scaling: reproduces the weak efficiency of the SC21 tutorial at 32 nodes") {
  const ScalingRun node = at_rate(1, 66'100.0 / 32);
  const ScalingRun all = at_rate(32, 51'700);
  CHECK(scaling_efficiency(all, node) == Approx(0.78).margin(0.005));
  CHECK(speed_up(all, node) == Approx(32 * 0.78).margin(0.2));
}

TEST_CASE("Scaling: reproduces the weak efficiency of the SC21 tutorial with the larger batch size, 128") {
  CHECK(scaling_efficiency(at_rate(32, 62'900), at_rate(1, 70'400.0 / 32)) == Approx(0.89).margin(0.005));
}

TEST_CASE("Scaling: reproduces the communication overhead of the SC21 tutorial in both forms") {
  CHECK(communication_share(68.0, 91.0) == Approx(0.25).margin(0.005));
  CHECK(communication_share(86.5, 98.5) == Approx(0.12).margin(0.005));
  CHECK(communication_lengthening(68.0, 91.0) == Approx(0.34).margin(0.005));
  CHECK(communication_lengthening(86.5, 98.5) == Approx(0.14).margin(0.005));
}

TEST_CASE("Scaling: reproduces the data stall of the SC21 tutorial") {
  CHECK(data_stall(51.7, 68.0) == Approx(0.24).margin(0.005));
}

TEST_CASE("Scaling: the rate is all items divided by the slowest rank's time") {
  CHECK(items_per_s({4, 10, 2560, 2e9}) == 1280);
}

TEST_CASE("Scaling: strong efficiency is the ratio of times") {
  const ScalingRun small{2, 100, 6400, 80e9};
  const ScalingRun large{16, 100, 6400, 20e9};
  CHECK(speed_up(large, small) == Approx(4));
  CHECK(scaling_efficiency(large, small) == Approx(2.0 * 80 / (16.0 * 20)));
}

TEST_CASE("Scaling: distinguishes weak and strong by the items per step") {
  CHECK(scaling_of({{1, 100, 6400, 1}, {4, 100, 25'600, 1}, {8, 50, 25'600, 1}}) == Scaling::weak);
  CHECK(scaling_of({{1, 100, 6400, 1}, {4, 100, 6400, 1}, {8, 50, 3200, 1}}) == Scaling::strong);
  CHECK(scaling_of({{1, 100, 6400, 1}, {4, 100, 12'800, 1}}) == Scaling::unclear);
  CHECK(scaling_of({{1, 100, 6400, 1}, {4, 100, 6400, 1}, {8, 100, 51'200, 1}}) == Scaling::unclear);
  CHECK(scaling_of({{4, 100, 6400, 1}, {4, 100, 6400, 1}}) == Scaling::unclear);
  CHECK(scaling_of({{4, 100, 6399, 1}, {8, 100, 12'800, 1}}) == Scaling::weak);  // a short last step
  CHECK(scaling_of({{1, 100, 0, 1}, {4, 100, 0, 1}}) == Scaling::unclear);
  CHECK(scaling_of({}) == Scaling::unclear);
}

TEST_CASE("Scaling: compares runs with the smallest one in any order") {
  const std::vector<ScalingRow> rows = scaling_rows({at_rate(8, 6000), at_rate(2, 2000), at_rate(4, 3600)});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].run.ranks == 2);
  CHECK(rows[0].efficiency == Approx(1));
  CHECK(rows[1].items_per_s == Approx(3600));
  CHECK(rows[1].speed_up == Approx(1.8));
  CHECK(rows[1].efficiency == Approx(0.9));
  CHECK(rows[2].efficiency == Approx(0.75));
  CHECK(scaling_rows({}).empty());
}

TEST_CASE("Scaling: never divides by zero") {
  const ScalingRun none;
  CHECK(items_per_s(none) == 0);
  CHECK(speed_up(at_rate(2, 100), none) == 0);
  CHECK(scaling_efficiency(at_rate(2, 100), none) == 0);
  CHECK(communication_share(1, 0) == 0);
  CHECK(communication_lengthening(0, 1) == 0);
  CHECK(data_stall(1, 0) == 0);
}
