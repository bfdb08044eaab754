// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/step_history.hpp"

#include "support/catch.hpp"
#include "support/step_builder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>

using takt::StepHistory;
using takt::detail::HistoryColumn;
using takt::detail::SeriesHistory;
using takt::detail::StepBlock;
using takt_test::StepBuilder;

namespace {

constexpr std::int64_t kMs = StepBuilder::kMs;

StepHistory history_of(const StepBuilder& builder, std::size_t max_bytes = StepHistory::kMaxBytes) {
  StepHistory history(max_bytes);
  history.add(builder.run);
  return history.finished();
}

template <class Value>
std::uint64_t sum_over(const SeriesHistory& series, Value value) {
  return std::accumulate(series.blocks().begin(), series.blocks().end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const StepBlock& each) { return sum + value(each); });
}

std::uint64_t column_sum(const SeriesHistory& series, std::uint32_t path, bool on_stream = false) {
  for (std::size_t at = 0; at < series.columns().size(); ++at) {
    const HistoryColumn& column = series.columns()[at];
    if (column.path != path || column.on_stream != on_stream) { continue; }
    return sum_over(series, [at](const StepBlock& each) { return at < each.columns.size() ? each.columns[at] : 0; });
  }
  return 0;
}

}  // namespace

TEST_CASE("Step history: columns of host time add up to the periods") {
  StepBuilder builder;
  const std::uint32_t io = builder.region("IO", takt::Kind::io);
  const std::uint32_t backward = builder.region("Backward");
  const std::uint32_t comm = takt_test::add_path(builder.run, "Comm", backward, takt::Kind::comm);
  builder.step(10 * kMs, {{io, 2 * kMs}, {backward, 5 * kMs}, {comm, 3 * kMs}}, -1);
  builder.step(10 * kMs, {{io, 3 * kMs}, {backward, 6 * kMs}, {comm, 1 * kMs}}, 4 * kMs);
  builder.run.rows.back().cells[1].device_ns = 7 * kMs;
  const StepHistory history = history_of(builder);
  const SeriesHistory& series = history.series()[history.main_series()];
  REQUIRE(series.steps() == 2);
  CHECK(column_sum(series, io) == 5 * kMs);
  CHECK(column_sum(series, comm) == 4 * kMs);
  CHECK(column_sum(series, backward) == 7 * kMs);  // without Comm inside it
  CHECK(column_sum(series, builder.batch) == 4 * kMs);
  CHECK(column_sum(series, HistoryColumn::kBetween) == 4 * kMs);
  CHECK(column_sum(series, backward, true) == 7 * kMs);
  CHECK(series.breaks().empty());
}

TEST_CASE("Step history: size is bounded without losing a sum or a longest step") {
  StepBuilder builder;
  const std::uint32_t io = builder.region("IO", takt::Kind::io);
  constexpr std::uint64_t kSteps = 100'000;
  constexpr std::int64_t kSpikes[] = {50, 12'345, 50'000, 77'776, 99'999};
  std::uint64_t sum = 0;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const bool spike = std::count(std::begin(kSpikes), std::end(kSpikes), static_cast<std::int64_t>(step)) != 0;
    const std::int64_t ns = spike ? 900 * kMs : 10 * kMs + static_cast<std::int64_t>(step % 97) * 1000;
    sum += static_cast<std::uint64_t>(ns);
    builder.step(ns, {{io, ns / 4}}, step % 1000 == 0 ? -1 : 0);
  }
  constexpr std::size_t kBound = 64 * 1024;
  StepHistory live(kBound);
  takt::Snapshot part = builder.run;
  std::size_t max = 0;
  for (std::size_t at = 0; at < kSteps; at += 777) {
    part.rows.assign(builder.run.rows.begin() + static_cast<std::ptrdiff_t>(at),
                     builder.run.rows.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(at + 777, kSteps)));
    live.add(part);
    max = std::max(max, live.bytes());
  }
  CHECK(max <= kBound);
  const StepHistory history = live.finished();
  const SeriesHistory& series = history.series()[0];
  CHECK(series.blocks().size() > 100);
  CHECK(series.steps() == kSteps);
  CHECK(series.warmup() == 10);
  CHECK(sum_over(series, [](const StepBlock& each) { return each.steps; }) == kSteps);
  CHECK(sum_over(series, [](const StepBlock& each) { return each.sum_ns; }) == sum);
  for (const std::int64_t spike : kSpikes) {
    const auto holds = [&](const StepBlock& each) {
      return each.first_step <= spike && spike < each.first_step + static_cast<std::int64_t>(each.steps);
    };
    const auto block = std::find_if(series.blocks().begin(), series.blocks().end(), holds);
    REQUIRE(block != series.blocks().end());
    CHECK(block->max_ns == 900 * kMs);
    CHECK(block->min_ns < 11 * kMs);
  }
  CHECK(series.worst().front().ns == 900 * kMs);
  CHECK(series.worst().size() == SeriesHistory::kMaxWorst);
  CHECK(series.all_breaks() == 99);  // the first step has no predecessor
  CHECK(series.breaks()[1] == 2000);
}

