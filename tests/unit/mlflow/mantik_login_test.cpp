// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mantik.hpp"

#include <takt/error.hpp>
#include <takt/exporters/mlflow.hpp>

#include "mlflow/mlflow_client.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/child.hpp"
#include "support/fake_http.hpp"
#include "support/mentions.hpp"
#include "support/patience.hpp"
#include "support/sanitized.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include <sys/stat.h>

using takt::MlflowOptions;
using takt::Snapshot;
using takt::detail::MantikLogin;
using takt::detail::MlflowClient;
using takt::detail::SenderTimes;
using namespace takt_test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t kStart = 1'700'000'000;
constexpr const char* kPassword = "pa\"ss w\xC3\xB6rd";
const std::string kOthers = "e30.eyJ1c2VybmFtZSI6ImJvYiJ9.x";  // for the user bob
std::int64_t now_s = kStart;
std::int64_t fake_clock() { return now_s; }

std::string iso(std::int64_t unix_s) {
  const std::time_t seconds = unix_s;
  std::tm time = {};
  char text[32] = {};
  ::gmtime_r(&seconds, &time);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &time);
  return text;
}

/// Token routes and a tracking server that requires one of the tokens, on one host.
struct FakeMantik {
  FakeAnswer answer(const FakeRequest& request) {
    FakeAnswer answer;
    if (is(request, "/mantik/tokens/")) {
      if (fails) { return text_answer(503, "not now"); }
      if (token_answer.status != 200) { return token_answer; }
      const bool refresh = is(request, "/refresh");
      if (refresh && refuse_refresh) { return text_answer(401, "Refresh token has expired"); }
      Json body = {{"AccessToken", "access-" + std::to_string(++given)}, {"ExpiresAt", iso(now_s + lifetime_s)}};
      if (!refresh) { body["RefreshToken"] = "refresh-" + std::to_string(given); }
      taken = {body["AccessToken"]};
      answer.status = 201;
      answer.body = body.dump();
    } else if (accepts_nothing || !allowed(request)) {
      return text_answer(401, "Invalid token");
    } else if (is(request, "runs/create")) {
      answer.body = R"({"run":{"info":{"run_id":"r1"}}})";
    } else if (is(request, "get-by-name")) {
      answer.status = 404;
      answer.body = R"({"error_code":"RESOURCE_DOES_NOT_EXIST"})";
    }
    return answer;
  }

  static bool is(const FakeRequest& request, const char* part) { return contains(request.path, part); }
  static FakeAnswer text_answer(int status, const std::string& text) {
    FakeAnswer answer;
    answer.status = status;
    answer.body = text;
    return answer;
  }
  bool allowed(const FakeRequest& request) const {
    for (const std::string& each : taken) {
      if (contains(request.headers, "authorization: Bearer " + each + "\r\n")) { return true; }
    }
    return false;
  }

  std::vector<FakeRequest> of(const char* part) const {
    std::vector<FakeRequest> found;
    for (const FakeRequest& request : http.requests()) {
      if (is(request, part)) { found.push_back(request); }
    }
    return found;
  }
  std::size_t created() const { return of("/mantik/tokens/create").size(); }
  std::size_t refreshed() const { return of("/mantik/tokens/refresh").size(); }

  int given = 0;
  std::int64_t lifetime_s = 3600;
  bool refuse_refresh = false;
  bool accepts_nothing = false;
  std::atomic<bool> fails{false};  // issues no tokens; may be changed during requests
  FakeAnswer token_answer;         // returned instead of a token if its status is not 200
  std::set<std::string> taken;     // tokens
  FakeHttp http{[this](const FakeRequest& request) { return answer(request); }};
};

