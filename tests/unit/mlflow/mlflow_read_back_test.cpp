// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_batches.hpp"

#include "mlflow/mlflow_client.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_mlflow.hpp"
#include "support/scratch.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::MlflowOptions;
using takt::Snapshot;
using takt::detail::MlflowClient;
using takt::detail::SenderTimes;
using Mood = FakeMlflow::Mood;

namespace {

SenderTimes mlflow_read_back_quick() {
  SenderTimes times;
  times.connect = times.total = milliseconds(20'000);
  times.first_wait = milliseconds(1);
  times.longest_wait = milliseconds(4);
  return times;
}

MlflowOptions mlflow_read_back_options_for(const FakeMlflow& server) {
  MlflowOptions options;
  options.tracking_uri = server.url();
  options.artifacts = false;
  return options;
}

/// Returns metrics at the given steps, alternately "up" and "other/way".
Snapshot with_steps(const std::vector<std::int64_t>& steps) {
  Snapshot snapshot;
  snapshot.run.name = "test";
  for (const std::int64_t step : steps) {
    takt::Metric metric;
    metric.sequence = snapshot.metrics.size();
    metric.name = metric.sequence % 2 == 0 ? "up" : "other/way";
    metric.step = step;
    metric.value = 1.0 / static_cast<double>(3 + step);
    metric.time_unix_ns = 1'700'000'000'000'000'000;
    snapshot.metrics.push_back(metric);
  }
  return snapshot;
}

std::vector<std::int64_t> rising(std::size_t count) {
  std::vector<std::int64_t> steps(count);
  for (std::size_t at = 0; at < count; ++at) { steps[at] = static_cast<std::int64_t>(at); }
  return steps;
}

/// Returns steps as from a program that restarts its count at 0.
std::vector<std::int64_t> back_and_forth(std::size_t count) {
  std::vector<std::int64_t> steps = rising(count);
  for (std::int64_t& each : steps) { each = each % 26 * 1000 + each; }
  return steps;
}

/// Delivers to a server that is in `mood` at its second request, the first one with points.
/// \param there_before number of points that the server took without confirmation.
void deliver_through(Mood mood, const std::vector<std::int64_t>& steps, std::size_t there_before,
                     std::size_t& histories) {
  FakeMlflow server([&](std::size_t number) { return number == 1 ? mood : Mood::good; });
  MlflowClient client(mlflow_read_back_options_for(server), mlflow_read_back_quick());
  client.take(with_steps(steps));
  REQUIRE(client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000)));
  CHECK(client.complete());
  CHECK(client.queue().taken() + client.queue().was_there() == steps.size());
  CHECK(client.queue().was_there() == there_before);
  CHECK(server.run().points.size() == steps.size());
  CHECK(server.run().sent_twice == 0);
  CHECK(server.requests("runs/get") == 1);
  histories = server.requests("get-history");
}

}  // namespace

TEST_CASE("MLflow read back: data that arrived before a lost reply is not sent again, in full or in part", "[timed]") {
  const Mood mood = GENERATE(Mood::deaf_reply, Mood::half, Mood::away);
  const std::size_t there = mood == Mood::deaf_reply ? 101 : mood == Mood::half ? 51 : 0;
  std::size_t histories = 0;
  deliver_through(mood, rising(101), there, histories);
  CHECK(histories == 0);  // the latest point of each key suffices
}

TEST_CASE("MLflow read back: reads histories page by page if steps do not increase", "[timed]") {
  const Mood mood = GENERATE(Mood::deaf_reply, Mood::half, Mood::away);
  const std::size_t there = mood == Mood::deaf_reply ? 101 : mood == Mood::half ? 51 : 0;
  std::size_t histories = 0;
  deliver_through(mood, back_and_forth(101), there, histories);
  CHECK((histories > 4) == (mood != Mood::away));
}

TEST_CASE("MLflow read back: repeats data and reports that if a server refuses the query", "[timed]") {
  const support::CaughtErrors errors;
  FakeMlflow server([](std::size_t number) { return number == 1 ? Mood::deaf_reply : Mood::good; });
  server.fail_over([](const FakeRequest& request) { return request.method == "GET"; }, 404);
  MlflowClient client(mlflow_read_back_options_for(server), mlflow_read_back_quick());
  client.take(with_steps(rising(10)));
  REQUIRE(client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000)));
  CHECK(server.run().sent_twice == 10);
  CHECK(contains(errors.text(), "which points it has"));
}

TEST_CASE("MLflow read back: repeats a failed query and sends nothing meanwhile", "[timed]") {
  int failures = 2;
  FakeMlflow server([](std::size_t number) { return number == 1 ? Mood::deaf_reply : Mood::good; });
  server.fail_over([&](const FakeRequest& request) { return request.method == "GET" && failures-- > 0; }, 503);
  MlflowClient client(mlflow_read_back_options_for(server), mlflow_read_back_quick());
  client.take(with_steps(rising(10)));
  REQUIRE(client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000)));
  CHECK(server.run().sent_twice == 0);
  CHECK(server.requests("log-batch") == 1);
  CHECK(server.requests("runs/get") == 3);
}

TEST_CASE("MLflow read back: recognizes infinities, NaN and numbers of every size") {
  takt::detail::MetricPoints names(false);
  names.keep_nans();
  Snapshot snapshot;
  const std::vector<double> values = {1.0 / 3, -0.0, 5e-324, 1e308, HUGE_VAL, -HUGE_VAL, NAN, HUGE_VAL};
  for (const double value : values) {
    takt::Metric metric;
    metric.sequence = snapshot.metrics.size();
    metric.name = "m" + std::to_string(metric.sequence);
    metric.value = value;
    snapshot.metrics.push_back(metric);
  }
  std::vector<takt::detail::MetricPoint> points;
  names.take(snapshot, points);
  takt::detail::MlflowReadBack asked;
  asked.begin(points, names, true);
  REQUIRE(asked.busy());
  CHECK_FALSE(asked.answered("<html>Log in first</html>"));
  CHECK(asked.busy());
  CHECK(asked.answered(
      R"({"run":{"data":{"metrics":[{"key":"m0","value":0.3333333333333333,"timestamp":0,"step":0},
          {"key":"m1","value":-0.0,"timestamp":0,"step":0},{"key":"m2","value":5e-324,"timestamp":0,"step":0},
          {"key":"m3","value":1e308,"timestamp":0,"step":0},{"key":"m4","value":"Infinity","timestamp":0,"step":0},
          {"key":"m5","value":"-Infinity","timestamp":0,"step":0},{"key":"m6","value":"NaN","timestamp":0,"step":0},
          {"key":"m7","value":1.7976931348623157e308,"timestamp":0,"step":0},{"key":"other","value":1,"timestamp":0,"step":0}]}}})"));
  CHECK_FALSE(asked.busy());
  CHECK(asked.there() == std::vector<bool>(values.size(), true));
}
