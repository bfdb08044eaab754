// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_client.hpp"

#include <takt/error.hpp>
#include <takt/exporters/mlflow.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_http.hpp"
#include "support/mentions.hpp"
#include "support/patience.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/stolen_descriptors.hpp"
#include "trackers/backoff.hpp"
#include "trackers/tracker_names.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

using takt::MlflowOptions;
using takt::Snapshot;
using takt::detail::MlflowClient;
using takt::detail::SenderTimes;
using namespace takt_test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

const std::string kRun = R"({"run":{"info":{"run_id":"r1","artifact_uri":"mlflow-artifacts:/0/r1/artifacts"}}})";

SenderTimes mlflow_client_quick() {
  SenderTimes times;
  times.connect = times.total = milliseconds(20'000);
  times.first_wait = milliseconds(2);
  times.longest_wait = milliseconds(8);
  times.longest_retry_after = milliseconds(150);
  return times;
}

MlflowOptions options_for(const FakeHttp& server) {
  MlflowOptions options;
  options.tracking_uri = server.url();
  options.token = "s3cr3t-token";
  options.artifacts = false;
  return options;
}

bool is(const FakeRequest& request, const char* endpoint) { return contains(request.path, endpoint); }

FakeAnswer failing(int status, const std::string& message = "no") {
  FakeAnswer answer;
  answer.status = status;
  answer.body = R"({"error_code":"X","message":")" + message + "\"}";
  return answer;
}

/// Returns a page as from a proxy.
FakeAnswer page(int status) {
  FakeAnswer answer = failing(status);
  answer.body = "<html>Not here</html>";
  return answer;
}

FakeAnswer usual(const FakeRequest& request) {
  FakeAnswer answer;
  if (is(request, "runs/create")) { answer.body = kRun; }
  return answer;
}

/// Returns `count` metrics named loss.
Snapshot mlflow_client_with_metrics(std::int64_t count) {
  Snapshot snapshot;
  snapshot.run.name = "test";
  for (std::int64_t step = 0; step < count; ++step) {
    takt::Metric metric;
    metric.sequence = static_cast<std::uint64_t>(step);
    metric.name = "loss";
    metric.value = 0.5 * static_cast<double>(step);
    metric.step = step;
    metric.time_unix_ns = 1'700'000'000'000'000'000 + step;
    snapshot.metrics.push_back(metric);
  }
  return snapshot;
}

/// Returns the number of code points.
std::size_t points_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char each) { return (static_cast<unsigned char>(each) & 0xC0U) != 0x80U; }));
}

bool mlflow_client_deliver(MlflowClient& client, int ms = 60'000) {
  return client.deliver(steady_clock::now() + milliseconds(ms));
}

std::vector<FakeRequest> of(const FakeHttp& server, const char* endpoint) {
  std::vector<FakeRequest> found;
  for (const FakeRequest& request : server.requests()) {
    if (is(request, endpoint)) { found.push_back(request); }
  }
  return found;
}

/// A port that accepts no connections and whose backlog is full.
class FullBacklog {
 public:
  FullBacklog() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    for (int& each : sockets_) { each = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
    ::bind(sockets_[0], plain, size);
    ::listen(sockets_[0], 0);
    ::getsockname(sockets_[0], plain, &size);
    port_ = ntohs(address.sin_port);
    for (std::size_t at = 1; at < sockets_.size(); ++at) { ::connect(sockets_[at], plain, size); }
  }
  ~FullBacklog() {
    for (const int each : sockets_) { ::close(each); }
  }
  FullBacklog(const FullBacklog&) = delete;
  FullBacklog& operator=(const FullBacklog&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  std::array<int, 5> sockets_{};
  int port_ = 0;
};

/// Returns the message for a server that answers every request like this.
std::string mlflow_client_reported_for(const FakeAnswer& answer) {
  const support::CaughtErrors errors;
  FakeHttp server([&](const FakeRequest&) { return answer; });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(3));
  CHECK(takt_test::until([&] { return !errors.lines().empty(); },
                         [&] { CHECK_FALSE(mlflow_client_deliver(client, 100)); }));
  CHECK_FALSE(contains(errors.text(), "s3cr3t"));
  return errors.text() + (client.stopped() ? "STOPPED" : "");
}

}  // namespace

TEST_CASE("MLflow client: sends parameters, tags and points in separate requests within the limits", "[timed]") {
  FakeHttp server(usual);
  MlflowClient client(options_for(server), mlflow_client_quick());
  Snapshot snapshot = mlflow_client_with_metrics(2501);
  for (int number = 0; number < 101; ++number) { snapshot.params[std::to_string(number)] = "x"; }
  snapshot.tags["purpose"] = "bad \xFF UTF-8";
  client.take(snapshot);
  REQUIRE(mlflow_client_deliver(client));
  CHECK(client.complete());
  std::vector<std::size_t> sizes;
  for (const FakeRequest& request : of(server, "log-batch")) {
    const auto body = nlohmann::json::parse(request.body);
    CHECK(body.size() == 2);
    CHECK(body["run_id"] == "r1");
    for (const char* const kind : {"params", "tags", "metrics"}) {
      if (body.contains(kind)) { sizes.push_back(body[kind].size()); }
    }
    CHECK(contains(request.headers, "authorization: Bearer s3cr3t-token"));
    CHECK(contains(request.headers, "content-type: application/json"));
  }
  CHECK(sizes == std::vector<std::size_t>{100, 1, 1, 1000, 1000, 501});
  CHECK(client.queue().settled(takt::detail::MetricPoint::Source::metric) == 2501);
  const auto point = nlohmann::json::parse(of(server, "log-batch").back().body)["metrics"][500];
  CHECK(point["step"].is_number_integer());
  CHECK(point["timestamp"] == 1'700'000'000'000);
  CHECK(point["value"] == 1250.0);
}