SenderTimes quick() {
  SenderTimes times;
  times.connect = times.total = milliseconds(20'000);
  times.first_wait = milliseconds(1);
  times.longest_wait = milliseconds(4);
  times.unix_s = &fake_clock;
  return times;
}

/// A home directory and a Mantik server.
struct Rig {
  Rig() { now_s = kStart; }

  MlflowOptions options() const {
    MlflowOptions options;
    options.tracking_uri = mantik.http.url() + "/tracking/";
    options.experiment_id = "7";
    options.artifacts = false;
    options.mantik.username = "ada";
    options.mantik.password = kPassword;
    options.mantik.api_url = mantik.http.url();
    options.mantik.token_file = file;
    return options;
  }
  void write_cache(const std::string& access, std::int64_t expires, const std::string& refresh = "old-refresh") const {
    ::mkdir(scratch.path(".mantik").c_str(), 0700);
    write_text(file, Json{{"access_token", access}, {"refresh_token", refresh}, {"expires_at", iso(expires)}}.dump());
  }
  Json cache() const { return Json::parse(read_text(file)); }

  Scratch scratch;
  FakeMantik mantik;
  std::string file = scratch.path(".mantik/tokens.json");
};

Snapshot with_metrics(std::uint64_t first, std::uint64_t count) {
  Snapshot snapshot;
  snapshot.run.name = "test";
  for (std::uint64_t number = first; number < first + count; ++number) {
    takt::Metric metric;
    metric.sequence = number;
    metric.name = "loss";
    metric.step = static_cast<std::int64_t>(number);
    metric.time_unix_ns = kStart * 1'000'000'000;
    snapshot.metrics.push_back(metric);
  }
  return snapshot;
}

bool deliver(MlflowClient& client, int ms = 60'000) { return client.deliver(steady_clock::now() + milliseconds(ms)); }

/// Returns the messages for this answer of the token routes.
std::string reported_for(const FakeAnswer& answer) {
  const support::CaughtErrors errors;
  Rig rig;
  rig.mantik.token_answer = answer;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 3));
  CHECK(takt_test::until([&] { return !errors.lines().empty(); }, [&] { CHECK_FALSE(deliver(client, 100)); }));
  CHECK(rig.mantik.of("/tracking/").empty());
  CHECK_FALSE(exists(rig.file));
  return errors.text() + (client.stopped() ? "STOPPED" : "");
}

}  // namespace

TEST_CASE("Mantik login: requests tokens once with user and password, and stores them as Mantik's client does",
          "[timed]") {
  Rig rig;
  MlflowOptions options = rig.options();
  options.mantik.api_url += "/prefix//";
  ::mkdir(rig.scratch.path(".mantik").c_str(), 0700);
  write_text(rig.file + ".part", "tokens of a process that was killed");
  {
    MlflowClient client(options, quick());
    client.take(with_metrics(0, 3));
    REQUIRE(deliver(client));
    CHECK(client.complete());
  }
  const auto created = rig.mantik.of("/mantik/tokens/");
  REQUIRE(created.size() == 1);
  CHECK(created[0].path == "/prefix/mantik/tokens/create");
  CHECK(created[0].method == "POST");
  CHECK(Json::parse(created[0].body) == Json{{"username", "ada"}, {"password", kPassword}});
  CHECK_FALSE(contains(created[0].headers, "authorization"));
  for (const FakeRequest& request : rig.mantik.of("/tracking/api/2.0/mlflow/")) {
    CHECK(contains(request.headers, "authorization: Bearer access-1\r\n"));
  }
  CHECK(rig.cache() ==
        Json{{"access_token", "access-1"}, {"refresh_token", "refresh-1"}, {"expires_at", iso(kStart + 3600)}});
  CHECK(mode_of(rig.file) == 0600);
  CHECK_FALSE(exists(rig.file + ".part"));
  CHECK_FALSE(exists(rig.file + ".part.old"));
  CHECK_FALSE(exists(rig.file + ".lease"));

  MlflowClient next(options, quick());
  next.take(with_metrics(0, 1));
  REQUIRE(deliver(next));
  CHECK(rig.mantik.created() == 1);
}

TEST_CASE("Mantik login: refreshes a token five minutes before it expires, without the password", "[timed]") {
  Rig rig;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  now_s = kStart + 3600 - 301;
  client.take(with_metrics(1, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.refreshed() == 0);
  now_s = kStart + 3600 - 300;
  client.take(with_metrics(2, 1));
  REQUIRE(deliver(client));
  const auto refreshed = rig.mantik.of("/mantik/tokens/refresh");
  REQUIRE(refreshed.size() == 1);
  CHECK(Json::parse(refreshed[0].body) == Json{{"username", "ada"}, {"refresh_token", "refresh-1"}});
  CHECK(contains(rig.mantik.of("log-batch").back().headers, "Bearer access-2\r\n"));
  CHECK(rig.cache() ==
        Json{{"access_token", "access-2"}, {"refresh_token", "refresh-1"}, {"expires_at", iso(now_s + 3600)}});
  CHECK(rig.mantik.created() == 1);
}

TEST_CASE("Mantik login: uses the password again after the refresh token has expired", "[timed]") {
  Rig rig;
  rig.write_cache("ended", kStart - 10);
  rig.mantik.refuse_refresh = true;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.refreshed() == 1);
  CHECK(rig.mantik.created() == 1);
  CHECK(rig.cache()["refresh_token"] == "refresh-1");
}

