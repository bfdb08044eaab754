// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/step_series.hpp"

#include <takt/snapshot.hpp>

#include "support/catch.hpp"
#include "support/recorder_fixture.hpp"

#include <cstdint>
#include <vector>

using namespace takt::detail;
using takt::Cell;
using takt::Throughput;
using takt_test::RecorderFixture;

TEST_CASE_METHOD(RecorderFixture, "StepSeries: a row is the increase of each path in its step") {
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
  REQUIRE(all[0].period_ns == std::nullopt);
  REQUIRE(all[2].items == 3);
  REQUIRE(all[2].warmup);
  REQUIRE(all[2].cells.size() == 1);
  REQUIRE(cell(all[2], node({kBatch, kA}))->calls == 3);
  REQUIRE(cell(all[2], node({kBatch, kA}))->host_ns == 36);
  REQUIRE(all[1].cells.size() == 2);
  REQUIRE(cell(all[1], node({kBatch, kB}))->host_ns == 5);
}

TEST_CASE_METHOD(RecorderFixture,
                 "StepSeries: throughput excludes gaps that contain an Epoch boundary or another Batch path") {
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
    return static_cast<const StepSeries*>(batch->series)->throughput();
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
  REQUIRE(all[4].period_ns == std::nullopt);
  REQUIRE(all[5].period_ns == 15);
  REQUIRE(all[6].period_ns == std::nullopt);
  REQUIRE(all[2].step == 0);
  REQUIRE(all[4].step == 2);
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: throughput excludes a period with untimed steps") {
  recorder->tree().set_warmup(0);
  const auto step = [this] {
    region(kBatch, 10);
    pass(5);
  };
  step();
  step();
  recorder->skip(kBatch);
  pass(15);
  step();
  const Region batch = begin(kBatch);
  recorder->skip(kBatch);  // not a step, because it is inside one
  pass(10);
  end(batch);
  const Region validation = begin(kA);
  recorder->skip(kBatch);  // of another path
  pass(100);
  end(validation);
  step();
  step();
  const Throughput throughput = static_cast<const StepSeries*>(node({kBatch})->series)->throughput();
  REQUIRE(throughput.steps == 3);
  REQUIRE(throughput.period_ns == 15 + 15 + 15);
  REQUIRE(throughput.excluded_steps == 2);
  REQUIRE(throughput.excluded_ns == 30 + 110);
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
    REQUIRE(row.cells.back().path == takt::kNoIndex);
    REQUIRE(row.cells.back().calls == 7);
    REQUIRE(row.cells.back().host_ns == 14);
  }
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: the shared cell includes the time of recorded durations") {
  for (int step = 0; step < 2; ++step) {
    const Region batch = begin(kBatch);
    for (KeyIndex key = 10; key < 10 + 64; ++key) { region(key, 2); }
    recorder->add(100, 1000);  // next to regions
    const Region outer = begin(101);
    recorder->add(100, 200);  // inside a region
    pass(30);
    region(102, 5);  // nested, but counts once
    end(outer);
    end(batch);
  }
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 2);
  for (const takt::Row& row : all) {
    REQUIRE(row.cells.size() == 65);
    REQUIRE(row.cells.back().path == takt::kNoIndex);
    REQUIRE(row.cells.back().calls == 4);
    REQUIRE(row.cells.back().host_ns == 1000 + 200 + 35);
  }
}

TEST_CASE_METHOD(RecorderFixture, "StepSeries: regions in a lost step are in no row") {
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
    REQUIRE(all.back().period_ns == std::nullopt);
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
