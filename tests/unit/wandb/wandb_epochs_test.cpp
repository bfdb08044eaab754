// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_rows.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>

using takt::Snapshot;
using takt::detail::WandbEpochs;

namespace {

/// Steps of 100 ms in epochs, with validation as a separate Batch path.
struct EpochRig {
  EpochRig() {
    const std::uint32_t epoch = takt_test::add_path(snapshot, "Epoch");
    const std::uint32_t batch = takt_test::add_path(snapshot, "Batch", epoch);
    const std::uint32_t validation = takt_test::add_path(snapshot, "Validation", epoch);
    const std::uint32_t held_out = takt_test::add_path(snapshot, "Batch", validation);
    takt_test::add_series(snapshot, batch, 0);
    takt_test::add_series(snapshot, held_out, 0);
  }
  /// \param continues the previous period counts for throughput.
  void step(bool continues, std::uint32_t series = 0) {
    takt::Row row;
    row.series = series;
    row.begin_ns = now_ms * 1'000'000;
    row.host_ns = 100'000'000;
    row.period_ns = continues ? std::optional<std::int64_t>(100'000'000) : std::nullopt;
    snapshot.rows.push_back(row);
    now_ms += 100;
  }
  void end_epoch() { snapshot.paths[0].host.add(1); }
  void take() {
    snapshot.wall_ns = now_ms * 1'000'000;
    epochs.take(snapshot);
    snapshot.rows.clear();
  }

  Snapshot snapshot;
  WandbEpochs epochs;
  std::int64_t now_ms = 0;
};

}  // namespace

TEST_CASE("W&B epochs: a run without Epochs has none") {
  WandbEpochs epochs;
  epochs.take(Snapshot());
  CHECK(epochs.ended_at(1) == -1);
}

TEST_CASE("W&B epochs: several that end in one period end at their own places") {
  EpochRig rig;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int step = 0; step < 4; ++step) { rig.step(step != 0); }
    rig.end_epoch();
  }
  rig.take();
  CHECK(rig.epochs.ended_at(0) == 0);
  CHECK(rig.epochs.ended_at(399) == 0);
  CHECK(rig.epochs.ended_at(400) == 1);
  CHECK(rig.epochs.ended_at(799) == 1);
  CHECK(rig.epochs.ended_at(800) == 2);
  CHECK(rig.epochs.ended_at(1199) == 2);
  CHECK(rig.epochs.ended_at(1200) == 3);
}

TEST_CASE("W&B epochs: counts each end once, wherever the period ends") {
  EpochRig rig;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int step = 0; step < 3; ++step) {
      rig.step(step != 0);
      if (step != 1) { rig.take(); }
    }
    rig.end_epoch();
    if (epoch % 2 == 0) { rig.take(); }
  }
  rig.take();
  for (int epoch = 0; epoch < 5; ++epoch) {
    CHECK(rig.epochs.ended_at(300 * epoch + 50) == epoch);
    CHECK(rig.epochs.ended_at(300 * epoch + 250) == epoch);
  }
  CHECK(rig.epochs.ended_at(1500) == 5);
}

TEST_CASE("W&B epochs: validation in the middle of an epoch does not end it") {
  EpochRig rig;
  rig.step(false);
  rig.step(true);
  rig.step(false, 1);
  rig.step(false);  // the same epoch
  rig.take();
  CHECK(rig.epochs.ended_at(350) == 0);
  rig.step(false, 1);
  rig.end_epoch();
  rig.step(false);
  rig.take();
  CHECK(rig.epochs.ended_at(450) == 0);
  CHECK(rig.epochs.ended_at(550) == 1);
}

TEST_CASE("W&B epochs: steps with late device values belong to their own epoch") {
  EpochRig rig;
  rig.step(false);
  rig.step(true);
  rig.end_epoch();
  rig.now_ms = 1000;
  rig.snapshot.rows.clear();
  rig.take();  // the end is known before the steps
  rig.now_ms = 0;
  rig.step(false);
  rig.step(true);
  rig.step(false);
  rig.now_ms = 1100;
  rig.take();
  CHECK(rig.epochs.ended_at(100) == 0);
  CHECK(rig.epochs.ended_at(1100) == 1);
}

TEST_CASE("W&B epochs: thousands take no more memory than the last thousand") {
  EpochRig rig;
  for (int epoch = 0; epoch < 5000; ++epoch) {
    rig.step(false);
    rig.end_epoch();
  }
  rig.take();
  CHECK(rig.epochs.ended_at(499'950) == 4999);
  CHECK(rig.epochs.ended_at(450'050) == 4500);
}