TEST_CASE("MLflow client: repeats the same bytes after a temporary error", "[timed]") {
  const int status = GENERATE(0, 408, 409, 423, 425, 429, 499, 500, 502, 503, 504);
  int bad = 2;
  FakeHttp server([&](const FakeRequest& request) {
    if (!is(request, "log-batch") || bad-- <= 0) { return usual(request); }
    FakeAnswer answer = failing(status);
    answer.cut = status == 0;
    return answer;
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(5));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(client.complete());
  const auto batches = of(server, "log-batch");
  REQUIRE(batches.size() == 3);
  CHECK(batches[0].body == batches[1].body);
  CHECK(batches[0].body == batches[2].body);
}

TEST_CASE("MLflow client: a page instead of JSON is not an answer", "[timed]") {
  bool bad = true;
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    if (is(request, "log-batch") && std::exchange(bad, false)) { answer.body = "<html>Log in first</html>"; }
    return answer;
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(5));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(of(server, "log-batch").size() == 2);
}

TEST_CASE("MLflow client: stops sending a request after a server fails on it three times, and on parts of it",
          "[timed]") {
  FakeHttp server([](const FakeRequest& request) { return is(request, "log-batch") ? failing(500) : usual(request); });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(5));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(of(server, "log-batch").size() == 5);  // the last one for a single point, with the same metric as the others
  CHECK(client.queue().left_out() == 0);
  CHECK(client.queue().lost() == 5);
  CHECK(client.queue().settled() == 0);  // the next delivery sends it
  CHECK(client.owed() == 5);
  CHECK_FALSE(client.complete());
}

TEST_CASE("MLflow client: waits for Retry-After up to a limit and ignores invalid values", "[timed]") {
  const auto [header, min_ms] = GENERATE(table<std::string, int>(
      {{"1", 140}, {"99999999999", 140}, {"Fri, 31 Dec 9999 23:59:59 GMT", 140}, {"soon", 0}, {"-5", 0}, {"", 0}}));
  bool bad = true;
  FakeHttp server([&, text = header](const FakeRequest& request) {
    if (!is(request, "log-batch") || !std::exchange(bad, false)) { return usual(request); }
    FakeAnswer answer = failing(429);
    answer.headers = "Retry-After: " + text + "\r\n";
    return answer;
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(5));
  REQUIRE(mlflow_client_deliver(client));
  const auto batches = of(server, "log-batch");
  REQUIRE(batches.size() == 2);
  const auto waited = batches[1].at - batches[0].at;
  INFO(header);
  CHECK(waited >= milliseconds(min_ms));
  CHECK(waited < milliseconds(20'000));  // the machine may be busy
}

TEST_CASE("MLflow client: by default a server has 5 s to connect, 30 s to answer, and 5 minutes for Retry-After") {
  const SenderTimes times;
  CHECK(times.connect == std::chrono::seconds(5));
  CHECK(times.total == std::chrono::seconds(30));
  CHECK(times.first_wait == std::chrono::seconds(1));
  CHECK(times.longest_wait == std::chrono::minutes(1));
  const takt::detail::HttpOptions http;
  CHECK(http.connect == times.connect);
  CHECK(http.total == times.total);
  takt::detail::HttpReply reply;
  reply.status = 429;
  reply.retry_after_s = 86'400;
  CHECK(takt::detail::Backoff(times).wait(reply) == std::chrono::minutes(5));
}

TEST_CASE("MLflow client: searches for a run whose creation was not answered before creating another", "[timed]") {
  const bool stored = GENERATE(true, false);
  std::string nonce;
  bool first = true;
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    if (is(request, "runs/create") && std::exchange(first, false)) {
      const auto body = nlohmann::json::parse(request.body);
      for (const auto& tag : body["tags"]) {
        if (tag["key"] == "takt.create_nonce") { nonce = tag["value"]; }
      }
      answer.cut = true;
    }
    if (is(request, "runs/search")) {
      const bool asked = contains(request.body, "tags.`takt.create_nonce` = '" + nonce + "'");
      answer.body = asked && stored ? R"({"runs":[{"info":{"run_id":"found"}}]})" : "{}";
    }
    return answer;
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(of(server, "runs/create").size() == (stored ? 1 : 2));
  CHECK(client.run_id() == (stored ? "found" : "r1"));
}

TEST_CASE("MLflow client: finds and excludes a refused point, and the others arrive", "[timed]") {
  std::size_t taken = 0;
  FakeHttp server([&](const FakeRequest& request) {
    if (!is(request, "log-batch")) { return usual(request); }
    if (contains(request.body, "\"step\":777,")) { return failing(400, "bad value"); }
    taken += nlohmann::json::parse(request.body)["metrics"].size();
    return usual(request);
  });
  const support::CaughtErrors errors;
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1000));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(taken == 999);
  CHECK(client.queue().left_out() == 1);
  CHECK(of(server, "log-batch").size() < 30);
  CHECK(mentions(errors.text(), {"a value of \"loss\"", "bad value"}));
}

TEST_CASE("MLflow client: a refusal not from MLflow settles no value and stops the run", "[timed]") {
  const FakeAnswer answer = GENERATE(failing(402), failing(407), failing(451), failing(505), page(400), page(422));
  FakeHttp server([&](const FakeRequest& request) { return is(request, "log-batch") ? answer : usual(request); });
  const support::CaughtErrors errors;
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(80));
  CHECK_FALSE(mlflow_client_deliver(client));
  CHECK(client.stopped());
  CHECK(of(server, "log-batch").size() == 1);
  CHECK(client.queue().settled() == 0);  // the next delivery sends it
  CHECK(client.queue().left_out() == 0);
  CHECK(contains(errors.text(), "HTTP " + std::to_string(answer.status)));
}

