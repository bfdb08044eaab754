// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_rows.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace takt::detail;

namespace {

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

struct WandbRowsRig {
  explicit WandbRowsRig(std::size_t max_bytes = 1000) : rows(kStart, max_bytes) {
    points.keep_nans();
    points.keep_names();
  }

  void metric(const std::string& name, double value, std::int64_t step, std::int64_t ms) {
    snapshot.metrics.push_back({sequence++, name, value, step, kStart + ms * 1'000'000});
  }

  /// Returns the new rows with their values by key.
  std::vector<std::map<std::string, std::string>> take() {
    std::vector<MetricPoint> made;
    points.take(snapshot, made);
    snapshot.metrics.clear();
    std::vector<std::map<std::string, std::string>> found;
    for (const WandbRows::Row& row : rows.take(made, points, epochs)) {
      found.emplace_back();
      for (const WandbItem& item : row.items) { found.back()[item.key] = item.json; }
      CHECK(found.back().size() == row.items.size());  // no duplicate keys
      CHECK(found.back()["_step"] == std::to_string(row.number));
    }
    return found;
  }

  takt::Snapshot snapshot;
  MetricPoints points{false};
  WandbEpochs epochs;
  WandbRows rows;
  std::uint64_t sequence = 0;
};

}  // namespace

TEST_CASE("W&B rows: data of a step is one row, with step, time and time since the start") {
  WandbRowsRig rig;
  rig.metric("loss", 0.5, 7, 1250);
  rig.metric("accuracy", 0.75, 7, 1500);
  rig.metric("loss", 0.25, 8, 2000);
  const auto rows = rig.take();
  REQUIRE(rows.size() == 2);
  const std::map<std::string, std::string> first = {
      {"loss", "0.5"},     {"accuracy", "0.75"},           {"takt/step", "7"},
      {"_runtime", "1.5"}, {"_timestamp", "1700000001.5"}, {"_step", "0"}};
  CHECK(rows[0] == first);
  CHECK(rows[1].at("takt/step") == "8");
  CHECK(rows[1].at("_step") == "1");
}

TEST_CASE("W&B rows: numbers increase across snapshots and if steps repeat or go back") {
  WandbRowsRig rig;
  rig.metric("loss", 1, 5, 10);
  CHECK(rig.take().size() == 1);
  rig.metric("loss", 2, 5, 20);
  rig.metric("loss", 3, 5, 30);
  rig.metric("loss", 4, 2, 40);
  const auto rows = rig.take();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("_step") == "1");
  CHECK(rows[2].at("_step") == "3");
  CHECK(rows[2].at("takt/step") == "2");
}

TEST_CASE("W&B rows: keep NaN and infinities, and have an epoch if there is one") {
  WandbRowsRig rig;
  rig.metric("a", std::numeric_limits<double>::quiet_NaN(), 0, 1);
  rig.metric("b", -std::numeric_limits<double>::infinity(), 0, 1);
  rig.snapshot.paths.resize(1);
  rig.snapshot.paths[0].name = "Epoch";
  for (int epoch = 0; epoch < 3; ++epoch) { rig.snapshot.paths[0].host.add(1); }
  rig.snapshot.run.start_unix_ns = kStart;
  rig.epochs.take(rig.snapshot);
  const auto rows = rig.take();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("a") == "NaN");
  CHECK(rows[0].at("b") == "-Infinity");
  CHECK(rows[0].at("takt/epoch") == "3");
}

TEST_CASE("W&B rows: replace reserved names and keep dots and slashes") {
  WandbRowsRig rig;
  for (const char* const name : {"_step", "_timestamp", "takt/step", "a.b", "x/y"}) { rig.metric(name, 42, 0, 1); }
  const auto rows = rig.take();
  REQUIRE(rows.size() == 1);
  for (const char* const name : {"user/_step", "user/_timestamp", "user/takt/step", "a.b", "x/y"}) {
    INFO(name);
    CHECK(rows[0].count(name) == 1);
  }
  CHECK(rows[0].at("_step") == "0");
}

TEST_CASE("W&B rows: a row too large for readers is split without losing data") {
  WandbRowsRig rig(1000);
  for (int number = 0; number < 50; ++number) { rig.metric(std::string(90, 'x') + std::to_string(number), 1, 4, 1); }
  std::size_t values = 0;
  const auto rows = rig.take();
  CHECK(rows.size() == 5);
  for (const auto& row : rows) {
    CHECK(row.at("takt/step") == "4");
    values += row.size() - 4;
  }
  CHECK(values == 50);
}

TEST_CASE("W&B rows: keep the program's names") {
  WandbRowsRig rig;
  const std::vector<std::string> names = {"val/mAP@0.5", "acc (%)", "\xCE\xBB", "a//b", "../x", std::string(300, 'x')};
  for (const std::string& name : names) { rig.metric(name, 1, 0, 1); }
  const auto rows = rig.take();
  REQUIRE(rows.size() == 1);
  for (const std::string& name : names) { CHECK(rows[0].count(name) == 1); }
}

TEST_CASE("W&B summary: has the newest value of each changed name") {
  WandbSummary summary;
  summary.add({0, {{"a", "1"}, {"b", "1"}}});
  summary.add({1, {{"a", "2"}}});
  const WandbItems changed = summary.changed();
  REQUIRE(changed.size() == 2);
  CHECK(changed[0].json == "2");
  summary.add({2, {{"b", "3"}}});
  CHECK(summary.changed().size() == 1);
  CHECK(summary.changed().empty());
}
