// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/slack.hpp>

#include "support/catch.hpp"
#include "support/step_builder.hpp"

#include <chrono>

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

TEST_CASE("Slack: refuses impossible options and is zero without cycles") {
  CHECK_THROWS_AS(Slack({"", std::chrono::milliseconds(1)}), takt::Error);
  CHECK_THROWS_AS(Slack({"Inference", std::chrono::milliseconds(0)}), takt::Error);
  const Slack slack({"Inference", std::chrono::milliseconds(1)});
  CHECK(slack.use().cycles == 0);
  CHECK(slack.use().coverage == 0);
}
