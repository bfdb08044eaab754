// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "step_series.hpp"

#include <takt/snapshot.hpp>

#include "support/catch.hpp"
#include "support/recorder_fixture.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

using namespace takt::detail;
using takt::Cell;
using takt::Throughput;
using takt_test::RecorderFixture;

namespace {

/// One window of equal steps, of `items` in `ns` each.
void add_window(ThroughputWindows& windows, std::uint64_t items, std::uint64_t ns) {
  for (std::uint64_t step = 0; step < ThroughputWindows::kStepsAtFirst; ++step) { windows.add(items, ns); }
}

}  // namespace

TEST_CASE("ThroughputWindows: rates are sums over sums") {
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

TEST_CASE("ThroughputWindows: below three windows there is no interval") {
  ThroughputWindows windows;
  add_window(windows, 10, 1'000'000);
  add_window(windows, 11, 1'000'000);
  for (std::uint64_t step = 1; step < ThroughputWindows::kStepsAtFirst; ++step) { windows.add(10, 1'000'000); }
  REQUIRE(windows.read().windows == 2);
  REQUIRE(windows.read().items_low == 0.0);
  REQUIRE(windows.read().items_high == 0.0);
  windows.add(10, 1'000'000);
  REQUIRE(windows.read().windows == 3);
  REQUIRE(windows.read().items_low > 0.0);
}

TEST_CASE("ThroughputWindows: without items there is no interval") {
  ThroughputWindows windows;
  for (int count = 0; count < 5; ++count) { add_window(windows, 0, 1'000'000); }
  REQUIRE(windows.read().windows == 5);
  REQUIRE(windows.read().items_high == 0.0);
  REQUIRE(windows.read().steps_per_s == Approx(1000));
}

TEST_CASE("ThroughputWindows: the interval is Student's over the windows") {
  // 97.5 % quantiles from tables, by degrees of freedom.
  const std::vector<std::pair<unsigned, double>> quantiles = {
      {2, 4.30265},  {3, 3.18245},  {5, 2.57058},  {10, 2.22814}, {11, 2.20099},
      {15, 2.13145}, {20, 2.08596}, {30, 2.04227}, {40, 2.02108}, {60, 2.00030}};
  for (const auto& [degrees, quantile] : quantiles) {
    ThroughputWindows windows;
    std::vector<double> rates;
    for (unsigned window = 0; window <= degrees; ++window) {
      const std::uint64_t items = 100 + (window * 7919) % 13;
      add_window(windows, items, 1'000'000);
      rates.push_back(static_cast<double>(items) * 1000);
    }
    double mean = 0;
    for (const double rate : rates) { mean += rate / static_cast<double>(rates.size()); }
    double squares = 0;
    for (const double rate : rates) { squares += (rate - mean) * (rate - mean); }
    const double half = quantile * std::sqrt(squares / degrees / (degrees + 1));
    const Throughput read = windows.read();
    INFO(degrees << " degrees of freedom");
    REQUIRE(read.windows == degrees + 1);
    REQUIRE((read.items_high - read.items_low) / 2 == Approx(half).epsilon(1e-3));
    REQUIRE((read.items_high + read.items_low) / 2 == Approx(mean).epsilon(1e-9));
  }
}

TEST_CASE("ThroughputWindows: 64 windows become 32 of twice the steps, and nothing is lost") {
  ThroughputWindows windows;
  std::uint64_t items = 0;
  for (unsigned window = 0; window < 64; ++window) {
    add_window(windows, window, 1'000'000);
    items += window * ThroughputWindows::kStepsAtFirst;
    REQUIRE(windows.read().windows == (window == 63 ? 32 : window + 1));
  }
  REQUIRE(windows.read().items == items);
  add_window(windows, 64, 1'000'000);  // half a window now
  REQUIRE(windows.read().windows == 32);
  add_window(windows, 65, 1'000'000);
  REQUIRE(windows.read().windows == 33);
  for (unsigned window = 66; window < 4 * 64; ++window) { add_window(windows, window, 1'000'000); }
  REQUIRE(windows.read().windows == 32);
  // The windows are means of 8 neighbours of 0 to 255: their mean is that of all, their scatter that of an even slope.
  const Throughput read = windows.read();
  REQUIRE((read.items_high + read.items_low) / 2 == Approx(127'500));
  const double step = 8'000;
  const double deviation = step * std::sqrt((32.0 * 32 - 1) / 12 * 32 / 31);
  REQUIRE((read.items_high - read.items_low) / 2 == Approx(2.0395 * deviation / std::sqrt(32.0)).epsilon(1e-3));
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: a row is what its step has gained, path by path") {
  for (std::uint64_t step = 0; step < 3; ++step) {
    pass(100);
    const Region batch = begin(kBatch);
    for (std::uint64_t call = 0; call <= step; ++call) { region(kA, 10 + step); }
    if (step == 1) { region(kB, 5); }
    recorder->amount(batch, Amount::items, static_cast<std::int64_t>(step) + 1);
    pass(1);
    end(batch);
  }
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 3);
  REQUIRE(all[2].step == 2);
  REQUIRE(all[2].host_ns == 37);
  REQUIRE(all[2].period_ns == 137);
  REQUIRE(all[2].begin_ns - all[1].begin_ns == 100 + all[1].host_ns);
  REQUIRE(all[0].period_ns == -1);
  REQUIRE(all[2].items == 3);
  REQUIRE(all[2].warmup);
  REQUIRE(all[2].cells.size() == 1);
  REQUIRE(cell(all[2], node({kBatch, kA}))->calls == 3);
  REQUIRE(cell(all[2], node({kBatch, kA}))->host_ns == 36);
  REQUIRE(all[1].cells.size() == 2);
  REQUIRE(cell(all[1], node({kBatch, kB}))->host_ns == 5);
}

TEST_CASE_METHOD(RecorderFixture,
                 "StepSeries: gaps with an Epoch boundary or another Batch path inside are left out of throughput") {
  recorder->tree().set_warmup(0);
  const auto step = [&](KeyIndex above) {
    const Region outer = above == 0 ? 0 : begin(above);
    const Region batch = begin(kBatch);
    recorder->amount(batch, Amount::items, 1);
    pass(10);
    end(batch);
    if (outer != 0) { end(outer); }
    pass(5);
  };
  step(0);
  step(0);
  step(kA);  // validation
  step(kA);
  step(0);
  step(0);
  region(kEpoch, 3);
  step(0);
  const auto throughput_of = [&](const Node* batch) {
    return static_cast<const StepSeries*>(batch->series)->windows().read();
  };
  const Throughput training = throughput_of(node({kBatch}));
  REQUIRE(training.steps == 2);
  REQUIRE(training.items == 2);
  REQUIRE(training.period_ns == 30);
  REQUIRE(training.excluded_steps == 2);
  REQUIRE(training.excluded_ns == 45 + 18);
  const Throughput validation = throughput_of(node({kA, kBatch}));
  REQUIRE(validation.steps == 1);
  REQUIRE(validation.excluded_steps == 0);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 7);
  REQUIRE(all[4].period_ns == -1);
  REQUIRE(all[5].period_ns == 15);
  REQUIRE(all[6].period_ns == -1);
  REQUIRE(all[2].step == 0);
  REQUIRE(all[4].step == 2);
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: paths beyond the 64th share a cell, by self time") {
  for (int step = 0; step < 2; ++step) {
    const Region batch = begin(kBatch);
    const Region outer = begin(kA);
    for (KeyIndex key = 10; key < 10 + 70; ++key) { region(key, 2); }
    pass(100);
    end(outer);
    end(batch);
  }
  for (const takt::Row& row : rows()) {
    REQUIRE(row.cells.size() == 65);
    REQUIRE(row.cells.back().path == Cell::kOther);
    REQUIRE(row.cells.back().calls == 7);
    REQUIRE(row.cells.back().host_ns == 14);
  }
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: durations that were recorded are in the shared cell with their time") {
  for (int step = 0; step < 2; ++step) {
    const Region batch = begin(kBatch);
    for (KeyIndex key = 10; key < 10 + 64; ++key) { region(key, 2); }
    recorder->add(100, 1000);  // beside regions
    const Region outer = begin(101);
    recorder->add(100, 200);  // inside of one
    pass(30);
    region(102, 5);  // counts once, though it lies in another
    end(outer);
    end(batch);
  }
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 2);
  for (const takt::Row& row : all) {
    REQUIRE(row.cells.size() == 65);
    REQUIRE(row.cells.back().path == Cell::kOther);
    REQUIRE(row.cells.back().calls == 4);
    REQUIRE(row.cells.back().host_ns == 1000 + 200 + 35);
  }
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: what ran in a step that was lost is in no row") {
  const auto step = [&] {
    const Region batch = begin(kBatch);
    region(kA, 10);
    pass(1);
    end(batch);
  };
  for (const bool first : {true, false}) {
    if (!first) { step(); }
    const Region lost = begin(kBatch);
    region(kA, 1000);
    recorder->amount(lost, Amount::items, 50);
    recorder->fold();
    recorder->leave_notice(region_id(lost), time.now_ns());  // ended on another thread
    recorder->fold();
    step();
    const std::vector<takt::Row> all = rows();
    REQUIRE(all.back().cells.size() == 1);
    REQUIRE(all.back().cells[0].calls == 1);
    REQUIRE(all.back().cells[0].host_ns == 10);
    REQUIRE(all.back().items == 0);
    REQUIRE(all.back().period_ns == -1);
    REQUIRE(all.back().step == (first ? 0 : 2));
  }
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: a Batch inside a Batch is a column, not a row") {
  const Region outer = begin(kBatch);
  region(kBatch, 10);
  region(kBatch, 20);
  end(outer);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 1);
  REQUIRE(cell(all[0], node({kBatch, kBatch}))->calls == 2);
  REQUIRE(cell(all[0], node({kBatch, kBatch}))->host_ns == 30);
}
