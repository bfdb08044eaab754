// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/mlflow.hpp>
#include <takt/testing/exporter_conformance.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_mlflow.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using takt_test::FakeMlflow;

namespace {

/// Creates a server for each exporter.
struct MlflowDriver {
  std::unique_ptr<takt::Exporter> exporter() {
    away = false;
    server.emplace([this](std::size_t) { return away ? FakeMlflow::Mood::away : FakeMlflow::Mood::good; });
    takt::MlflowOptions options;
    options.tracking_uri = server->url();
    options.every_step = true;
    return std::make_unique<takt::MlflowExporter>(options);
  }
  static bool can_tell() { return true; }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    const auto runs = server->runs();
    if (runs.empty()) { return found; }
    const auto& history = runs.begin()->second.history;
    const auto of_batch = history.find("time/Batch/step_s");
    if (of_batch == history.end()) { return found; }
    for (const nlohmann::json& point : of_batch->second) { found.push_back(point["step"]); }
    return found;
  }
  static bool can_fail() { return true; }
  void fail(bool on) { away = on; }

  std::atomic<bool> away{false};
  std::optional<FakeMlflow> server;
};

}  // namespace

TEST_CASE("exporter conformance: the MLflow exporter conforms", "[timed]") {
  const support::CaughtErrors errors;
  MlflowDriver driver;
  CHECK(takt::check_exporter_conformance(driver) == std::vector<std::string>{});
}
