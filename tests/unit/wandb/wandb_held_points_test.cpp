// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_held_points.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using takt::Snapshot;
using takt::detail::MetricPoint;
using takt::detail::WandbHeldPoints;
using Source = MetricPoint::Source;

namespace {

/// Steps of 100 ms, each with a row and points of it, and metrics in between.
struct HeldRig {
  void metric(std::int64_t step, std::int64_t ms) { made.push_back(point(Source::metric, step, ms, metrics++)); }
  void row(std::int64_t step, std::int64_t end_ms, bool has_points = true) {
    takt::Row row;
    row.step = step;
    row.begin_ns = (end_ms - 100) * 1'000'000;
    row.host_ns = 100'000'000;
    snapshot.rows.push_back(row);
    if (has_points) { made.push_back(point(Source::row, step, end_ms, rows++)); }
  }
  static MetricPoint point(Source source, std::int64_t step, std::int64_t ms, std::uint64_t index) {
    return {0, ms, step, index, 0, source};
  }
  /// "m3 r3": what came out, with its steps.
  std::string take(std::int64_t now_ms) {
    snapshot.wall_ns = now_ms * 1'000'000;
    std::string text;
    for (const MetricPoint& each : held.take(made, snapshot)) {
      const char kind = each.source == Source::metric ? 'm' : each.source == Source::row ? 'r' : 't';
      text += (text.empty() ? "" : " ") + std::string(1, kind) + std::to_string(each.step);
      if (each.source == Source::total) { continue; }
      CHECK(each.index == (each.source == Source::metric ? metrics_out : rows_out)++);
    }
    made.clear();
    snapshot.rows.clear();
    return text;
  }

  Snapshot snapshot;
  WandbHeldPoints held;
  std::vector<MetricPoint> made;
  std::uint64_t metrics = 0;
  std::uint64_t rows = 0;
  std::uint64_t metrics_out = 0;
  std::uint64_t rows_out = 0;
};

}  // namespace

TEST_CASE("W&B held points: a metric waits for the points of its step, wherever a period ends") {
  HeldRig rig;
  rig.row(0, 100);
  rig.metric(1, 150);
  CHECK(rig.take(160) == "");
  rig.row(1, 200);
  CHECK(rig.take(210) == "r0");
  rig.metric(2, 250);
  rig.row(2, 300);
  rig.metric(3, 350);
  CHECK(rig.take(360) == "m1 r1");
  rig.snapshot.finished = true;
  CHECK(rig.take(370) == "m2 r2 m3");
}

TEST_CASE("W&B held points: a metric that is logged behind its step stands beside it, too") {
  HeldRig rig;
  rig.row(0, 100);
  CHECK(rig.take(101) == "");
  rig.metric(0, 102);
  rig.row(1, 200);
  rig.metric(1, 202);
  rig.row(2, 300);
  CHECK(rig.take(310) == "r0 m0 r1 m1");
  CHECK(rig.take(310 + WandbHeldPoints::kLateMs) == "r2");
}

TEST_CASE("W&B held points: of steps of less than a millisecond each has its own metrics") {
  HeldRig rig;
  for (std::int64_t step = 0; step < 4; ++step) {
    rig.metric(step, 100);
    rig.row(step, 100);
  }
  rig.snapshot.finished = true;
  CHECK(rig.take(100) == "m0 r0 m1 r1 m2 r2 m3 r3");
}

TEST_CASE("W&B held points: metrics of steps without points of their own do not wait for the next ones") {
  HeldRig rig;
  for (std::int64_t step = 0; step < 3; ++step) {
    rig.metric(step, 100 * step + 50);
    rig.row(step, 100 * step + 100, step == 1);
  }
  rig.metric(3, 350);
  CHECK(rig.take(360) == "m0 m1 r1");
  rig.row(3, 400, false);
  CHECK(rig.take(410) == "m2");
}

TEST_CASE("W&B held points: steps whose device values come late are waited for") {
  HeldRig rig;
  rig.row(0, 100);
  for (std::int64_t step = 1; step < 5; ++step) { rig.metric(step, 100 * step + 50); }
  CHECK(rig.take(500) == "");
  rig.row(1, 200);
  rig.row(2, 300);
  CHECK(rig.take(600) == "r0 m1 r1");
}

TEST_CASE("W&B held points: nothing waits for ever") {
  HeldRig rig;
  rig.metric(0, 10);
  CHECK(rig.take(10) == "m0");  // in a program without steps
  rig.snapshot.paths.resize(1);
  rig.snapshot.paths[0].name = "Batch";
  rig.metric(0, 20);
  CHECK(rig.take(20) == "");
  rig.row(0, 20'000, false);
  rig.metric(1, 20'050);
  CHECK(rig.take(20'049 + WandbHeldPoints::kOpenMs) == "m0");
  CHECK(rig.take(20'050 + WandbHeldPoints::kOpenMs) == "m1");
  for (std::size_t count = 0; count < WandbHeldPoints::kMost + 5; ++count) { rig.metric(7, 90'000); }
  const std::string out = rig.take(90'000);
  CHECK(std::count(out.begin(), out.end(), 'm') == 5);
}

TEST_CASE("W&B held points: metrics of several threads go in the order of time, and none goes before a lower number") {
  HeldRig rig;
  rig.row(0, 100, false);
  rig.made.push_back(HeldRig::point(Source::metric, 9, 900, 0));  // collected first, logged last
  rig.made.push_back(HeldRig::point(Source::metric, 1, 150, 1));
  takt::Row row;
  row.step = 1;
  row.begin_ns = 100'000'000;
  row.host_ns = 100'000'000;
  rig.snapshot.rows.push_back(row);
  rig.made.push_back(HeldRig::point(Source::row, 1, 200, 0));
  rig.snapshot.wall_ns = 950'000'000 + WandbHeldPoints::kLateMs * 1'000'000;
  std::vector<std::uint64_t> numbers;
  for (const MetricPoint& each : rig.held.take(rig.made, rig.snapshot)) {
    if (each.source == Source::metric) { numbers.push_back(each.index); }
  }
  CHECK(numbers == std::vector<std::uint64_t>{1, 0});
}
