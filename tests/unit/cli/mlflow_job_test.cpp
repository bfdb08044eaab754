// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mlflow_destination.hpp"

#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_mlflow.hpp"
#include "support/mentions.hpp"
#include "support/rank_directories.hpp"
#include "support/sample_job.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::MlflowOptions;
using takt::Snapshot;
using takt::cli::MlflowDelivered;
using takt::cli::MlflowDelivery;
using takt::cli::Outcome;
using Mood = FakeMlflow::Mood;

namespace {

const char* const kBackward = "total/ranks/time/Batch/Backward/";
/// Checks that the text names the ranks, and says that 10 steps are fewer than the 30 needed to compare them.
bool reports_of_all_ranks(const std::string& text) {
  return text.rfind("4 of 4\n", 0) == 0 && mentions(text, {"10", "30"});
}

MlflowOptions mlflow_job_options_for(const FakeMlflow& server) {
  MlflowOptions options;
  options.tracking_uri = server.url();
  return options;
}

MlflowDelivered mlflow_job_sync(const RankDirectories& directories, const FakeMlflow& server,
                                milliseconds timeout = milliseconds(60'000)) {
  takt::detail::SenderTimes times;
  times.connect = times.total = milliseconds(20'000);
  times.first_wait = milliseconds(1);
  times.longest_wait = milliseconds(4);
  const auto of_call = std::make_shared<takt::cli::IdleTimeout>(timeout);
  return MlflowDelivery(directories.directory(0), mlflow_job_options_for(server), of_call, times).run();
}

/// Returns the values of a metric in order of arrival.
std::vector<double> values_of(const FakeRun& run, const std::string& name) {
  std::vector<double> values;
  const auto found = run.history.find(name);
  if (found == run.history.end()) { return values; }
  for (const nlohmann::json& each : found->second) { values.push_back(each["value"]); }
  return values;
}

/// Returns the value that the server shows: of the latest step, the latest time.
double latest_of(const FakeRun& run, const std::string& name) {
  const std::vector<nlohmann::json>& points = run.history.at(name);
  const auto when = [](const nlohmann::json& each) {
    return std::make_pair(each["step"].get<std::int64_t>(), each["timestamp"].get<std::int64_t>());
  };
  return (*std::max_element(points.begin(), points.end(),
                            [&](const auto& a, const auto& b) { return when(a) < when(b); }))["value"];
}

/// Ends rank 0 as the program's own exporter does, with figures from takt::mpi::reduce().
bool end_live(const RankDirectories& directories, const FakeMlflow& server, std::shared_ptr<const takt::Job> job) {
  takt::MlflowExporter exporter(mlflow_job_options_for(server));
  Snapshot snapshot = snapshot_of_rank(0, 4);
  snapshot.run.directory = directories.directory(0);
  snapshot.job = std::move(job);
  takt::StepHistory history;
  history.add(snapshot);
  takt::detail::conclude(snapshot, std::make_shared<const takt::StepHistory>(history.finished()));
  exporter.export_snapshot(snapshot);
  return exporter.shutdown(milliseconds(20'000));
}

}  // namespace

TEST_CASE("MLflow over ranks: takt sync sends the statistics over ranks once", "[timed]") {
  const support::CaughtErrors errors;
  const RankDirectories directories(4, 4);
  FakeMlflow server;
  const MlflowDelivered first = mlflow_job_sync(directories, server);
  CHECK(first.outcome == Outcome::all);
  CHECK(first.warning.empty());
  const FakeRun run = server.run();
  CHECK(values_of(run, kBackward + std::string("mean_s")) == std::vector<double>{11.5});
  CHECK(values_of(run, kBackward + std::string("min_s")) == std::vector<double>{10});
  CHECK(values_of(run, kBackward + std::string("max_s")) == std::vector<double>{13});
  CHECK(values_of(run, kBackward + std::string("slowest_rank")) == std::vector<double>{3});
  CHECK(values_of(run, kBackward + std::string("ranks")) == std::vector<double>{4});
  CHECK(values_of(run, "total/job/world_size") == std::vector<double>{4});
  CHECK(values_of(run, "total/job/missing_ranks") == std::vector<double>{0});
  CHECK(reports_of_all_ranks(run.tags.at("takt.ranks")));
  const MlflowDelivered second = mlflow_job_sync(directories, server);
  CHECK(second.outcome == Outcome::all);
  CHECK(second.points == 0);
  CHECK(server.run().points == run.points);
  CHECK(server.run().sent_twice == 0);
}

TEST_CASE("MLflow over ranks: takt sync does not repeat what rank 0 has sent for all ranks", "[timed]") {
  const RankDirectories directories(4, 4);
  FakeMlflow server;
  CHECK(end_live(directories, server, shared_job(4)));
  const FakeRun live = server.run();
  CHECK(values_of(live, "total/ranks/time/Batch/Forward/mean_s") == std::vector<double>{9});
  CHECK(live.tags.at("takt.ranks") == "4 of 4");
  const MlflowDelivered later = mlflow_job_sync(directories, server);
  CHECK(later.outcome == Outcome::all);
  CHECK(later.points == 0);
  CHECK(server.run().points == live.points);
  CHECK(mentions(live.tags.at("takt.findings"), {"90.0 s", "90 %"}));
  CHECK(server.run().tags.at("takt.findings") == live.tags.at("takt.findings"));
}

TEST_CASE("MLflow over ranks: directories are not needed for ranks that rank 0 has reported", "[timed]") {
  const RankDirectories directories(4, 2);
  FakeMlflow server;
  CHECK(end_live(directories, server, shared_job(4)));
  CHECK(mlflow_job_sync(directories, server).warning.empty());
}

TEST_CASE("MLflow over ranks: figures of as many or fewer ranks do not follow existing ones", "[timed]") {
  FakeMlflow server;
  takt::detail::MlflowClient client(mlflow_job_options_for(server));
  const auto take = [&](std::shared_ptr<const takt::Job> job) {
    Snapshot snapshot = snapshot_of_rank(0, 4);
    snapshot.job = std::move(job);
    client.take(snapshot);
    client.take_job(snapshot);
    CHECK(client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000)));
  };
  take(shared_job(3, {3}));
  const FakeRun before = server.run();
  take(shared_job(2, {2, 3}));
  take(std::make_shared<const takt::Job>(sample_job(3, {{"Other", 1}})));
  CHECK(server.run().points == before.points);
  CHECK(server.run().tags == before.tags);
}

TEST_CASE("MLflow over ranks: figures of more ranks follow as later points of the same metrics", "[timed]") {
  const RankDirectories directories(4, 4);
  FakeMlflow server;
  CHECK(end_live(directories, server, shared_job(3, {3})));
  CHECK(server.run().tags.at("takt.ranks") == "3 of 4; missing: 3");
  const MlflowDelivered later = mlflow_job_sync(directories, server);
  CHECK(later.points == 2 + 3 * 6);
  const FakeRun run = server.run();
  CHECK(latest_of(run, "total/ranks/time/Batch/ranks") == 4);
  CHECK(latest_of(run, "total/job/missing_ranks") == 0);
  CHECK(values_of(run, "total/job/missing_ranks").size() == 2);
  CHECK(reports_of_all_ranks(run.tags.at("takt.ranks")));
  CHECK(mlflow_job_sync(directories, server).points == 0);
  CHECK(server.run().points == run.points);
}

TEST_CASE("MLflow over ranks: waits for a rank that still runs", "[timed]") {
  RankDirectories directories(3, 2);
  directories.add(2, RankState::runs);
  FakeMlflow server;
  const MlflowDelivered first = mlflow_job_sync(directories, server);
  CHECK(first.outcome == Outcome::so_far);
  CHECK(contains(first.warning, "ranks: 2"));
  CHECK(server.run().status == "FINISHED");  // rank 0 has ended
  CHECK(server.run().history.count("total/job/world_size") == 0);
  directories.add(2);
  const MlflowDelivered second = mlflow_job_sync(directories, server);
  CHECK(second.outcome == Outcome::all);
  CHECK(second.points == 2 + 3 * 6);
  CHECK(mlflow_job_sync(directories, server).points == 0);
}

TEST_CASE("MLflow over ranks: a delivery stopped anywhere continues with each point once", "[timed]") {
  std::uint64_t were_there = 0;
  for (std::size_t away_from = 0; away_from < 8; ++away_from) {
    const RankDirectories directories(4, 4);
    std::atomic<bool> back{false};
    FakeMlflow server([&](std::size_t number) {
      if (back || number < away_from) { return Mood::good; }
      return number > away_from ? Mood::away : away_from % 2 == 0 ? Mood::deaf_reply : Mood::half;
    });
    mlflow_job_sync(directories, server, milliseconds(400));
    back = true;
    INFO("away from request " << away_from);
    const MlflowDelivered second = mlflow_job_sync(directories, server);
    CHECK(second.outcome == Outcome::all);
    were_there += second.was_there;
    const FakeRun run = server.run();
    CHECK(run.sent_twice == 0);
    CHECK(values_of(run, "total/job/world_size") == std::vector<double>{4});
    CHECK(values_of(run, kBackward + std::string("ranks")) == std::vector<double>{4});
  }
  CHECK(were_there > 0);
}

TEST_CASE("MLflow over ranks: partial figures of rank 0 are followed by complete ones from the files", "[timed]") {
  const support::CaughtErrors errors;
  const RankDirectories directories(4, 4);
  FakeMlflow server;
  server.fail_over([](const FakeRequest& request) { return contains(request.body, "Batch/Forward/max_s"); }, 500);
  CHECK_FALSE(end_live(directories, server, shared_job(4)));
  CHECK(server.run().history.count("total/job/world_size") == 1);
  CHECK(server.run().history.count("total/ranks/time/Batch/Forward/max_s") == 0);
  server.fail_over([](const FakeRequest&) { return false; });
  CHECK(mlflow_job_sync(directories, server).outcome == Outcome::all);
  const FakeRun run = server.run();
  CHECK(values_of(run, "total/job/world_size") == std::vector<double>{4, 4});
  CHECK(latest_of(run, "total/ranks/time/Batch/max_s") == 90);
  CHECK(latest_of(run, kBackward + std::string("max_s")) == 13);
  CHECK(mlflow_job_sync(directories, server).points == 0);
}

TEST_CASE("MLflow over ranks: continues with a cursor of an older version or with invalid numbers", "[timed]") {
  const RankDirectories directories(4, 4);
  FakeMlflow server;
  REQUIRE(mlflow_job_sync(directories, server).outcome == Outcome::all);
  const std::string file = takt::detail::kMlflow.cursor_file(directories.directory(0));
  nlohmann::json cursor = nlohmann::json::parse(read_text(file));
  REQUIRE(cursor["job_ranks"] == 4);
  SECTION("an older version") {
    for (const char* const name : {"job_ranks", "job_points", "job_hash", "job_time_ms"}) { cursor.erase(name); }
    cursor["settled"].erase("job");
    write_text(file, cursor.dump());
    const MlflowDelivered again = mlflow_job_sync(directories, server);
    CHECK(again.outcome == Outcome::all);
    CHECK(again.points == 0);
    CHECK(again.was_there == 2 + 3 * 6);
  }
  SECTION("impossible numbers") {
    cursor["job_ranks"] = 1;
    cursor["job_hash"] = -1;
    cursor["job_points"] = ~std::uint64_t{0};
    cursor["job_time_ms"] = std::numeric_limits<std::int64_t>::max();
    write_text(file, cursor.dump());
    CHECK(mlflow_job_sync(directories, server).outcome == Outcome::all);
  }
  CHECK(server.run().sent_twice == 0);
}
