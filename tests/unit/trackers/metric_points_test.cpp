// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/metric_points.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using takt::Snapshot;
using takt::detail::MetricPoint;
using takt::detail::MetricPoints;
using takt::detail::MetricSet;
using namespace takt_test;

namespace {

constexpr std::int64_t kMetricPointsSecond = 1'000'000'000;

struct Rig {
  explicit Rig(bool every_step = false, MetricSet set = MetricSet::full) : points(every_step, set) {
    snapshot.run.start_unix_ns = 1'700'000'000'123'456'789;
    batch = add_path(snapshot, "Batch", add_path(snapshot, "Epoch"));
    io = add_path(snapshot, "IO", batch, takt::Kind::io);
    add_series(snapshot, batch, add_thread(snapshot, "main"));
  }

  /// Adds a step of one second.
  void add_step(std::int64_t number, std::int64_t io_ns, std::int64_t device_ns = takt::Cell::kAbsent,
                std::uint32_t series = 0) {
    takt::Row& row = add_row(snapshot, series, sequence++);
    row.step = number;
    row.begin_ns = number * kMetricPointsSecond;
    row.host_ns = kMetricPointsSecond;
    row.period_ns = number == 0 ? std::nullopt : std::optional<std::int64_t>(kMetricPointsSecond);
    takt::Cell cell;
    cell.path = io;
    cell.calls = 2;
    cell.host_ns = io_ns;
    cell.device_ns = device_ns;
    row.cells = {cell};
  }

  void add_metric(const std::string& name, double value, std::int64_t step) {
    takt::Metric metric;
    metric.sequence = metrics++;
    metric.name = name;
    metric.value = value;
    metric.step = step;
    metric.time_unix_ns = 1'700'000'001'999'999'999 + step;
    snapshot.metrics.push_back(metric);
  }

  void take() {
    points.take(snapshot, out);
    snapshot.rows.clear();
    snapshot.metrics.clear();
  }

  std::map<std::string, std::vector<MetricPoint>> by_name() const {
    std::map<std::string, std::vector<MetricPoint>> found;
    for (const MetricPoint& point : out) { found[points.key(point.key)].push_back(point); }
    return found;
  }