TEST_CASE("Step history: samples in blocks have the quantiles of the steps") {
  StepBuilder builder;
  std::vector<std::int64_t> lengths;
  std::uint64_t state = 7;
  for (int step = 0; step < 50'000; ++step) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    lengths.push_back(kMs + static_cast<std::int64_t>((state >> 40U) % 1'000'000));
    builder.step(lengths.back());
  }
  const StepHistory history = history_of(builder, 128 * 1024);
  std::vector<std::uint64_t> samples;
  for (const StepBlock& each : history.series()[0].blocks()) {
    CHECK(each.samples.size() <= StepBlock::kMaxSamples);
    CHECK(std::is_sorted(each.samples.begin(), each.samples.end()));
    samples.insert(samples.end(), each.samples.begin(), each.samples.end());
  }
  std::sort(samples.begin(), samples.end());
  REQUIRE(samples.size() > 1000);
  for (const double q : {0.1, 0.5, 0.9}) {
    const auto sample = static_cast<double>(samples[static_cast<std::size_t>(q * static_cast<double>(samples.size()))]);
    CHECK(sample == Approx(1e6 + q * 1e6).margin(0.03e6));
  }
}

TEST_CASE("Step history: slow steps name the slow region and include their gaps") {
  StepBuilder builder;
  const std::uint32_t forward = builder.region("Forward");
  const std::uint32_t save = builder.region("Checkpoint", takt::Kind::io);
  for (std::int64_t step = 0; step < 1000; ++step) {
    const std::int64_t saving = step % 100 == 99 ? 70 * kMs : 0;
    builder.step(10 * kMs + saving, {{forward, 8 * kMs}, {save, saving}});
  }
  builder.step(10 * kMs, {{forward, 8 * kMs}}, 55 * kMs);  // the time before this step is long
  const SeriesHistory series = history_of(builder).series()[0];
  REQUIRE(series.slow().count(save) == 1);
  const takt::detail::SlowSteps& slow = series.slow().at(save);
  CHECK(slow.steps() == 10);
  CHECK(slow.excess_ns() == 700 * kMs);
  CHECK(slow.mean_ratio() == Approx(8));
  CHECK(slow.gaps() == std::map<std::uint64_t, std::uint64_t>{{100, 9}});
  CHECK(slow.first_step() == 99);
  REQUIRE(series.slow().size() == 2);
  CHECK(series.slow().at(HistoryColumn::kBetween).worst_step() == 1000);
}

TEST_CASE("Step history: slow steps do not change the usual times") {
  StepBuilder builder;
  for (std::int64_t step = 0; step < 640; ++step) { builder.step(step % 10 == 9 ? 500 * kMs : 10 * kMs + step % 7); }
  const SeriesHistory series = history_of(builder).series()[0];
  const std::uint64_t steps = sum_over(series, [](const StepBlock& each) { return each.usual_steps; });
  CHECK(steps == 630);  // without warm-up
  const auto mean = static_cast<double>(sum_over(series, [](const StepBlock& each) { return each.usual_ns; })) / 630;
  CHECK(mean == Approx(10 * kMs).epsilon(1e-6));
}

TEST_CASE("Step history: counts series and metrics beyond the limits") {
  StepBuilder builder;
  builder.step(kMs);
  for (std::uint32_t at = 0; at < StepHistory::kMaxSeries; ++at) {
    const std::uint32_t thread = takt_test::add_thread(builder.run, "t" + std::to_string(at));
    const std::uint32_t series = takt_test::add_series(builder.run, builder.batch, thread);
    takt_test::add_row(builder.run, series, at + 1);
  }
  for (std::size_t at = 0; at <= StepHistory::kMaxMetrics; ++at) {
    takt::Metric metric;
    metric.name = "m" + std::to_string(at);
    builder.run.metrics.push_back(metric);
  }
  const StepHistory history = history_of(builder);
  CHECK(history.rows_left_out() == 1);
  CHECK(history.points_left_out() == 1);
  CHECK(history.metrics().size() == StepHistory::kMaxMetrics);
  CHECK(history.main_series() == 0);
  CHECK(StepHistory().main_series() == 0);
}

TEST_CASE("Step history: metrics keep sums and extremes in bounded memory") {
  takt::detail::MetricHistory loss;
  double sum = 0;
  for (int step = 0; step < 10'000; ++step) {
    takt::Metric metric;
    metric.step = step;
    metric.value = step == 6'543 ? 99.0 : std::exp(-step / 1000.0);
    if (step == 5) { metric.value = std::numeric_limits<double>::quiet_NaN(); }
    if (step != 5) { sum += metric.value; }
    loss.add(metric);
  }
  CHECK(loss.points() == 10'000);
  CHECK(loss.not_finite() == 1);
  CHECK(loss.blocks().size() <= takt::detail::MetricHistory::kMaxBlocks);
  double kept = 0;
  double max = 0;
  for (const takt::detail::MetricBlock& each : loss.blocks()) {
    kept += each.sum;
    max = std::max(max, each.max);
  }
  CHECK(kept == Approx(sum));
  CHECK(max == 99.0);
  CHECK(loss.last() == Approx(std::exp(-9.999)));
}
