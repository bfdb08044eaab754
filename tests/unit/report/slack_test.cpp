// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/slack.hpp>

#include "support/catch.hpp"
#include "support/step_builder.hpp"

#include <chrono>
#include <cmath>
#include <limits>

using takt::Slack;
using takt::SlackUse;
using takt_test::StepBuilder;

namespace {

constexpr std::int64_t kSlackMs = StepBuilder::kMs;

}  // namespace

TEST_CASE("Slack: computes coverage and exposed time over the cycles after warm-up") {
  StepBuilder builder;
  builder.warmup = 1;
  const std::uint32_t inference = builder.region("Inference");
  for (const std::int64_t ms : {500, 10, 30, 50, 70}) { builder.step(100 * kSlackMs, {{inference, ms * kSlackMs}}); }
  const Slack slack({"Inference", std::chrono::milliseconds(40)});
  Slack added = slack;
  CHECK(added.export_snapshot(builder.run) == takt::ExportResult::ok);
  CHECK(added.export_snapshot(builder.run) == takt::ExportResult::ok);  // shown again but counted once
  const SlackUse use = slack.use();
  CHECK(use.cycles == 4);
  CHECK(use.left_out == 1);
  CHECK(use.mean_ns == Approx(40 * kSlackMs));
  CHECK(use.stdev_ns == Approx(25.82 * kSlackMs).epsilon(1e-3));
  CHECK(use.coverage == Approx(1));
  CHECK(use.max_ns == 70 * kSlackMs);
  CHECK(use.exposed_cycles == 2);
  CHECK(use.exposed_ns == Approx(10 * kSlackMs));  // 10 and 30 ms in 4 cycles
}

TEST_CASE("Slack: calls at several paths of a step add up, and nested ones count once") {
  StepBuilder builder;
  builder.warmup = 0;
  const std::uint32_t inference = builder.region("Inference");
  const std::uint32_t inside = takt_test::add_path(builder.run, "Inference", inference);
  const std::uint32_t other = builder.region("Other");
  const std::uint32_t elsewhere = takt_test::add_path(builder.run, "Inference", other);
  builder.step(
      100 * kSlackMs,
      {{inference, 20 * kSlackMs}, {inside, 5 * kSlackMs}, {other, 50 * kSlackMs}, {elsewhere, 10 * kSlackMs}});
  builder.step(100 * kSlackMs, {{other, 50 * kSlackMs}});  // a cycle without it
  Slack slack({"Inference", std::chrono::milliseconds(60)});
  slack.export_snapshot(builder.run);
  CHECK(slack.use().cycles == 2);
  CHECK(slack.use().mean_ns == Approx(15 * kSlackMs));
}

TEST_CASE("Slack: with stream spans a cycle without one is excluded") {
  StepBuilder builder;
  builder.warmup = 0;
  const std::uint32_t inference = builder.region("Inference");
  builder.step(100 * kSlackMs, {{inference, 1 * kSlackMs}}).cells[0].device_ns = 60 * kSlackMs;
  builder.step(100 * kSlackMs, {{inference, 1 * kSlackMs}});
  Slack slack({"Inference", std::chrono::milliseconds(60), true});
  slack.export_snapshot(builder.run);
  CHECK(slack.use().cycles == 1);
  CHECK(slack.use().left_out == 1);
  CHECK(slack.use().coverage == Approx(1));
  CHECK(slack.use().exposed_cycles == 0);
}

TEST_CASE("Slack: computes the coverage per node from the items of the cycles and the simulation's nodes") {
  StepBuilder builder;
  builder.warmup = 1;
  const std::uint32_t inference = builder.region("Inference");
  for (const std::int64_t nodes : {7, 100, 300}) {
    builder.step(100 * kSlackMs, {{inference, nodes * kSlackMs / 10}}).items = nodes;
  }
  Slack slack({"Inference", std::chrono::milliseconds(80), false, false, 1600});
  Slack per_rank({"Inference", std::chrono::milliseconds(80), false, false, 1600 / 16.0});
  Slack unknown({"Inference", std::chrono::milliseconds(80)});
  for (Slack* each : {&slack, &per_rank, &unknown}) { each->export_snapshot(builder.run); }
  const SlackUse use = slack.use();
  CHECK(use.nodes == Approx(200));
  CHECK(use.node_ns == Approx(100'000));  // 10 and 30 ms for 100 and 300 nodes
  CHECK(use.node_budget_ns == Approx(50'000));
  CHECK(use.node_coverage == Approx(2));
  CHECK(per_rank.use().node_budget_ns == Approx(800'000));
  CHECK(per_rank.use().node_coverage == Approx(2 / 16.0));
  CHECK(unknown.use().node_ns == Approx(100'000));
  CHECK(unknown.use().node_budget_ns == 0);
  CHECK(unknown.use().node_coverage == 0);
}

TEST_CASE("Slack: the coverage per node is unknown without items") {
  StepBuilder builder;
  builder.warmup = 0;
  const std::uint32_t inference = builder.region("Inference");
  builder.step(100 * kSlackMs, {{inference, 20 * kSlackMs}}).items = 0;
  Slack slack({"Inference", std::chrono::milliseconds(40), false, false, 50});
  slack.export_snapshot(builder.run);
  CHECK(slack.use().coverage == Approx(0.5));
  CHECK(slack.use().nodes == 0);
  CHECK(slack.use().node_ns == 0);
  CHECK(slack.use().node_coverage == 0);
}

TEST_CASE("Slack: refuses impossible options and is zero without cycles") {
  CHECK_THROWS_AS(Slack({"", std::chrono::milliseconds(1)}), takt::Error);
  CHECK_THROWS_AS(Slack({"Inference", std::chrono::milliseconds(0)}), takt::Error);
  for (const double nodes : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    CHECK_THROWS_AS(Slack({"Inference", std::chrono::milliseconds(1), false, false, nodes}), takt::Error);
  }
  const Slack slack({"Inference", std::chrono::milliseconds(1)});
  CHECK(slack.use().cycles == 0);
  CHECK(slack.use().coverage == 0);
}