  Snapshot snapshot;
  MetricPoints points;
  std::vector<MetricPoint> out;
  std::uint32_t batch = 0;
  std::uint32_t io = 0;
  std::uint64_t sequence = 0;
  std::uint64_t metrics = 0;
};

using Bare = std::tuple<std::string, double, std::int64_t, std::int64_t>;
std::vector<Bare> of_source(const Rig& rig, MetricPoint::Source source) {
  std::vector<Bare> found;
  for (const MetricPoint& point : rig.out) {
    if (point.source == source) {
      found.emplace_back(rig.points.key(point.key), point.value, point.timestamp_ms, point.step);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("Metric points: have no number after a gap, because others may have made more of them") {
  Rig rig(true);
  rig.sequence = rig.metrics = 5;  // added late, which is no loss
  rig.add_step(0, 1'000'000);
  rig.add_metric("loss", 1.0, 0);
  rig.take();
  for (const MetricPoint& point : rig.out) { CHECK(point.index != MetricPoint::kNoIndex); }
  rig.out.clear();
  ++rig.sequence;
  rig.add_step(2, 1'000'000);
  rig.add_metric("loss", 1.0, 2);
  rig.take();
  rig.add_step(3, 1'000'000);
  rig.take();
  REQUIRE_FALSE(rig.out.empty());
  for (const MetricPoint& point : rig.out) {
    CHECK((point.index == MetricPoint::kNoIndex) == (point.source == MetricPoint::Source::row));
  }
}

TEST_CASE("Metric points: the total of a region open at the end includes its time so far") {
  Rig rig;
  rig.snapshot.paths[0].host.add(4'000'000'000);
  rig.snapshot.paths[rig.batch].host.add(5'500'000'000);
  rig.snapshot.open.push_back({0, 0, 2'000'000'000});
  rig.snapshot.open.push_back({rig.io, 0, 1'000'000'000});
  rig.snapshot.finished = true;
  rig.take();
  auto found = rig.by_name();
  CHECK(found["total/time/Epoch/total_s"][0].value == 6.0);
  CHECK(found["total/time/Epoch/count"][0].value == 1.0);
  CHECK(found["total/time/Epoch/Batch/total_s"][0].value == 5.5);
  CHECK(found["total/time/Epoch/Batch/IO/total_s"][0].value == 1.0);
  CHECK(found["total/time/Epoch/Batch/IO/count"][0].value == 0.0);
}

TEST_CASE("Metric points: p95 exists from twenty steps on") {
  for (const std::int64_t steps : {19, 20}) {
    Rig rig;
    for (std::int64_t step = 0; step < steps; ++step) {
      rig.add_step(step, (step + 1) * 1'000'000);
      takt::Row& row = rig.snapshot.rows.back();  // all in one window
      row.begin_ns /= 10;
      row.host_ns /= 10;
    }
    rig.snapshot.finished = true;
    rig.take();
    auto found = rig.by_name();
    INFO(steps << " steps");
    CHECK(found.count("time/Epoch/Batch/IO/p95_s") == (steps < 20 ? 0 : 1));
    CHECK(found.count("time/Epoch/Batch/IO/p50_s") == 1);
  }
}

TEST_CASE("Metric points: a window closes at the first step end ten seconds after it opened") {
  Rig rig;
  for (std::int64_t step = 0; step < 9; ++step) { rig.add_step(step, (step + 1) * 1'000'000); }
  rig.take();
  CHECK(rig.out.empty());
  rig.add_step(9, 10'000'000);
  rig.add_step(10, 11'000'000);
  rig.take();
  auto found = rig.by_name();
  const std::string stem = "time/Epoch/Batch/IO/";
  REQUIRE(found[stem + "mean_s"].size() == 1);
  CHECK(found[stem + "mean_s"][0].value == 0.0055);
  CHECK(found[stem + "max_s"][0].value == 0.01);
  CHECK(found[stem + "total_s"][0].value == 0.055);
  CHECK(found[stem + "count"][0].value == 10);
  CHECK(found[stem + "p50_s"][0].value == Approx(0.005).epsilon(0.008));
  CHECK(found.count(stem + "p95_s") == 0);  // of ten it is the longest
  CHECK(found["time/Epoch/Batch/mean_s"][0].value == 1.0);
  CHECK(found["throughput/items_per_s"][0].value == 64.0);
  CHECK(found["throughput/steps_per_s"][0].value == 1.0);
  CHECK(found[stem + "mean_s"][0].step == 9);
  CHECK(found[stem + "mean_s"][0].timestamp_ms == 1'700'000'010'123);
  CHECK(found.count("gpu/Epoch/Batch/IO/mean_s") == 0);
}

TEST_CASE("Metric points: a million steps give one point per window, and each step is in one") {
  Rig rig;
  constexpr std::int64_t kSteps = 1'000'000;
  constexpr std::int64_t kStep = kMetricPointsSecond / 1000;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    rig.add_step(step, 1000);
    takt::Row& row = rig.snapshot.rows.back();
    row.begin_ns = step * kStep;
    row.host_ns = kStep;
    if (step % 1000 == 999) { rig.take(); }
  }
  rig.snapshot.finished = true;
  rig.take();
  const std::vector<MetricPoint> counts = rig.by_name()["time/Epoch/Batch/IO/count"];
  REQUIRE(counts.size() == 100);
  double steps = 0;
  for (const MetricPoint& point : counts) { steps += point.value; }
  CHECK(steps == kSteps);
  CHECK(counts.back().step == kSteps - 1);
  CHECK(counts.back().timestamp_ms == 1'700'001'000'123);
}

TEST_CASE("Metric points: the last window closes at the end, followed by the totals") {
  Rig rig;
  rig.add_step(0, 5, 3);
  rig.snapshot.paths[rig.io].host.add(5'000'000);
  rig.snapshot.paths[rig.io].device.add(3'000'000);
  rig.snapshot.wall_ns = 2 * kMetricPointsSecond;
  rig.snapshot.finished = true;
  rig.take();
  auto found = rig.by_name();
  CHECK(found["gpu/Epoch/Batch/IO/total_s"].size() == 1);
  CHECK(found["total/time/Epoch/Batch/IO/mean_s"][0].value == 0.005);
  CHECK(found["total/gpu/Epoch/Batch/IO/count"][0].value == 1);
  CHECK(found["total/wall_s"][0].value == 2.0);
  CHECK(found["total/wall_s"][0].timestamp_ms == 1'700'000'002'123);
  const std::size_t before = rig.out.size();
  rig.take();
  CHECK(rig.out.size() == before);
}

TEST_CASE("Metric points: one per step on request") {
  Rig rig(true);
  for (std::int64_t step = 0; step < 3; ++step) { rig.add_step(step, 7 + step, 5); }
  rig.take();
  auto found = rig.by_name();
  REQUIRE(found["time/Epoch/Batch/IO/step_s"].size() == 3);
  CHECK(found["time/Epoch/Batch/IO/step_s"][2].value == 9 / 1e9);
  CHECK(found["time/Epoch/Batch/IO/step_s"][2].step == 2);
  CHECK(found["gpu/Epoch/Batch/IO/step_s"].size() == 3);
  CHECK(found.count("time/Epoch/Batch/IO/mean_s") == 0);
}

TEST_CASE("Metric points: the user's metrics keep name, step and time, and NaN is counted") {
  Rig rig;
  rig.add_metric("loss", 0.1, 7);
  rig.add_metric("loss", std::numeric_limits<double>::quiet_NaN(), 8);
  rig.add_metric("loss", std::numeric_limits<double>::infinity(), 9);
  rig.add_metric("time/mine", 1, 9);
  rig.add_metric("exposed/mine", 1, 9);
  rig.take();
  auto found = rig.by_name();
  REQUIRE(found["loss"].size() == 2);
  CHECK(found["loss"][0].value == 0.1);
  CHECK(found["loss"][0].step == 7);
  CHECK(found["loss"][0].timestamp_ms == 1'700'000'002'000);
  CHECK(std::isinf(found["loss"][1].value));
  CHECK(rig.points.nans() == 1);
  CHECK(found["user/time/mine"].size() == 1);
  CHECK(found["user/exposed/mine"].size() == 1);
}

TEST_CASE("Metric points: do not depend on the distribution of rows over snapshots") {
  Rig whole;
  Rig parts;
  for (std::int64_t step = 0; step < 57; ++step) {
    for (Rig* rig : {&whole, &parts}) {
      rig->add_step(step, (step * 7919) % 1000, step % 3 == 0 ? 5 : takt::Cell::kAbsent);
      rig->add_metric("loss", 1.0 / static_cast<double>(step + 1), step);
    }
    if (step % 5 == 0) { parts.take(); }
  }
  whole.take();
  parts.take();
  for (const auto source : {MetricPoint::Source::row, MetricPoint::Source::metric}) {
    CHECK(of_source(whole, source) == of_source(parts, source));
    CHECK_FALSE(of_source(whole, source).empty());
  }
}

TEST_CASE("Metric points: repeated rows add nothing") {
  Rig rig(true);
  rig.add_step(0, 1);
  const std::vector<takt::Row> rows = rig.snapshot.rows;
  rig.take();
  const std::size_t before = rig.out.size();
  rig.snapshot.rows = rows;
  rig.take();
  CHECK(rig.out.size() == before);
}

TEST_CASE("Metric points: series of one Batch path on two threads stay separate") {
  Rig rig(true);
  add_series(rig.snapshot, rig.batch, add_thread(rig.snapshot, "second"));
  rig.add_step(0, 1);
  rig.add_step(0, 2, takt::Cell::kAbsent, 1);
  rig.take();
  auto found = rig.by_name();
  CHECK(found["time/Epoch/Batch/IO/step_s"].size() == 1);
  CHECK(found["time/thread-1/Epoch/Batch/IO/step_s"].size() == 1);
}

TEST_CASE("Metric points: include stream waits per window and in total") {
  Rig rig;
  const std::uint32_t wait = add_path(rig.snapshot, takt::CommWait.name(), rig.batch, takt::Kind::wait);
  for (std::int64_t step = 0; step < 12; ++step) {
    rig.add_step(step, 5);
    takt::Cell cell;
    cell.path = wait;
    cell.calls = 1;
    cell.device_ns = step % 2 == 0 ? 300 : 100;
    if (step != 11) { rig.snapshot.rows.back().cells.push_back(cell); }
  }
  rig.snapshot.paths[wait].device.add(2300);
  rig.snapshot.finished = true;
  rig.take();
  auto found = rig.by_name();
  REQUIRE(found["exposed/comm/mean_s"].size() == 2);
  CHECK(found["exposed/comm/mean_s"][0].value == 200 / 1e9);
  CHECK(found["exposed/comm/count"][0].value == 10);
  CHECK(found["exposed/comm/count"][1].value == 1);
  CHECK(found.count("exposed/io/mean_s") == 0);
  REQUIRE(found["total/exposed/comm/total_s"].size() == 1);
  CHECK(found["total/exposed/comm/total_s"][0].value == 2300 / 1e9);
}

TEST_CASE("Metric points: in few mode there are three per region, and for the whole run only its throughput") {
  Rig rig(false, MetricSet::few);
  const std::uint32_t forward = add_path(rig.snapshot, "Forward", rig.batch, takt::Kind::compute);
  for (std::int64_t step = 0; step < 60; ++step) {  // twenty per window
    rig.add_step(step, (step % 20 + 1) * 10'000'000);
    rig.snapshot.rows.back().begin_ns /= 2;
    rig.snapshot.rows.back().host_ns /= 2;
    takt::Cell cell;
    cell.path = forward;
    cell.calls = 1;
    cell.host_ns = 1'000'000;
    cell.device_ns = 400'000'000;
    rig.snapshot.rows.back().cells.push_back(cell);
    rig.add_metric("loss", 1.0, step);
  }
  for (takt::PathStats& path : rig.snapshot.paths) { path.host.add(5); }
  takt::Throughput& throughput = rig.snapshot.series[0].throughput;
  throughput.steps = 29;
  throughput.items = 29 * 64;
  throughput.period_ns = 29 * static_cast<std::uint64_t>(kMetricPointsSecond);
  rig.snapshot.finished = true;
  rig.take();
  auto found = rig.by_name();
  std::set<std::string> names;
  for (const auto& [name, points] : found) {
    names.insert(name);
    CHECK(points.size() == (name == "loss" ? 60U : name.compare(0, 6, "total/") == 0 ? 1U : 3U));
  }
  const std::string stem = "time/Epoch/Batch";
  CHECK(names == std::set<std::string>{"loss", stem + "/mean_s", stem + "/p95_s", stem + "/IO/mean_s",
                                       stem + "/IO/share", stem + "/IO/p95_s", stem + "/Forward/mean_s",
                                       stem + "/Forward/share", "gpu/Epoch/Batch/Forward/mean_s",
                                       "throughput/items_per_s", "throughput/steps_per_s",
                                       "total/throughput/items_per_s", "total/throughput/steps_per_s"});
  CHECK(found[stem + "/IO/mean_s"][0].value == 0.105);
  CHECK(found[stem + "/IO/share"][0].value == 0.21);
  CHECK(found[stem + "/IO/p95_s"][0].value == Approx(0.19).epsilon(0.008));
  CHECK(found[stem + "/mean_s"][0].value == 0.5);
  CHECK(found["gpu/Epoch/Batch/Forward/mean_s"][2].value == 0.4);
}

TEST_CASE(
    "Metric points: in few mode a final part of less than half a window has no point, unless it is the only one") {
  const std::int64_t steps = GENERATE(2, 13, 17, 20);
  Rig rig(false, MetricSet::few);
  for (std::int64_t step = 0; step < steps; ++step) { rig.add_step(step, 1'000'000); }
  rig.snapshot.rows.back().items = 1;  // as with an incomplete last batch
  rig.snapshot.finished = true;
  rig.take();
  std::vector<std::int64_t> ends;
  auto found = rig.by_name();
  for (const MetricPoint& point : found["throughput/steps_per_s"]) {
    ends.push_back(point.step);
    CHECK(point.value == 1.0);
  }
  CHECK(ends == (steps == 2    ? std::vector<std::int64_t>{1}
                 : steps == 13 ? std::vector<std::int64_t>{9}
                 : steps == 17 ? std::vector<std::int64_t>{9, 16}
                               : std::vector<std::int64_t>{9, 19}));
}

TEST_CASE("Metric points: in few mode a run without steps has points of the whole run") {
  Rig rig(false, MetricSet::few);
  rig.snapshot.series.clear();
  rig.snapshot.paths[rig.io].host.add(5'000'000);
  rig.snapshot.paths[rig.io].device.add(3'000'000);
  rig.snapshot.finished = true;
  rig.take();
  auto found = rig.by_name();
  CHECK(found.size() == 3);
  CHECK(found["total/time/Epoch/Batch/IO/mean_s"][0].value == 0.005);
  CHECK(found["total/time/Epoch/Batch/IO/total_s"][0].value == 0.005);
  CHECK(found["total/gpu/Epoch/Batch/IO/total_s"][0].value == 0.003);
}

TEST_CASE("Metric points: report each changed name once") {
  Rig rig;
  const std::uint32_t odd = add_path(rig.snapshot, "ns::f<int>", rig.batch);
  rig.add_step(0, 5);
  rig.snapshot.rows.back().cells[0].path = odd;
  rig.add_metric("a:b", 1, 0);
  rig.add_metric("time/mine", 1, 0);
  rig.add_metric("loss", 1, 0);
  rig.snapshot.finished = true;
  rig.take();
  const MetricPoints::Renamed renamed = rig.points.take_renamed();
  REQUIRE(renamed.size() == 3);
  CHECK(renamed[0].first == "a:b");
  CHECK(renamed[0].second == takt::detail::tracker_name("a:b", 250));
  CHECK(renamed[1] == std::make_pair(std::string("time/mine"), std::string("user/time/mine")));
  CHECK(renamed[2].first == "time/Epoch/Batch/ns::f<int>");
  CHECK(rig.by_name().count(renamed[2].second + "/mean_s") == 1);
  rig.add_metric("a:b", 2, 1);
  rig.take();
  CHECK(rig.points.take_renamed().empty());
}