TEST_CASE("Mantik login: refreshes a refused token once and repeats the same bytes", "[timed]") {
  Rig rig;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  rig.mantik.taken.clear();  // revoked
  client.take(with_metrics(1, 5));
  REQUIRE(deliver(client));
  CHECK(client.complete());
  CHECK(rig.mantik.refreshed() == 1);
  const auto batches = rig.mantik.of("log-batch");
  REQUIRE(batches.size() == 3);
  CHECK(batches[1].body == batches[2].body);
  CHECK(contains(batches[2].headers, "Bearer access-2\r\n"));

  const support::CaughtErrors errors;
  rig.mantik.accepts_nothing = true;
  client.take(with_metrics(6, 1));
  CHECK_FALSE(deliver(client));
  CHECK(client.stopped());
  CHECK(rig.mantik.refreshed() == 2);
  CHECK(rig.mantik.of("log-batch").size() == 5);
  CHECK(mentions(errors.text(), {"MLFLOW_TRACKING_URI", "MANTIK_API_URL"}));
}

TEST_CASE("Mantik login: uses a token that another process has refreshed", "[timed]") {
  Rig rig;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  rig.mantik.taken = {"theirs"};
  rig.write_cache("theirs", kStart + 3700);
  client.take(with_metrics(1, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.refreshed() == 0);
  CHECK(rig.mantik.created() == 1);
}

TEST_CASE("Mantik login: of processes that start in the same second one requests and the others wait", "[timed]") {
  Rig rig;
  MantikLogin first(rig.options(), quick());
  MantikLogin second(rig.options(), quick());
  CHECK(first.obtain(steady_clock::now()) == MantikLogin::State::busy);  // its request is in progress
  CHECK(second.obtain(steady_clock::now() + milliseconds(60'000)) == MantikLogin::State::later);
  CHECK(second.problem().empty());
  CHECK(first.obtain(steady_clock::now() + milliseconds(60'000)) == MantikLogin::State::ready);
  CHECK(second.obtain(steady_clock::now() + milliseconds(60'000)) == MantikLogin::State::ready);
  CHECK(second.token() == first.token());
  CHECK(rig.mantik.created() == 1);
}

#if !TEST_SANITIZED  // these are children of a process with the server's thread
TEST_CASE("Mantik login: ranks that are processes create one token and complete files", "[timed]") {
  Rig rig;
  std::vector<support::Child> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&] {
      MlflowClient client(rig.options(), quick());
      client.take(with_metrics(0, 1));
      return std::string(deliver(client) ? "delivered" : "not delivered");
    });
  }
  for (support::Child& rank : ranks) { CHECK(rank.result() == "delivered"); }
  CHECK(rig.mantik.created() == 1);
  CHECK(rig.mantik.refreshed() == 0);
  CHECK(rig.cache()["access_token"] == "access-1");
  CHECK(mode_of(rig.scratch.path(".mantik")) == 0700);
}
#endif

TEST_CASE("Mantik login: does not wait for a process that takes too long", "[timed]") {
  Rig rig;
  SenderTimes times = quick();
  times.other_process = milliseconds(0);
  MantikLogin stuck(rig.options(), times);
  CHECK(stuck.obtain(steady_clock::now()) == MantikLogin::State::busy);
  MantikLogin login(rig.options(), times);
  CHECK(login.obtain(steady_clock::now() + milliseconds(60'000)) == MantikLogin::State::ready);
}

TEST_CASE("Mantik login: tokens of others are neither used nor overwritten", "[timed]") {
  const support::CaughtErrors errors;
  Rig rig;
  rig.write_cache(kOthers, kStart + 3600);
  const std::string before = read_text(rig.file);
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.created() == 1);
  CHECK(read_text(rig.file) == before);
  CHECK(mentions(errors.text(), {"bob", "MANTIK_USERNAME", "ada"}));
  CHECK_FALSE(contains(errors.text(), kOthers));
}

TEST_CASE("Mantik login: tokens of one platform are not sent to another, which has its own file", "[timed]") {
  const Scratch home;
  const support::ScopedEnvironment environment({{"HOME", home.path("")}});
  Rig rig;
  rig.file = home.path(".mantik/tokens.json");
  ::mkdir(home.path(".mantik").c_str(), 0700);
  rig.write_cache("of-the-cloud", kStart + 3600);
  const std::string before = read_text(rig.file);
  MlflowOptions options = rig.options();
  options.mantik.token_file.clear();
  {
    MantikLogin login(options, quick());
    REQUIRE(login.obtain(steady_clock::now() + milliseconds(60'000)) == MantikLogin::State::ready);
    CHECK(login.token() == "access-1");
  }
  const std::string url = rig.mantik.http.url();
  const std::string own = "tokens-127.0.0.1%3A" + url.substr(url.rfind(':') + 1) + ".json";
  CHECK(Json::parse(read_text(home.path(".mantik/" + own)))["access_token"] == "access-1");
  CHECK(read_text(rig.file) == before);
  {
    MantikLogin next(options, quick());
    CHECK(next.obtain(steady_clock::now()) == MantikLogin::State::ready);
  }
  CHECK(rig.mantik.created() == 1);
}

TEST_CASE("Mantik login: any spelling of Mantik's own host uses the tokens of its client", "[timed]") {
  const Scratch home;
  const support::ScopedEnvironment environment({{"HOME", home.path("")}});
  Rig rig;
  rig.file = home.path(".mantik/tokens.json");
  ::mkdir(home.path(".mantik").c_str(), 0700);
  rig.write_cache("of-the-cloud", kStart + 3600);
  MlflowOptions options = rig.options();
  options.mantik.token_file.clear();
  options.mantik.api_url =
      GENERATE(as<std::string>(), "", "https://api.cloud.mantik.ai", "https://API.cloud.mantik.ai:443//x/");
  MantikLogin login(options, quick());
  CHECK(login.obtain(steady_clock::now()) == MantikLogin::State::ready);  // without a request
  CHECK(login.token() == "of-the-cloud");
}

TEST_CASE("Mantik login: an unusable file is reported and stops nothing", "[timed]") {
  const support::CaughtErrors errors;
  Rig rig;
  rig.write_cache("x", kStart + 3600);
  std::string expected;
  SECTION("not JSON") {
    write_text(rig.file, "{\"access_token\": \"s3cr3t");
    expected = rig.file;
  }
  SECTION("a link") {
    ::rename(rig.file.c_str(), (rig.file + ".real").c_str());
    REQUIRE(::symlink((rig.file + ".real").c_str(), rig.file.c_str()) == 0);
    expected = "cannot be read";
  }
  SECTION("a lease that can never be taken") {
    ::unlink(rig.file.c_str());
    REQUIRE(::symlink(rig.file.c_str(), (rig.file + ".lease").c_str()) == 0);
    expected = rig.file + ".lease";
  }
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.created() == 1);
  CHECK(contains(errors.text(), expected));
  CHECK(errors.lines().size() == 1);
  CHECK_FALSE(contains(errors.text(), "s3cr3t"));
  CHECK(rig.cache()["access_token"] == "access-1");
  CHECK(mode_of(rig.file) == 0600);
}

TEST_CASE("Mantik login: requests tokens even without a directory to store them in", "[timed]") {
  const support::CaughtErrors errors;
  Rig rig;
  write_text(rig.scratch.path(".mantik"), "in the way");
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  CHECK(contains(errors.text(), rig.file));
}

TEST_CASE("Mantik login: reports errors with their remedy and without a secret", "[timed]") {
  // A server may repeat what was sent.
  const std::string echo = std::string(kPassword) + R"( pa\"ss wörd old-refresh access-1)";
  const auto reported = [&](int status, const std::string& text, const std::string& headers = "") {
    FakeAnswer answer = FakeMantik::text_answer(status, text + echo);
    answer.headers = headers;
    std::string line = reported_for(answer);
    INFO(line);
    CHECK_FALSE(contains(line, "ss w"));
    CHECK_FALSE(contains(line, "refresh"));
    CHECK_FALSE(contains(line, "access-1"));
    return line;
  };
  const std::string incorrect = reported(401, "incorrect username or password");
  CHECK(mentions(incorrect, {"HTTP 401", "MANTIK_USERNAME", "MANTIK_PASSWORD"}));
  const std::string unknown = reported(401, "user does not exist");
  CHECK(mentions(unknown, {"HTTP 401"}));
  CHECK(unknown != incorrect);
  CHECK(contains(reported(401, ""), "STOPPED"));
  CHECK(mentions(reported(404, ""), {"HTTP 404", "MANTIK_API_URL"}));
  CHECK(contains(reported(404, ""), "STOPPED"));
  CHECK(mentions(reported(201, ""), {"MANTIK_API_URL", "Takt retries"}));
  const std::string away = reported(503, "");
  CHECK(mentions(away, {"HTTP 503", "MANTIK_API_URL", "Takt retries", "3 points"}));
  CHECK_FALSE(contains(away, "STOPPED"));

  FakeHttp other([](const FakeRequest&) { return FakeAnswer(); });
  CHECK(mentions(reported(307, "", "Location: " + other.url() + "/x\r\n"), {"HTTP 307", "MANTIK_API_URL"}));
  CHECK(other.requests().empty());
}

TEST_CASE("Mantik login: a token repeated by a tracking server does not appear in a message", "[timed]") {
  const support::CaughtErrors errors;
  Rig rig;
  FakeHttp server([&](const FakeRequest& request) {
    return contains(request.path, "/mantik/") ? rig.mantik.answer(request)
                                              : FakeMantik::text_answer(503, "no access-1 today");
  });
  MlflowOptions options = rig.options();
  options.tracking_uri = options.mantik.api_url = server.url();
  MlflowClient client(options, quick());
  client.take(with_metrics(0, 1));
  CHECK(takt_test::until([&] { return !errors.lines().empty(); }, [&] { CHECK_FALSE(deliver(client, 100)); }));
  CHECK(contains(errors.text(), "no *** today"));
  CHECK_FALSE(contains(errors.text(), "access-1"));
}

TEST_CASE("Mantik login: a missing or silent server costs no more than the timeout", "[timed]") {
  const bool refuses = GENERATE(true, false);
  const support::CaughtErrors errors;
  Rig rig;
  rig.mantik.token_answer = FakeMantik::text_answer(0, "");
  rig.mantik.token_answer.silent = true;
  MlflowOptions options = rig.options();
  if (refuses) { options.mantik.api_url = "http://127.0.0.1:1"; }
  SenderTimes times = quick();
  times.connect = times.total = milliseconds(300);
  MlflowClient client(options, times);
  client.take(with_metrics(0, 3));
  const auto begin = steady_clock::now();
  CHECK_FALSE(deliver(client, 700));
  CHECK(steady_clock::now() - begin < milliseconds(15'000));  // the machine may be busy
  CHECK(takt_test::until([&] { return !errors.lines().empty(); }, [&] { CHECK_FALSE(deliver(client, 700)); }));
  CHECK(client.queue().points() == 3);
  CHECK(contains(errors.text(), refuses ? "onnect" : "no reply within 300 ms"));
  CHECK(mentions(errors.text(), {"MANTIK_API_URL", "Takt retries", "3 points"}));
  CHECK(errors.lines().size() == 1);
}

TEST_CASE("Mantik login: nothing waits for the next token while one is valid", "[timed]") {
  Rig rig;
  rig.write_cache("old", kStart + 200);
  rig.mantik.taken = {"old"};
  rig.mantik.fails = true;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.refreshed() == 1);  // not for every request
  now_s = kStart + 201;
  client.take(with_metrics(1, 1));
  CHECK_FALSE(deliver(client, 50));
  rig.mantik.fails = false;
  CHECK(deliver(client));
}

TEST_CASE("Mantik login: a wrong clock does not cause a token request per request", "[timed]") {
  Rig rig;
  rig.mantik.lifetime_s = -7200;
  MlflowClient client(rig.options(), quick());
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  CHECK(rig.mantik.created() + rig.mantik.refreshed() == 1);
}

TEST_CASE("Mantik login: never creates an experiment", "[timed]") {
  const support::CaughtErrors errors;
  Rig rig;
  MlflowOptions options = rig.options();
  options.experiment_name = "mine";
  MlflowClient client(options, quick());
  client.take(with_metrics(0, 1));
  CHECK_FALSE(deliver(client));
  CHECK(client.stopped());
  CHECK(rig.mantik.of("experiments/create").empty());
  CHECK(mentions(errors.text(), {"\"mine\"", "Mantik"}));

  options.experiment_name.clear();
  options.experiment_id.clear();
  CHECK_THROWS_WITH(takt::MlflowExporter(options), takt_test::containing("MLFLOW_EXPERIMENT_ID"));
  MlflowClient without(options, quick());
  without.take(with_metrics(0, 1));
  CHECK(without.stopped());
  options.run_id = "r1";
  CHECK_NOTHROW(takt::MlflowExporter(options));
}

TEST_CASE("Mantik options that cannot work are refused with the remedy and without a secret", "[timed]") {
  Rig rig;
  const auto refused = [&](void (*change)(MlflowOptions&)) {
    MlflowOptions options = rig.options();
    change(options);
    try {
      const takt::MlflowExporter exporter(options);
    } catch (const takt::Error& error) {
      CHECK_FALSE(contains(error.what(), "ss w"));
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  CHECK(mentions(refused([](MlflowOptions& options) { options.mantik.password.clear(); }), {"MANTIK_PASSWORD"}));
  CHECK(mentions(refused([](MlflowOptions& options) { options.mantik.username.clear(); }), {"MANTIK_USERNAME"}));
  CHECK(mentions(refused([](MlflowOptions& options) { options.mantik.api_url = "ftp://x:pass word@y"; }),
                 {"MANTIK_API_URL", "http:// or https://"}));
  const auto api = [](MlflowOptions& options) { options.mantik.api_url = "http://mantik.example.org/api"; };
  CHECK(mentions(refused(api), {"MANTIK_API_URL", "http://mantik.example.org/api"}));
  const auto tracking = [](MlflowOptions& options) { options.tracking_uri = "http://mantik.example.org/t"; };
  CHECK(mentions(refused(tracking), {"MLFLOW_TRACKING_URI", "http://mantik.example.org/t"}));
  const auto meant = [](MlflowOptions& options) {
    options.mantik.api_url = options.tracking_uri = "http://mantik.example.org";
    options.insecure_tls = true;
  };
  const support::CaughtErrors errors;
  CHECK(refused(meant) == "not refused");
}

TEST_CASE("Mantik options come from Mantik's variables and apply to Mantik's own host") {
  const support::CaughtErrors errors;
  support::ScopedEnvironment environment({{"MANTIK_USERNAME", "ada"}, {"MANTIK_PASSWORD", kPassword}});
  for (const char* const name : {"MLFLOW_TRACKING_URI", "MANTIK_API_URL", "MLFLOW_TRACKING_TOKEN"}) {
    environment.unset(name);
  }
  MlflowOptions options = MlflowOptions::from_env();
  CHECK(options.mantik.username == "ada");
  CHECK(options.mantik.password == kPassword);
  CHECK(takt::detail::mlflow_http_options(options, {}, {}).url == "https://api.cloud.mantik.ai/tracking");
  environment.set("MLFLOW_TRACKING_URI", "https://API.cloud.mantik.ai:443/tracking/");
  CHECK(MlflowOptions::from_env().mantik.username == "ada");

  environment.set("MLFLOW_TRACKING_TOKEN", "token");
  environment.unset("MANTIK_PASSWORD");
  CHECK(MlflowOptions::from_env().mantik.username.empty());  // a job, with a token from outside
  environment.set("MANTIK_PASSWORD", kPassword);
  CHECK(MlflowOptions::from_env().mantik.username == "ada");

  CHECK(errors.lines().empty());
  environment.set("MLFLOW_TRACKING_URI", "https://u:s3cr3t@mlflow.example.org");
  options = MlflowOptions::from_env();
  CHECK(options.mantik.username.empty());
  CHECK(options.mantik.password.empty());
  CHECK(mentions(errors.text(),
                 {"MLFLOW_TRACKING_URI", "https://mlflow.example.org:443", "https://api.cloud.mantik.ai:443"}));
  CHECK_FALSE(contains(errors.text(), "s3cr3t"));
  environment.set("MANTIK_API_URL", "https://mlflow.example.org/mantik-api");
  CHECK(MlflowOptions::from_env().mantik.username == "ada");
}

TEST_CASE("Mantik login: none of its data is in the cursor file", "[timed]") {
  Rig rig;
  MlflowClient client(rig.options(), quick());
  client.keep_cursor(rig.scratch.path("mlflow.json"));
  client.take(with_metrics(0, 1));
  REQUIRE(deliver(client));
  const std::string cursor = read_text(rig.scratch.path("mlflow.json"));
  REQUIRE(contains(cursor, "\"run_id\":\"r1\""));
  for (const char* const secret : {"access-1", "refresh-1", "ss w"}) { CHECK_FALSE(contains(cursor, secret)); }
}