TEST_CASE("MLflow client: splits a request too large for a proxy without dropping values", "[timed]") {
  const std::size_t max = GENERATE(std::size_t{2000}, std::size_t{10});
  FakeHttp server([&](const FakeRequest& request) {
    return is(request, "log-batch") && request.body.size() > max ? page(413) : usual(request);
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(80));
  CHECK(mlflow_client_deliver(client) == (max == 2000));
  CHECK(client.stopped() == (max == 10));
  CHECK(client.queue().left_out() == 0);
  CHECK(client.queue().settled() == (max == 10 ? 0 : 80));
}

TEST_CASE("MLflow client: leaves a file refused by a proxy to the next delivery", "[timed]") {
  const bool by_mlflow = GENERATE(true, false);
  FakeHttp server([&](const FakeRequest& request) {
    return request.method != "PUT" ? usual(request) : by_mlflow ? failing(400) : page(403);
  });
  const support::CaughtErrors errors;
  MlflowOptions options = options_for(server);
  options.artifacts = true;
  MlflowClient client(options, mlflow_client_quick());
  client.take(sample_snapshot());
  REQUIRE(mlflow_client_deliver(client));
  CHECK_FALSE(client.complete());
  CHECK(client.owed() == (by_mlflow ? 0 : 2));  // summary.json and table.txt
  CHECK(contains(errors.text(), "MLflow did not take summary.json"));
}

TEST_CASE("MLflow client: names each refused parameter and tag", "[timed]") {
  FakeHttp server([&](const FakeRequest& request) {
    const bool bad = contains(request.body, "\"bad ");
    return bad && is(request, "log-batch") ? failing(400, "no") : usual(request);
  });
  const support::CaughtErrors errors;
  Snapshot snapshot = mlflow_client_with_metrics(1);
  snapshot.params = {{"bad one", "1"}, {"batch", "2"}, {"bad two", "3"}};
  snapshot.tags = {{"bad tag", "1"}};
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(snapshot);
  REQUIRE(mlflow_client_deliver(client));
  CHECK(client.queue().left_out() == 3);
  for (const char* const what : {"the parameter \"bad one\"", "the parameter \"bad two\"", "the tag \"bad tag\""}) {
    CHECK(contains(errors.text(), what));
  }
}

TEST_CASE("MLflow client: the connect timeout is that of TAKT_CONNECT_MS", "[timed]") {
  const support::CaughtErrors errors;
  const FullBacklog full;
  MlflowOptions options;
  options.tracking_uri = full.url();
  {
    const support::ScopedEnvironment variables = {{"TAKT_CONNECT_MS", "soon"}};
    MlflowClient client(options, mlflow_client_quick());
    CHECK(mentions(errors.text(), {"TAKT_CONNECT_MS=soon", "from 1 to 600000; using 20000"}));
  }
  const support::ScopedEnvironment variables = {{"TAKT_CONNECT_MS", "200"}};
  MlflowClient client(options, mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  CHECK_FALSE(mlflow_client_deliver(client, 2000));
  CHECK(contains(errors.text(), "no connection within 200 ms"));
}

TEST_CASE("MLflow client: stops after fifty consecutive refused points, not after forty-nine", "[timed]") {
  const int bad = GENERATE(49, 50);
  const support::CaughtErrors errors;
  std::size_t taken = 0;
  FakeHttp server([&](const FakeRequest& request) {
    if (!is(request, "log-batch")) { return usual(request); }
    const auto metrics = nlohmann::json::parse(request.body)["metrics"];
    if (metrics.front()["step"] < bad) { return failing(400, "bad value"); }
    taken += metrics.size();
    return usual(request);
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(80));
  CHECK(mlflow_client_deliver(client) == (bad == 49));
  CHECK(client.stopped() == (bad == 50));
  CHECK(client.queue().left_out() == static_cast<std::uint64_t>(bad));
  CHECK(taken == (bad == 49 ? 31 : 0));
  CHECK(contains(errors.text(), "it rejects every value: ") == (bad == 50));
}

TEST_CASE("MLflow client: a permanent error stops it with one line that names the remedy", "[timed]") {
  CHECK(mentions(mlflow_client_reported_for(failing(401)),
                 {"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN"}));
  CHECK(mentions(mlflow_client_reported_for(failing(403, "Invalid Host header")), {"Invalid Host header"}));
  CHECK(contains(mlflow_client_reported_for(failing(403)), "--allowed-hosts"));
  CHECK(mentions(mlflow_client_reported_for(failing(404)), {"MLFLOW_TRACKING_URI"}));
  CHECK(contains(mlflow_client_reported_for(failing(401)), "STOPPED"));
  CHECK_FALSE(contains(mlflow_client_reported_for(failing(503, "wait for s3cr3t-token")), "STOPPED"));
  mlflow_client_reported_for(failing(503, std::string(292, 'x') + "s3cr3t-token"));  // longer than the part shown
}

TEST_CASE("MLflow client: a run deleted on the server stops it at once, instead of at every value", "[timed]") {
  const std::string says = GENERATE("The run r1 must be in the 'active' state. Current state is deleted.",
                                    "The run r1 must be in 'active' lifecycle_stage.");  // without a database
  const support::CaughtErrors errors;
  FakeHttp server(
      [&](const FakeRequest& request) { return is(request, "runs/create") ? usual(request) : failing(400, says); });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(100));
  CHECK_FALSE(mlflow_client_deliver(client));
  CHECK(client.stopped());
  CHECK(client.queue().left_out() == 0);
  CHECK(of(server, "log-batch").size() == 1);
  CHECK(contains(errors.text(), "mlflow runs restore --run-id r1"));
}

TEST_CASE("MLflow client: connects to a server on this machine without a proxy", "[timed]") {
  support::ScopedEnvironment environment({{"http_proxy", "http://127.0.0.1:1"}});
  environment.unset("no_proxy");
  environment.unset("NO_PROXY");
  FakeHttp server(usual);
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  CHECK(mlflow_client_deliver(client));
  CHECK(takt::detail::is_on_this_machine("http://[::1]:5000/path"));
  CHECK_FALSE(takt::detail::is_on_this_machine("http://127.example.org"));
}

TEST_CASE("MLflow client: masks a secret that looks like the mask only once") {
  takt::detail::HttpOptions options;
  options.token = "*";
  options.password = "***";
  CHECK(takt::detail::without_secrets("a * b", options) == "a *** b");
}

TEST_CASE("MLflow client: does not follow a redirect to another host", "[timed]") {
  FakeHttp other(usual);
  FakeAnswer answer = failing(307);
  answer.headers = "Location: " + other.url() + "/elsewhere?token=x\r\n";
  const std::string reported = mlflow_client_reported_for(answer);
  CHECK(mentions(reported, {"MLFLOW_TRACKING_URI", other.url() + "/elsewhere"}));
  CHECK_FALSE(contains(reported, "token=x"));
  CHECK(other.requests().empty());
}

TEST_CASE("MLflow client: cuts off an endless reply", "[timed]") {
  FakeAnswer answer;
  answer.endless = 1'000'000'000;
  FakeHttp server([&](const FakeRequest&) { return answer; });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  CHECK_FALSE(client.deliver(steady_clock::now() + milliseconds(20)));
  CHECK(server.endless_sent() < 100'000'000);
}

TEST_CASE("MLflow client: a missing or silent server costs no more than the timeout", "[timed]") {
  const auto [kind, says] = GENERATE(table<std::string, std::string>({{"closed", "onnect"},
                                                                      {"full", "no connection within 300 ms"},
                                                                      {"silent", "no reply within 300 ms"},
                                                                      {"slow", "no reply within 300 ms"}}));
  const support::CaughtErrors errors;
  FakeAnswer answer;
  answer.silent = kind == "silent";
  answer.slow = kind == "slow";
  FakeHttp server([&, given = answer](const FakeRequest&) { return given; });
  const FullBacklog full;
  MlflowOptions options = options_for(server);
  if (kind == "closed") { options.tracking_uri = "http://127.0.0.1:1"; }
  if (kind == "full") { options.tracking_uri = full.url(); }
  SenderTimes times = mlflow_client_quick();
  times.connect = times.total = milliseconds(300);
  MlflowClient client(options, times);
  client.take(mlflow_client_with_metrics(3));
  const auto begin = steady_clock::now();
  CHECK_FALSE(mlflow_client_deliver(client, 700));
  CHECK(steady_clock::now() - begin < milliseconds(15'000));  // the machine may be busy
  CHECK(takt_test::until([&] { return !errors.lines().empty(); },
                         [&] { CHECK_FALSE(mlflow_client_deliver(client, 700)); }));
  CHECK(client.queue().points() == 3);
  INFO(kind << ": " << errors.text());
  CHECK(contains(errors.text(), says));
  CHECK(errors.lines().size() == 1);
}

TEST_CASE("MLflow client: creates a missing experiment and reports a deleted one", "[timed]") {
  int made = 0;
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    if (is(request, "get-by-name") && made < 2) {
      answer = failing(404);
      answer.body = R"({"error_code":"RESOURCE_DOES_NOT_EXIST"})";
    } else if (is(request, "get-by-name")) {
      answer.body = R"({"experiment":{"experiment_id":"7","lifecycle_stage":"active"}})";
    }
    if (is(request, "experiments/create")) {
      answer = failing(400);
      answer.body = R"({"error_code":"RESOURCE_ALREADY_EXISTS"})";  // another rank was faster
      made = 2;
    }
    return answer;
  });
  MlflowOptions options = options_for(server);
  options.experiment_name = "a b/c";
  MlflowClient client(options, mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(contains(server.requests()[0].path, "experiment_name=a%20b%2Fc"));
  CHECK(nlohmann::json::parse(of(server, "runs/create")[0].body)["experiment_id"] == "7");

  const support::CaughtErrors errors;
  FakeHttp second([](const FakeRequest&) {
    FakeAnswer answer;
    answer.body = R"({"experiment":{"experiment_id":"7","lifecycle_stage":"deleted"}})";
    return answer;
  });
  options.tracking_uri = second.url();
  MlflowClient late(options, mlflow_client_quick());
  late.take(mlflow_client_with_metrics(1));
  CHECK_FALSE(mlflow_client_deliver(late));
  CHECK(contains(errors.text(), "mlflow experiments restore -x 7"));
}

TEST_CASE("MLflow client: if name and id are of two experiments, uses that of the name and reports it", "[timed]") {
  const support::CaughtErrors errors;
  const bool exists = GENERATE(true, false);
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    if (is(request, "get-by-name")) {
      answer.body = R"({"experiment":{"experiment_id":"7","lifecycle_stage":"active"}})";
      if (!exists) {
        answer = failing(404);
        answer.body = R"({"error_code":"RESOURCE_DOES_NOT_EXIST"})";
      }
    }
    if (is(request, "experiments/create")) { answer.body = R"({"experiment_id":"7"})"; }
    return answer;
  });
  MlflowOptions options = options_for(server);
  options.experiment_name = "mine";
  const auto reported = [&](const char* id) {
    options.experiment_id = id;
    const std::size_t before = errors.lines().size();
    MlflowClient client(options, mlflow_client_quick());
    client.take(mlflow_client_with_metrics(1));
    REQUIRE(mlflow_client_deliver(client));
    CHECK(nlohmann::json::parse(of(server, "runs/create").back().body)["experiment_id"] == "7");
    return errors.lines().size() - before;
  };
  CHECK(reported("7") == 0);
  CHECK(reported("") == 0);
  CHECK(reported("8") == 1);
  CHECK(mentions(errors.text(), {"MLFLOW_EXPERIMENT_ID", "8", "\"mine\"", "MLFLOW_EXPERIMENT_NAME", "7"}));
}

TEST_CASE("MLflow client: reports a deleted experiment selected by id, with the remedy", "[timed]") {
  const bool database = GENERATE(true, false);
  const support::CaughtErrors errors;
  FakeHttp server([&](const FakeRequest&) {
    return database ? failing(400, "The experiment 7 must be in the 'active' state. Current state is deleted.")
                    : failing(500, "Could not create run under non-active experiment with ID 7.");
  });
  MlflowOptions options = options_for(server);
  options.experiment_id = "7";
  MlflowClient client(options, mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  CHECK_FALSE(mlflow_client_deliver(client));
  CHECK(client.stopped());
  CHECK(server.requests().size() == 1);
  CHECK(mentions(errors.text(), {"MLFLOW_EXPERIMENT_ID", "mlflow experiments restore -x 7"}));
}

TEST_CASE("MLflow client: for a run started in a deleted experiment it says how to start again in another one",
          "[timed]") {
  const support::CaughtErrors errors;
  FakeHttp server([&](const FakeRequest&) {
    FakeAnswer answer;
    answer.body = R"({"experiment":{"experiment_id":"7","lifecycle_stage":"deleted"}})";
    return answer;
  });
  const Scratch scratch;
  const std::string file = scratch.path("mlflow.json");
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.keep_cursor(file);
  takt::detail::MlflowCursor cursor;
  cursor.experiment_name = "mine";
  client.resume(cursor);
  client.take(mlflow_client_with_metrics(1));
  CHECK_FALSE(mlflow_client_deliver(client));
  CHECK(mentions(errors.text(), {"MLFLOW_EXPERIMENT_NAME"}));
  CHECK_FALSE(contains(errors.text(), "remove"));
}

TEST_CASE("MLflow client: if no run was created, the current variables replace refused values", "[timed]") {
  const support::CaughtErrors errors;
  const std::string wrong = GENERATE("id", "name", "run", "run for an experiment");
  INFO(wrong);
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    const bool creates = is(request, "runs/create") && contains(request.body, "\"wrong\"");
    if (creates || contains(request.path, "run_id=wrong")) { answer = failing(404, "not there"); }
    if (is(request, "get-by-name")) {
      answer.body = R"({"experiment":{"experiment_id":"7","lifecycle_stage":"deleted"}})";
    }
    if (is(request, "runs/get")) { answer.body = answer.status == 200 ? kRun : answer.body; }
    return answer;
  });
  takt::detail::MlflowCursor cursor;
  (wrong == "id" ? cursor.experiment_id : wrong == "name" ? cursor.experiment_name : cursor.joined_run) = "wrong";
  MlflowOptions options = options_for(server);
  (wrong == "run" ? options.run_id : options.experiment_id) = wrong == "run" ? "r1" : "8";
  const Scratch scratch;
  const std::string file = scratch.path("mlflow.json");
  {
    MlflowOptions none = options_for(server);
    MlflowClient client(none, mlflow_client_quick());
    client.keep_cursor(file);
    client.resume(cursor);
    client.take(mlflow_client_with_metrics(1));
    CHECK_FALSE(mlflow_client_deliver(client));
    CHECK(contains(client.trouble(), wrong == "name" ? "choose another one" : " reads again"));
  }
  MlflowClient client(options, mlflow_client_quick());
  client.keep_cursor(file);
  REQUIRE(takt::detail::parse_cursor(read_text(file), cursor));
  client.resume(cursor);
  client.take(mlflow_client_with_metrics(1));
  CHECK(mlflow_client_deliver(client));
  CHECK(client.run_id() == "r1");
  CHECK(contains(errors.text(), "rejects"));
  CHECK(of(server, "runs/create").size() == (wrong == "id" ? 3U : wrong == "run" ? 0U : 1U));
  if (wrong != "run") {
    CHECK(nlohmann::json::parse(of(server, "runs/create").back().body)["experiment_id"] == "8");
    CHECK(contains(read_text(file), "\"experiment_id\":\"8\""));
  }
}

