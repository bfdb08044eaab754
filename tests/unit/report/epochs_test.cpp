// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/epochs.hpp"

#include "support/catch.hpp"

#include "base/epoch_names.hpp"

#include <string>
#include <vector>

namespace {

using takt::Metric;
using takt::detail::EpochTable;

Metric metric(const std::string& name, double value, std::int64_t step = 7) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.step = step;
  metric.time_unix_ns = 1'700'000'000'000'000'000;
  return metric;
}

std::vector<Metric> end_of_epoch(double seconds) {
  return {metric(takt::detail::kEpochSteps, 10), metric(takt::detail::kEpochRate, 320 / seconds),
          metric(takt::detail::kEpochTime, seconds)};
}

}  // namespace

TEST_CASE("Epoch table: an Epoch has the last value of each metric since the Epoch before") {
  EpochTable table;
  CHECK(table.add({metric("loss", 3), metric("loss", 2)}) == 0);
  CHECK(table.add(end_of_epoch(2)) == 1);
  CHECK(table.add({metric(takt::detail::kEpochTime, 1, 20)}) == 1);
  REQUIRE(table.epochs().size() == 2);
  const takt::EpochStats& first = table.epochs()[0];
  CHECK(first.seconds == 2);
  CHECK(first.steps == 10);
  CHECK(first.samples_per_s == 160);
  CHECK(first.last_step == 7);
  CHECK(first.metrics == std::map<std::string, double>{{"loss", 2}});
  const takt::EpochStats& second = table.epochs()[1];
  CHECK_FALSE(second.steps);
  CHECK_FALSE(second.samples_per_s);
  CHECK(second.metrics.empty());
}

TEST_CASE("Epoch table: keeps 1 000 Epochs with 64 metrics each, and counts the others") {
  EpochTable table;
  for (int number = 0; number < 70; ++number) { table.add({metric("m" + std::to_string(number), number)}); }
  table.add({metric("m3", 4)});  // one that it has
  for (int number = 0; number < 1'003; ++number) { table.add(end_of_epoch(1)); }
  takt::Snapshot snapshot;
  table.fill(snapshot);
  CHECK(snapshot.epochs.size() == 1'000);
  CHECK(snapshot.epochs_left_out == 3);
  CHECK(snapshot.epochs[0].metrics.size() == 64);
  CHECK(snapshot.epochs[0].metrics.at("m3") == 4);
}

TEST_CASE("Epoch table: the text and the line of CSV of an Epoch") {
  EpochTable table;
  table.add({metric("loss", 0.3125), metric("a,b", 1)});
  table.add(end_of_epoch(2));
  table.add({metric(takt::detail::kEpochTime, 0.5, 9)});
  CHECK(takt::detail::epoch_text(table.epochs()[0], "tokens") == "2.00 s, 10 steps, 160 tokens/s, a,b 1, loss 0.3125");
  CHECK(takt::detail::epochs_csv(table.epochs()) ==
        "epoch,last_step,end_unix_ns,seconds,steps,samples_per_s,\"a,b\",loss\n"
        "0,7,1700000000000000000,2,10,160,1,0.3125\n"
        "1,9,1700000000000000000,0.5,,,,\n");
}
