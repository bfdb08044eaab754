// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Exporter settings survive a kill right after Session::add(), long before the first period.
#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>

#include "cli/wandb_destination.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/scratch.hpp"
#include "wandb/wandb_directory.hpp"

#ifdef HAS_MLFLOW
#include <takt/exporters/mlflow.hpp>

#include "cli/mlflow_destination.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "support/fake_mlflow.hpp"
#endif

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include <signal.h>
#include <unistd.h>

using namespace takt_test;
using std::chrono::milliseconds;

namespace {

/// Returns the directory of a run whose program is killed as soon as it has added `make()`.
template <class Make>
std::string killed_run(const Scratch& scratch, const Make& make) {
  support::Child child([&] {
    takt::SessionOptions options;
    options.directory = scratch.path("runs");
    options.table = false;
    options.period = std::chrono::milliseconds(3'600'000);
    takt::Session session("early", options);
    session.add(make());
    ::kill(::getpid(), SIGKILL);
    return std::string();
  });
  child.wait();
  std::string directory;
  for (const auto& each : std::filesystem::recursive_directory_iterator(scratch.path("runs"))) {
    if (each.path().filename().string().rfind("rank-", 0) == 0) { directory = each.path().string(); }
  }
  REQUIRE_FALSE(directory.empty());
  return directory;
}

}  // namespace

#ifdef HAS_MLFLOW
TEST_CASE("killed right after add(): takt sync creates the MLflow run that the exporter would have created") {
  const Scratch scratch;
  const std::string directory = killed_run(scratch, [] {
    takt::MlflowOptions options;
    options.tracking_uri = "http://127.0.0.1:1";
    options.experiment_name = "set in code";
    options.every_step = true;
    options.artifacts = false;
    return std::make_unique<takt::MlflowExporter>(options);
  });
  takt::detail::MlflowCursor cursor;
  REQUIRE(takt::detail::parse_cursor(read_text(takt::detail::kMlflow.cursor_file(directory)), cursor));
  CHECK(cursor.experiment_name == "set in code");
  CHECK(cursor.every_step);
  CHECK_FALSE(cursor.artifacts);
  CHECK_FALSE(cursor.nonce.empty());

  FakeMlflow server;
  takt::MlflowOptions options;
  options.tracking_uri = server.url();
  const takt::cli::MlflowDelivered delivered =
      takt::cli::MlflowDelivery(directory, options, std::make_shared<takt::cli::IdleTimeout>(milliseconds(60'000)))
          .run();
  CHECK(delivered.outcome == takt::cli::Outcome::all);
  CHECK(server.requests("experiments/get-by-name?experiment_name=set%20in%20code") == 1);
  REQUIRE(server.runs().size() == 1);
  CHECK(server.run().nonce == cursor.nonce);
  CHECK(server.run().status == "KILLED");
  CHECK(server.run().files.empty());
}
#endif

TEST_CASE("killed right after add(): takt sync continues the log that the exporter for W&B started") {
  const Scratch scratch;
  takt::WandbOptions given;
  given.mode = takt::WandbMode::offline;
  given.directory = scratch.path("");
  given.silent = true;
  given.project = "set-in-code";
  given.every_step = true;
  const std::string directory = killed_run(scratch, [&] { return std::make_unique<takt::WandbExporter>(given); });
  takt::detail::WandbCursor cursor;
  REQUIRE(takt::detail::parse_wandb_cursor(read_text(takt::detail::kWandb.cursor_file(directory)), cursor));
  CHECK(cursor.every_step);
  CHECK(cursor.records > 0);
  CHECK(contains(read_text(cursor.log), "set-in-code"));

  given.project.clear();
  given.every_step = false;
  const takt::cli::WandbDelivered delivered =
      takt::cli::WandbDelivery(directory, given, std::make_shared<takt::cli::IdleTimeout>(milliseconds(60'000))).run();
  CHECK(delivered.outcome == takt::cli::Outcome::written);
  REQUIRE(takt::detail::parse_wandb_cursor(read_text(takt::detail::kWandb.cursor_file(directory)), cursor));
  CHECK(cursor.ended);
  CHECK(cursor.every_step);
}