TEST_CASE("MLflow client: a run keeps the options it was started with if the server accepts them", "[timed]") {
  FakeHttp server(usual);
  takt::detail::MlflowCursor cursor;
  cursor.experiment_id = "7";
  MlflowOptions options = options_for(server);
  options.experiment_id = "8";
  MlflowClient client(options, mlflow_client_quick());
  client.resume(cursor);
  client.take(mlflow_client_with_metrics(1));
  CHECK(mlflow_client_deliver(client));
  CHECK(nlohmann::json::parse(of(server, "runs/create").back().body)["experiment_id"] == "7");
}

TEST_CASE("MLflow client: the end of a run sends status and attachments with a length", "[timed]") {
  FakeHttp server(usual);
  MlflowOptions options = options_for(server);
  options.artifacts = true;
  MlflowClient client(options, mlflow_client_quick());
  Snapshot snapshot = sample_snapshot();
  const Scratch scratch;
  snapshot.run.directory = scratch.path("");
  snapshot.failed = true;
  snapshot.spans.emplace_back();
  write_text(scratch.path("trace.json"), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}");
  client.take(snapshot);
  REQUIRE(mlflow_client_deliver(client));
  const auto update = of(server, "runs/update");
  REQUIRE(update.size() == 1);
  CHECK(nlohmann::json::parse(update[0].body)["status"] == "FAILED");
  CHECK(nlohmann::json::parse(update[0].body)["end_time"] == snapshot.run.start_unix_ns / 1'000'000 + 62'400);
  const auto puts = of(server, "mlflow-artifacts/artifacts/0/r1/artifacts/takt/");
  REQUIRE(puts.size() == 3);
  CHECK(puts[2].body == read_text(scratch.path("trace.json")));
  for (const FakeRequest& put : puts) {
    CHECK(put.method == "PUT");
    CHECK(contains(put.headers, "content-length: "));
    CHECK_FALSE(contains(put.headers, "transfer-encoding"));
  }
}

TEST_CASE("MLflow client: uses user and password from the URL and never shows them", "[timed]") {
  FakeHttp server(usual);
  MlflowOptions options = options_for(server);
  options.tracking_uri = "http://ada:p%40ss@" + server.url().substr(7) + "/prefix/";
  MlflowClient client(options, mlflow_client_quick());
  client.take(mlflow_client_with_metrics(1));
  REQUIRE(mlflow_client_deliver(client));
  CHECK(contains(server.requests()[0].headers, "authorization: Basic YWRhOnBAc3M="));
  CHECK(server.requests()[0].path == "/prefix/api/2.0/mlflow/runs/create");
}

TEST_CASE("MLflow options: settings that only MLflow's own clients support cause a warning") {
  MlflowOptions options;
  for (const char* const uri : {"sqlite:///mlflow.db", "databricks", "databricks://profile", "file:/tmp/mlruns",
                                "./mlruns", "/data/mlruns", "postgresql+psycopg2://user:s3cr3t@host/db"}) {
    const support::CaughtErrors errors;
    options.tracking_uri = uri;
    takt::MlflowExporter exporter(options);
    CHECK(exporter.export_snapshot(mlflow_client_with_metrics(3)) == takt::ExportResult::ok);
    CHECK(exporter.shutdown(milliseconds(1000)));
    CHECK(errors.lines().size() == 1);
    CHECK(contains(errors.text(), "mlflow server --backend-store-uri"));
    CHECK(contains(errors.text(), "takt sync"));
    CHECK_FALSE(contains(errors.text(), "s3cr3t"));
  }
}

TEST_CASE("MLflow options that cannot work are refused with the remedy") {
  MlflowOptions options;
  CHECK_THROWS_AS(takt::MlflowExporter(options), takt::Error);
  for (const char* const uri : {"localhost:5000", "ftp://host"}) {
    options.tracking_uri = uri;
    CHECK_THROWS_WITH(takt::MlflowExporter(options), takt_test::containing("http:// or https://"));
  }
  options.tracking_uri = "http://127.0.0.1:5000";
  options.token = "two\nlines";
  CHECK_THROWS_AS(takt::MlflowExporter(options), takt::Error);
}

TEST_CASE("MLflow options: credentials are sent only over https or to this machine") {
  using takt::detail::check_http_options;
  const support::CaughtErrors errors;
  const auto may_send = [](const char* url, bool insecure = false) {
    takt::detail::HttpOptions options;
    options.url = url;
    options.insecure_tls = insecure;
    return check_http_options(options);
  };
  CHECK(may_send("https://mlflow.example.org/tracking/"));
  CHECK(may_send("http://127.0.0.1:5000"));
  CHECK(may_send("http://localhost:5000"));
  CHECK(may_send("http://[::1]:5000"));
  CHECK_FALSE(may_send("http://mlflow.example.org"));
  CHECK_FALSE(may_send("http://127.example.org"));
  CHECK(may_send("http://mlflow.example.org", true));
}

TEST_CASE("MLflow options come from MLflow's variables and its credentials file") {
  const Scratch home;
  ::mkdir(home.path(".mlflow").c_str(), 0700);
  write_text(home.path(".mlflow/credentials"),
             "[other]\nmlflow_tracking_username = x\n[mlflow]\nmlflow_tracking_username = "
             "ada\nmlflow_tracking_password = pass\n");
  support::ScopedEnvironment environment({{"HOME", home.path("")}, {"MLFLOW_TRACKING_URI", " http://h:1/p/ "}});
  for (const char* const name : {"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN"}) {
    environment.unset(name);
  }
  MlflowOptions options = MlflowOptions::from_env();
  CHECK(options.tracking_uri == "http://h:1/p/");
  CHECK(options.username == "ada");
  CHECK(options.password == "pass");
  environment.set("MLFLOW_TRACKING_PASSWORD", "other");
  environment.set("MLFLOW_TRACKING_INSECURE_TLS", "True");
  environment.set("MLFLOW_TRACKING_SERVER_CERT_PATH", "/authority.pem");
  environment.set("MLFLOW_TRACKING_CLIENT_CERT_PATH", "/client.pem");
  environment.set("MLFLOW_EXPERIMENT_NAME", "e");
  options = MlflowOptions::from_env();
  CHECK(options.username == "ada");
  CHECK(options.password == "other");
  CHECK(options.insecure_tls);
  CHECK(options.server_cert_path == "/authority.pem");
  CHECK(options.client_cert_path == "/client.pem");
  CHECK(options.experiment_name == "e");
}

TEST_CASE("MLflow options: reports an unreadable credentials file, but not a missing one") {
  const Scratch home;
  support::ScopedEnvironment environment({{"HOME", home.path("")}});
  for (const char* const name : {"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"}) { environment.unset(name); }
  const support::CaughtErrors errors;
  MlflowOptions::from_env();
  CHECK(errors.lines().empty());
  ::mkdir(home.path(".mlflow").c_str(), 0700);
  ::mkdir(home.path(".mlflow/credentials").c_str(), 0700);  // root cannot read this either
  MlflowOptions::from_env();
  CHECK(contains(errors.text(), "cannot be read"));
  CHECK(contains(errors.text(), "chmod 600"));
}

TEST_CASE("MLflow exporter: other ranks and forked children send nothing", "[timed]") {
  FakeHttp server(usual);
  MlflowOptions options = options_for(server);
  Snapshot snapshot = mlflow_client_with_metrics(3);
  snapshot.run.rank = 1;
  snapshot.run.world_size = 2;
  takt::MlflowExporter second(options);
  CHECK(second.export_snapshot(snapshot) == takt::ExportResult::ok);
  CHECK(second.shutdown(milliseconds(60'000)));
  CHECK(server.requests().empty());

  takt::MlflowExporter parent(options);
  snapshot.run.rank = 0;
  CHECK(in_child([&] {
          takt::MlflowExporter child = std::move(parent);
          return child.export_snapshot(snapshot) == takt::ExportResult::drop && !child.shutdown(milliseconds(1000)) ? 0
                                                                                                                    : 1;
        }) == 0);
  CHECK(server.requests().empty());
  CHECK(parent.export_snapshot(snapshot) == takt::ExportResult::ok);
  CHECK(parent.shutdown(milliseconds(60'000)));
  CHECK(of(server, "log-batch").size() == 1);
}

TEST_CASE("MLflow exporter: each rank can have its own run below the named one", "[timed]") {
  FakeHttp server(usual);
  MlflowOptions options = options_for(server);
  options.all_ranks = true;
  options.run_id = "parent";
  Snapshot snapshot = mlflow_client_with_metrics(3);
  snapshot.run.rank = 7;
  snapshot.run.world_size = 8;
  takt::MlflowExporter exporter(options);
  exporter.export_snapshot(snapshot);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  const auto created = of(server, "runs/create");
  REQUIRE(created.size() == 1);
  CHECK(contains(created[0].body, R"("run_name":"test rank-0007")"));
  CHECK(contains(created[0].body, R"({"key":"mlflow.parentRunId","value":"parent"})"));
}

TEST_CASE("MLflow client: a child run is in its parent's experiment and names the parent in a tag", "[timed]") {
  const support::CaughtErrors errors;
  const bool there = GENERATE(true, false);
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    if (is(request, "runs/get?run_id=above")) {
      answer = there ? answer : failing(404);
      if (there) { answer.body = R"({"run":{"info":{"run_id":"above","experiment_id":"42"}}})"; }
    }
    return answer;
  });
  MlflowOptions options = options_for(server);
  options.experiment_id = "7";
  MlflowClient client(options, mlflow_client_quick());
  Snapshot snapshot = mlflow_client_with_metrics(1);
  snapshot.tags["mlflow.parentRunId"] = "above";
  client.take(snapshot);
  CHECK(mlflow_client_deliver(client));
  const auto created = of(server, "runs/create");
  REQUIRE(created.size() == 1);
  CHECK(nlohmann::json::parse(created[0].body)["experiment_id"] == (there ? "42" : "7"));
  CHECK(errors.lines().size() == 1);
  CHECK(bool(mentions(errors.text(), {"42"})) == there);
}

TEST_CASE("MLflow client: the user comes from the variables, else from the process's owner", "[timed]") {
  support::ScopedEnvironment environment({});
  for (const char* const name : {"LOGNAME", "USER", "LNAME", "USERNAME"}) { environment.unset(name); }
  const passwd* const entry = ::getpwuid(::getuid());
  REQUIRE(entry != nullptr);
  CHECK(takt::detail::user_name() == entry->pw_name);
  environment.set("USER", "ada");
  CHECK(takt::detail::user_name() == "ada");
  environment.set("LOGNAME", "grace");
  CHECK(takt::detail::user_name() == "grace");
}

TEST_CASE("MLflow client: lists changed names of all kinds in one line", "[timed]") {
  const support::CaughtErrors errors;
  FakeHttp server(usual);
  MlflowClient client(options_for(server), mlflow_client_quick());
  Snapshot snapshot = mlflow_client_with_metrics(1);
  snapshot.metrics[0].name = "val/mAP@0.5";
  snapshot.metrics.push_back(snapshot.metrics[0]);
  snapshot.metrics[1].sequence = 1;
  snapshot.metrics[1].name = "total/mine";
  snapshot.params["lr (max)"] = "1";
  snapshot.tags["who?"] = "me";
  client.take(snapshot);
  client.take(snapshot);
  REQUIRE(errors.lines().size() == 1);
  for (const char* const each : {"val/mAP@0.5", "lr (max)", "who?"}) {
    CHECK(mentions(errors.text(), {'"' + std::string(each) + '"', '"' + takt::detail::tracker_name(each, 250) + '"'}));
  }
  CHECK(mentions(errors.text(), {"\"total/mine\"", "\"user/total/mine\""}));
}

TEST_CASE("MLflow client: cuts a value to the length that the server accepts", "[timed]") {
  const support::CaughtErrors errors;
  const std::size_t max = GENERATE(std::size_t{500}, std::size_t{6000});
  std::map<std::string, std::string> params;
  FakeHttp server([&](const FakeRequest& request) {
    const auto body = nlohmann::json::parse(request.body, nullptr, false);
    if (!is(request, "log-batch") || !body.contains("params")) { return usual(request); }
    for (const auto& each : body["params"]) {
      if (points_of(each["value"]) > max) {
        return failing(400, "had length 6000, which exceeded length limit of 500");
      }
    }
    for (const auto& each : body["params"]) { params[each["key"]] = each["value"]; }
    return usual(request);
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  Snapshot snapshot = mlflow_client_with_metrics(1);
  for (int number = 0; number < 40; ++number) { snapshot.params["short " + std::to_string(number)] = "x"; }
  for (int number = 0; number < 40; ++number) {
    snapshot.params["long " + std::to_string(number)] = std::string(7000, 'x');
  }
  snapshot.params["odd"].clear();
  for (int number = 0; number < 6000; ++number) { snapshot.params["odd"] += "\xC3\xA9"; }
  client.take(snapshot);
  REQUIRE(mlflow_client_deliver(client));
  CHECK(client.complete());
  CHECK(params.size() == 81);
  CHECK(params["long 7"] == std::string(max, 'x'));
  CHECK(points_of(params["odd"]) == max);
  CHECK(params["short 7"] == "x");
  CHECK(of(server, "log-batch").size() <= 5);
  CHECK(mentions(errors.text(), {std::to_string(max)}));
}

TEST_CASE("MLflow client: one metric that a server cannot store does not lose the others", "[timed]") {
  const support::CaughtErrors errors;
  const Scratch scratch;
  const std::size_t many = GENERATE(std::size_t{1}, std::size_t{96});
  std::map<std::string, std::set<std::int64_t>> kept;
  std::size_t copies = 0;
  FakeHttp server([&](const FakeRequest&
                          request) {  // as a server with file storage does: up to the value on which it fails
    const auto body = nlohmann::json::parse(request.body, nullptr, false);
    FakeAnswer answer = usual(request);
    if (is(request, "runs/get?")) {
      nlohmann::json latest = nlohmann::json::array();
      for (const auto& [key, steps] : kept) {
        latest.push_back({{"key", key}, {"step", *steps.rbegin()}, {"timestamp", 1'700'000'000'000}, {"value", 1.0}});
      }
      answer.body = nlohmann::json{{"run", {{"data", {{"metrics", latest}}}}}}.dump();
    }
    if (!is(request, "log-batch") || !body.contains("metrics")) { return answer; }
    for (const auto& each : body["metrics"]) {
      if (each["key"] == "step/fwd") { return failing(500, "[Errno 20] Not a directory: '/metrics/step/fwd'"); }
      if (!kept[each["key"]].insert(each["step"].get<std::int64_t>()).second) { ++copies; }
    }
    return answer;
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  client.keep_cursor(scratch.path("mlflow.json"));
  Snapshot snapshot = mlflow_client_with_metrics(0);
  for (std::size_t at = 0; at < 192 * many; ++at) {
    takt::Metric metric;
    metric.sequence = at;
    const std::size_t which = at % 192;
    metric.name = which == 50 ? "step" : which == 100 ? "step/fwd" : "m" + std::to_string(which);
    metric.value = 1.0;
    metric.step = static_cast<std::int64_t>(at / 192);
    metric.time_unix_ns = 1'700'000'000'000'000'000;
    snapshot.metrics.push_back(metric);
  }
  client.take(snapshot);
  REQUIRE(mlflow_client_deliver(client));
  CHECK(client.queue().lost() == many);
  CHECK(client.queue().settled() == 191 * many);
  CHECK(kept.size() == 191);
  CHECK(kept["step"].size() == many);
  CHECK(copies == 0);
  CHECK(contains(errors.text(), "MLflow fails on \"step/fwd\""));
  CHECK(contains(errors.text(), "rename one of the two"));
  CHECK(contains(errors.text(), "takt sync " + scratch.path("x").substr(0, scratch.path("x").size() - 2)));
}

TEST_CASE("MLflow client: sends NaN as such, and not again if the server has it", "[timed]") {
  const bool reported = GENERATE(true, false);
  const support::CaughtErrors errors;
  bool first = true;
  FakeHttp server([&](const FakeRequest& request) {
    FakeAnswer answer = usual(request);
    if (is(request, "runs/get?")) {
      answer.body = R"({"run":{"data":{"metrics":[)"
                    R"({"key":"loss","step":2,"timestamp":1700000000000,"value":"NaN"}]}}})";
      if (!reported) { answer = failing(403); }
    }
    if (is(request, "log-batch") && contains(request.body, "NaN")) {
      if (std::exchange(first, false)) {
        answer.cut = true;
      } else {
        answer = failing(400, "(sqlite3.IntegrityError) UNIQUE constraint failed: metrics.key");
      }
    }
    return answer;
  });
  MlflowClient client(options_for(server), mlflow_client_quick());
  Snapshot snapshot = mlflow_client_with_metrics(3);
  snapshot.metrics[2].value = std::numeric_limits<double>::quiet_NaN();
  client.take(snapshot);
  REQUIRE(mlflow_client_deliver(client));
  CHECK(contains(of(server, "log-batch")[0].body, R"("value":"NaN")"));
  CHECK(client.queue().settled() == 3);
  CHECK(client.queue().left_out() == 0);
  CHECK(client.complete());
  CHECK((of(server, "log-batch").size() == 1) == reported);
}

TEST_CASE("MLflow queue: beyond its limit it drops and counts the oldest points") {
  const support::CaughtErrors errors;
  takt::detail::MlflowQueue queue(10);
  std::vector<takt::detail::MetricPoint> points(25);
  for (std::size_t at = 0; at < points.size(); ++at) { points[at].step = static_cast<std::int64_t>(at); }
  queue.add_points(points);
  CHECK(queue.points() == 10);
  CHECK(queue.lost() == 15);
  CHECK(queue.settled(takt::detail::MetricPoint::Source::row) == 0);  // they can be sent from the journal
  CHECK(mentions(errors.text(), {"15"}));
}

TEST_CASE("MLflow client: does not write to a connection whose descriptor the program reused", "[timed]") {
  const support::CaughtErrors errors;
  const Scratch scratch;
  FakeHttp server(usual);
  const MlflowOptions options = options_for(server);
  const auto port = static_cast<in_port_t>(std::stoi(server.url().substr(server.url().rfind(':') + 1)));
  std::vector<int> taken;
  {
    MlflowClient client(options, mlflow_client_quick());
    client.take(mlflow_client_with_metrics(1));
    REQUIRE(mlflow_client_deliver(client));
    for (int number = 3; number < 1024; ++number) {
      sockaddr_in peer = {};
      socklen_t size = sizeof peer;
      if (::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || ntohs(peer.sin_port) != port) {
        continue;
      }
      steal(number, scratch.path("program's " + std::to_string(number)));
      taken.push_back(number);
    }
    REQUIRE(!taken.empty());
    client.take(mlflow_client_with_metrics(3));
    CHECK(mlflow_client_deliver(client));
  }
  CHECK(contains(errors.text(), "closed a file"));
  for (const int number : taken) {
    CHECK(::fcntl(number, F_GETFD) != -1);
    CHECK(read_text(scratch.path("program's " + std::to_string(number))).empty());
    ::close(number);
  }
}
