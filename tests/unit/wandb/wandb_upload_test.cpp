// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_upload.hpp"

#include <takt/error.hpp>
#include <takt/exporters/wandb.hpp>

#include "wandb/wandb_config.hpp"
#include "wandb/wandb_log.hpp"
#include "wandb/wandb_requests.hpp"
#include "wandb/wandb_rows.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_wandb.hpp"
#include "support/mentions.hpp"
#include "support/patience.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace takt_test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using takt::WandbOptions;
using takt::WandbResume;
using takt::detail::WandbBehind;
using takt::detail::WandbLog;
using takt::detail::WandbRecords;
using takt::detail::WandbSent;
using takt::detail::WandbTimes;
using takt::detail::WandbUpload;
using Json = nlohmann::json;

namespace {

const std::string kKey(40, 'k');
constexpr const char* kBasic = "authorization: Basic";

WandbTimes quick() {
  WandbTimes times;
  times.tries.connect = milliseconds(20'000);
  times.tries.first_wait = milliseconds(1);
  times.tries.longest_wait = milliseconds(4);
  times.transmit = times.heartbeat = milliseconds(3'600'000);
  return times;
}

/// A log in its own directory, and its sender.
struct WandbUploadRig {
  explicit WandbUploadRig(FakeWandb::Fault fault = {}) : server(std::move(fault)) {
    std::filesystem::create_directories(scratch.path("run/files/takt"));
    write_text(scratch.path("run/files/takt/table.txt"), "a table");
    REQUIRE(log.create(file));
    takt::detail::WandbIdentity identity;
    identity.id = "id";
    identity.name = "n\xC3\xA4me";
    identity.tags = {"one", "two"};
    log.append(records.header("test"));
    log.append(records.run(identity, {{"lr", "0.25"}, {"odd", "NaN"}}));
    log.append(records.axis("takt/step"));
    log.append(records.drawn_over("*", "takt/step"));
    REQUIRE(log.flush());
    options.base_url = server.http.url();
    options.api_key = kKey;
  }

  void row(std::int64_t step, const std::string& text = "x") {
    log.append(records.history({{"text", takt::detail::wandb_json(text)}, {"_step", std::to_string(step)}}, step));
    log.append(records.summary({{"_step", std::to_string(step)}}));
    REQUIRE(log.flush());
  }
  void system(std::int64_t second) {
    log.append(records.system({{"gpu.0.gpu", std::to_string(second)}}, second * 1'000'000'000));
    REQUIRE(log.flush());
  }
  void end(int code = 0) {
    log.append(records.file("takt/table.txt"));
    log.append(records.exit(code, 1));
    REQUIRE(log.flush());
  }
  WandbUpload& upload() {
    if (sender == nullptr) {
      sender = std::make_unique<WandbUpload>(
          options, file, before,
          [this](const std::string&, const WandbBehind& behind) {
            noted.push_back(behind);
            return may_note;
          },
          times);
    }
    return *sender;
  }
  bool deliver(int ms = 60'000, bool all = true) {
    return upload().deliver(steady_clock::now() + milliseconds(ms), all);
  }

  FakeWandb server;
  Scratch scratch;
  std::string file = scratch.path("run/run-id.wandb");
  WandbLog log;
  WandbRecords records;
  WandbOptions options;
  WandbTimes times = quick();
  WandbSent before;
  std::vector<WandbBehind> noted;
  bool may_note = true;
  std::unique_ptr<WandbUpload> sender;
};

/// Changes the answer to requests of `kind`, `times` times.
FakeWandb::Fault once(std::string kind, std::function<void(FakeAnswer&)> change, int times = 1) {
  return [=, left = std::make_shared<std::atomic<int>>(times)](const std::string& is, const FakeRequest&,
                                                               FakeAnswer& answer) {
    if (is == kind && left->fetch_sub(1) > 0) { change(answer); }
  };
}

}  // namespace

TEST_CASE("W&B upload: creates the run, sends rows, uploads files and sends the end, in this order", "[timed]") {
  WandbUploadRig rig;
  rig.row(0);
  rig.row(1);
  rig.end(3);
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  CHECK(exists(rig.file + ".synced"));
  CHECK(rig.upload().run() == "some/one/p r/id");
  CHECK(rig.upload().lines() == 2);
  CHECK(rig.server.kinds() == std::vector<std::string>{"upsert", "stream", "files", "file", "file", "file", "stream"});
  const auto requests = rig.server.http.requests();
  const Json variables = Json::parse(requests[0].body)["variables"];
  CHECK(variables["name"] == "id");
  CHECK(variables["displayName"] == "n\xC3\xA4me");
  CHECK(variables["tags"] == Json({"one", "two"}));
  CHECK(variables["entity"].is_null());
  CHECK(contains(variables["config"], R"("lr":{"value":0.25})"));
  CHECK(contains(variables["config"], R"("odd":{"value":NaN})"));
  CHECK(contains(variables["config"], R"({"2":"*","5":1,"6":[1],"7":[]})"));
  CHECK(requests[1].path == "/files/some%2Fone/p%20r/id/file_stream");
  CHECK(rig.server.history() == std::vector<std::string>{R"({"text":"x","_step":0})", R"({"text":"x","_step":1})"});
  CHECK(contains(requests[1].body, R"("wandb-summary.json":{"offset":0,"content":["{\"_step\":1}"]})"));
  CHECK(requests[3].body == "a table");
  CHECK(requests[4].body == R"({"_step":1})");
  CHECK(contains(requests[5].body, R"("lr":{"value":0.25})"));
  CHECK(Json::parse(requests[6].body) == Json({{"uploaded", {"takt/table.txt", "wandb-summary.json", "config.yaml"}},
                                               {"complete", true},
                                               {"exitcode", 3}}));
}

TEST_CASE("W&B upload: sends the key to the server, but not to the file store", "[timed]") {
  FakeHttp store([](const FakeRequest&) { return FakeAnswer(); });
  WandbUploadRig rig;
  rig.server.store = store.url();
  rig.end();
  CHECK(rig.deliver());
  for (const FakeRequest& each : rig.server.http.requests()) { CHECK(contains(each.headers, kBasic)); }
  REQUIRE(store.requests().size() == 3);
  for (const FakeRequest& each : store.requests()) {
    CHECK(contains(each.path, "?sign=s"));
    CHECK_FALSE(contains(each.headers, "authorization"));
    CHECK_FALSE(contains(each.headers, "x-evil"));
    CHECK(contains(each.headers, "x-store: yes"));
  }
}

TEST_CASE("W&B upload: searches for a run of the same id on request, and then never overwrites it", "[timed]") {
  const WandbResume resume = GENERATE(WandbResume::allow, WandbResume::must, WandbResume::never);
  const bool has_run = GENERATE(false, true);
  const bool started = GENERATE(false, true);  // the existing one
  const support::CaughtErrors errors;
  WandbUploadRig rig(once(
      "resume", [](FakeAnswer& answer) { answer.cut = true; }, 1));
  rig.server.has_run = has_run;
  rig.server.started = started;
  if (has_run && started) { rig.server.before = {"{}", "{}"}; }
  rig.options.resume = resume;
  rig.row(0);
  rig.end();
  const bool is_there = has_run && started;
  const bool sent = is_there ? resume != WandbResume::never : resume != WandbResume::must;
  CHECK(rig.deliver() == sent);
  CHECK(rig.upload().stopped() == !sent);
  CHECK(rig.server.of_kind("resume").size() == 2);
  CHECK(rig.server.of_kind("upsert").size() == (sent ? 1 : 0));
  const std::vector<std::string> history = rig.server.history();
  CHECK(history.size() == (sent ? 1U : 0U) + (is_there ? 2U : 0U));
  if (is_there) { CHECK(history[1] == "{}"); }
  const Json variables = Json::parse(rig.server.of_kind("resume")[0].body)["variables"];
  CHECK(variables["name"] == "id");
  if (sent) { return; }
  CHECK(contains(errors.text(), is_there ? "it has a run id" : "it has no run id"));
  CHECK(contains(errors.text(), "wandb sync --id") == (resume == WandbResume::never));
  CHECK(contains(errors.text(), "wandb sync"));
}

namespace {

/// Puts a run of the same id that has lasted 100 s and has three rows, the last with number 9.
void put_earlier_run(WandbUploadRig& rig) {
  rig.server.has_run = true;
  rig.server.before = {"{}", "{}", "{}"};
  rig.server.there = {{"id", "storage"},
                      {"historyTail", R"(["{\"_step\":9,\"_runtime\":99.5,\"loss\":NaN}"])"},
                      {"eventsTail", "[]"},
                      {"summaryMetrics", R"({"best":NaN,"_step":9,"text":"a, \"b\": {","_wandb":{"runtime":100}})"},
                      {"config", R"({"old":{"desc":null,"value":{"a":[1,Infinity]}},"lr":{"value":9},)"
                                 R"("_wandb":{"value":{"t":{"12":"other"},"viz":{"v":1}}}})"},
                      {"tags", {"kept"}},
                      {"notes", "a note"}};
}

Json only_line(const FakeRequest& stream, const char* file) {
  return Json::parse(Json::parse(stream.body)["files"][file]["content"][0].get<std::string>());
}

}  // namespace

TEST_CASE("W&B upload: a continued run continues its rows, time, summary and config", "[timed]") {
  WandbUploadRig rig;
  put_earlier_run(rig);
  rig.options.resume = GENERATE(WandbResume::allow, WandbResume::must);
  rig.log.append(rig.records.history({{"loss", "1"}, {"_runtime", "1.5"}, {"_step", "0"}}, 0));
  rig.log.append(rig.records.summary({{"_step", "0"}, {"text", "\"new\""}, {"_wandb", R"({"runtime":2})"}}));
  REQUIRE(rig.log.flush());
  rig.end();
  CHECK(rig.deliver());
  const Json variables = Json::parse(rig.server.of_kind("upsert")[0].body)["variables"];
  CHECK(variables["id"] == "storage");
  CHECK(variables["displayName"].is_null());  // the Session's name is no reason to change an existing one
  CHECK(variables["notes"] == "a note");
  CHECK(variables["tags"] == Json({"one", "two"}));
  const std::string config = variables["config"];
  CHECK(contains(config, R"("old":{"value":{"a":[1,Infinity]}})"));
  CHECK(contains(config, R"("lr":{"value":0.25})"));
  CHECK(contains(config, R"("viz":{"v":1})"));
  CHECK(contains(config, R"("t":{"12":"takt-)"));
  const FakeRequest stream = rig.server.of_kind("stream")[0];
  CHECK(contains(stream.body, R"("wandb-history.jsonl":{"offset":3)"));
  CHECK(only_line(stream, "wandb-history.jsonl") == Json({{"loss", 1}, {"_runtime", 101.5}, {"_step", 10}}));
  CHECK(contains(stream.body, R"(\"best\":NaN)"));
  CHECK(contains(stream.body, R"(\"text\":\"new\")"));
  CHECK(contains(stream.body, R"(\"_wandb\":{\"runtime\":102})"));
  CHECK(contains(stream.body, R"(\"_step\":10)"));
  REQUIRE(rig.noted.size() == 1);
  CHECK(rig.noted[0].resumed);
  CHECK(rig.noted[0].lines == 3);
  CHECK(rig.upload().lines() == 1);
}

TEST_CASE("W&B upload: continuing a log puts its lines after existing ones, wherever it stopped", "[timed]") {
  const bool resumed = GENERATE(false, true);
  WandbUploadRig rig;
  put_earlier_run(rig);
  if (resumed) { rig.options.resume = WandbResume::allow; }
  for (int step = 0; step < 3; ++step) { rig.row(step); }
  CHECK(rig.deliver());
  rig.before.started = true;
  rig.before.lines = GENERATE(0U, 2U, 3U);
  rig.before.behind = rig.noted.at(0);
  rig.options.resume = WandbResume::unset;
  rig.sender.reset();
  rig.row(3);
  rig.end();
  CHECK(rig.deliver());
  const std::vector<std::string> history = rig.server.history();
  REQUIRE(history.size() == 7);
  for (std::size_t at = 3; at < 7; ++at) { CHECK(Json::parse(history[at])["_step"] == (resumed ? at + 7 : at - 3)); }
  CHECK(contains(rig.server.of_kind("stream").at(1).body, R"(\"best\":NaN)") == resumed);
}

TEST_CASE("W&B upload: keeps lines that another program appended, and data that a run has only once", "[timed]") {
  const support::CaughtErrors errors;
  WandbUploadRig rig;
  for (int step = 0; step < 7; ++step) { rig.row(step); }
  rig.end(1);
  rig.server.has_run = true;
  rig.server.before = {"{}", "{}", "{}"};  // of this log
  for (int line = 0; line < 5; ++line) { rig.server.plant(R"({"loss":1,"_step":)" + std::to_string(3 + line) + "}"); }
  rig.before.started = true;
  rig.before.lines = 3;
  rig.before.run = "some/one/p r/id";
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  const std::vector<std::string> history = rig.server.history();
  REQUIRE(history.size() == 12);
  for (std::size_t at = 3; at < 8; ++at) { CHECK(Json::parse(history[at])["loss"] == 1); }
  for (std::size_t at = 8; at < 12; ++at) { CHECK(Json::parse(history[at])["_step"] == at); }
  CHECK(rig.server.kinds() == std::vector<std::string>{"resume", "stream"});
  const Json body = Json::parse(rig.server.of_kind("stream")[0].body);
  CHECK_FALSE(body["files"].contains("wandb-summary.json"));
  CHECK_FALSE(body.contains("exitcode"));
  REQUIRE(rig.noted.size() == 1);
  CHECK((rig.noted[0].newer && rig.noted[0].lines == 5));
  CHECK(contains(errors.text(), "another process has written"));

  // The next one has nothing to do.
  rig.before.lines = rig.upload().lines();
  rig.before.behind = rig.noted[0];
  rig.sender.reset();
  CHECK(rig.deliver());
  CHECK(rig.server.kinds() == std::vector<std::string>{"resume", "stream", "resume"});
}

TEST_CASE("W&B upload: does not repeat lines that arrived before this was noted", "[timed]") {
  WandbUploadRig rig;
  for (int step = 0; step < 5; ++step) { rig.row(step); }
  CHECK(rig.deliver());
  rig.before.started = true;
  rig.before.lines = GENERATE(0U, 2U, 4U);
  rig.sender.reset();
  rig.row(5);
  rig.end();
  CHECK(rig.deliver());
  CHECK(rig.server.history().size() == 6);
  const Json body = Json::parse(rig.server.of_kind("stream")[1].body);
  CHECK(body["files"]["wandb-history.jsonl"]["offset"] == 5);
  CHECK(rig.server.of_kind("stream").back().body.find("exitcode") != std::string::npos);
}

TEST_CASE("W&B upload: recognizes a log sent by wandb sync by its last line and does not send it again", "[timed]") {
  const bool is_own = GENERATE(true, false);
  WandbUploadRig rig;
  for (int step = 0; step < 5; ++step) { rig.row(step); }
  rig.end();
  rig.server.has_run = true;
  for (int line = 0; line < 3; ++line) {
    const std::string text = is_own ? "x" : "theirs";
    rig.server.before.push_back(R"({"_step": )" + std::to_string(line) + R"(.0, "text": ")" + text + "\"}");
  }
  rig.server.there["historyTail"] = Json::array({rig.server.before.back()}).dump();
  rig.before.by_others = true;
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  const std::vector<std::string> history = rig.server.history();
  REQUIRE(history.size() == (is_own ? 5 : 8));
  for (std::size_t at = 0; at < 3; ++at) { CHECK(history[at] == rig.server.before[at]); }
  CHECK(Json::parse(history.back())["_step"] == 4);
}

TEST_CASE("W&B upload: queries the server again after an outage and overwrites no other lines", "[timed]") {
  const bool by_others = GENERATE(false, true);
  WandbUploadRig* now = nullptr;
  bool met = false;
  WandbUploadRig rig([&](const std::string& kind, const FakeRequest& request, FakeAnswer& answer) {
    if (kind != "stream" || !contains(request.body, R"("offset":1,)") || std::exchange(met, true)) { return; }
    if (by_others) {
      now->server.plant(R"({"theirs":1,"_step":1})");
      answer.status = 503;
    } else {
      now->server.take_lines(request);  // but its answer is lost
      answer.cut = true;
    }
  });
  now = &rig;
  rig.row(0);
  rig.deliver();
  rig.row(1);
  rig.end();
  CHECK(rig.deliver());
  const std::vector<std::string> history = rig.server.history();
  CHECK(met);
  REQUIRE(history.size() == (by_others ? 3 : 2));
  CHECK(contains(history[1], "theirs") == by_others);
  CHECK(Json::parse(history.back())["text"] == "x");
  CHECK(rig.upload().complete());
}

TEST_CASE("W&B upload: notes the position of the lines before sending them", "[timed]") {
  WandbUploadRig rig;
  rig.may_note = false;
  rig.row(0);
  CHECK_FALSE(rig.deliver());
  CHECK(rig.server.kinds() == std::vector<std::string>{"upsert"});
  rig.may_note = true;
  rig.end();
  CHECK(rig.deliver());
  CHECK(rig.server.history().size() == 1);
}

TEST_CASE("W&B upload: repeats or ends if a server cannot say whether the run exists", "[timed]") {
  const int status = GENERATE(200, 401, 503);
  const support::CaughtErrors errors;
  WandbUploadRig rig(once(
      "resume",
      [&](FakeAnswer& answer) {
        answer.status = status;
        answer.body = status == 200 ? R"({"data":{}})" : "no";
      },
      2));
  rig.options.resume = WandbResume::allow;
  rig.row(0);
  rig.end();
  CHECK(rig.deliver() == (status != 401));
  CHECK(rig.server.history().size() == (status == 401 ? 0 : 1));
}

TEST_CASE("W&B upload: the suggested command neither duplicates nor overwrites data") {
  using takt::detail::wandb_upload_command;
  CHECK(wandb_upload_command("/a b", "/r", WandbResume::unset, false) == "wandb sync '/a b'");
  CHECK(wandb_upload_command("/a", "/r", WandbResume::allow, false) == "wandb sync /a");
  CHECK(wandb_upload_command("/a", "/r", WandbResume::never, false) == "wandb sync --id <another id> /a");
  const WandbResume resume = GENERATE(WandbResume::unset, WandbResume::allow, WandbResume::must, WandbResume::never);
  CHECK(wandb_upload_command("/a", "/r un", resume, true) == "takt sync --to wandb '/r un'");
  CHECK(wandb_upload_command("/a", "", resume, true) == "wandb sync --id <another id> /a");
}

TEST_CASE("W&B upload: after a partial upload it suggests takt sync for the rest", "[timed]") {
  const bool in_part = GENERATE(false, true);
  const support::CaughtErrors errors;
  WandbUploadRig rig([=](const std::string& kind, const FakeRequest& request, FakeAnswer& answer) {
    const bool later = contains(request.body, R"("offset":1)");
    if (kind == (in_part ? "stream" : "upsert") && later == in_part) { answer.status = 401; }
  });
  rig.before.run_directory = "/run directory";
  rig.row(0);
  rig.deliver();
  rig.row(1);
  CHECK_FALSE(rig.deliver());
  CHECK(contains(errors.text(), in_part ? "takt sync --to wandb '/run directory'" : "wandb sync "));
  CHECK(contains(errors.text(), "takt sync") == in_part);
}

TEST_CASE("W&B upload: after a lost reply it repeats the same bytes at the same offset", "[timed]") {
  const std::string kind = GENERATE(as<std::string>(), "upsert", "stream", "files", "file");
  WandbUploadRig rig(once(
      kind, [](FakeAnswer& answer) { answer.cut = true; }, 3));
  rig.row(0);
  rig.row(1);
  rig.end();
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  const std::vector<FakeRequest> asked = rig.server.of_kind(kind);
  REQUIRE(asked.size() >= 4);
  for (std::size_t at = 1; at < 4; ++at) { CHECK(asked[at].body == asked[0].body); }
  CHECK(rig.server.history().size() == 2);
}

TEST_CASE("W&B upload: repeats after temporary errors and ends at permanent ones", "[timed]") {
  const std::string kind = GENERATE(as<std::string>(), "upsert", "stream");
  const int status = GENERATE(302, 400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 500, 501, 502, 503, 504);
  const std::set<int> passing = {408, 429, 500, 502, 503, 504};
  const bool passes = passing.count(status) != 0 || (status == 409 && kind == "upsert");
  const support::CaughtErrors errors;
  WandbUploadRig rig(once(
      kind,
      [&](FakeAnswer& answer) {
        answer.status = status;
        answer.body = "no, " + kKey;
      },
      2));
  rig.row(0);
  rig.end();
  CHECK(rig.deliver() == passes);
  CHECK(rig.upload().stopped() == !passes);
  CHECK(rig.upload().complete() == passes);
  CHECK(rig.server.history().size() == (passes ? 1 : 0));
  CHECK(contains(errors.text(), std::to_string(status)));
  CHECK(contains(errors.text(), "Upload it with") == !passes);
  CHECK_FALSE(contains(errors.text(), kKey));
  const std::size_t requests = rig.server.http.requests().size();
  rig.deliver();
  CHECK(rig.server.http.requests().size() == requests);
}

TEST_CASE("W&B upload: the id of a deleted run cannot be reused, and only another one helps", "[timed]") {
  const bool started = GENERATE(false, true);
  const support::CaughtErrors errors;
  WandbUploadRig rig([](const std::string& kind, const FakeRequest&, FakeAnswer& answer) {
    if (kind != "upsert") { return; }
    answer.status = 409;
    answer.body = R"({"errors":[{"message":"run e/p/id was previously created and deleted; try a new run name"}]})";
  });
  rig.before.started = started;
  rig.before.run_directory = rig.scratch.path("run");
  rig.row(0);
  rig.end();
  CHECK_FALSE(rig.deliver());
  CHECK(rig.upload().stopped());
  CHECK(rig.server.http.requests().size() == (started ? 2 : 1));
  CHECK(mentions(errors.text(), {"previously created and deleted", "wandb sync --id <another id> "}));
}

TEST_CASE("W&B upload: a server that repeats the request does not make it show the key", "[timed]") {
  const support::CaughtErrors errors;
  WandbUploadRig rig([](const std::string&, const FakeRequest& request, FakeAnswer& answer) {
    answer.status = 400;
    answer.body = "I do not like " + request.headers.substr(request.headers.find("authorization:"), 100);
  });
  rig.row(0);
  CHECK_FALSE(rig.deliver());
  CHECK(contains(errors.text(), "authorization: Basic ***"));
}

TEST_CASE("W&B upload: neither follows a redirect nor shows its contents", "[timed]") {
  FakeHttp elsewhere([](const FakeRequest&) { return FakeAnswer(); });
  const support::CaughtErrors errors;
  WandbUploadRig rig([&](const std::string&, const FakeRequest&, FakeAnswer& answer) {
    answer.status = 307;
    answer.headers = "Location: " + elsewhere.url() + "/graphql?secret=1\r\n";
  });
  CHECK_FALSE(rig.deliver());
  CHECK(rig.upload().stopped());
  CHECK(elsewhere.requests().empty());
  CHECK(contains(errors.text(), "WANDB_BASE_URL"));
  CHECK_FALSE(contains(errors.text(), "secret"));
}

TEST_CASE("W&B upload: waits as long as the server asks, up to a limit", "[timed]") {
  WandbUploadRig rig(once("stream", [](FakeAnswer& answer) {
    answer.status = 429;
    answer.headers = "Retry-After: 100000\r\n";
  }));
  rig.times.tries.longest_retry_after = milliseconds(300);
  rig.row(0);
  rig.end();
  CHECK(takt_test::until([&] { return !rig.server.of_kind("stream").empty(); }, [&] { rig.deliver(50); }));
  CHECK(rig.deliver());
  const auto asked = rig.server.of_kind("stream");
  REQUIRE(asked.size() >= 2);
  CHECK(asked[1].at - asked[0].at >= milliseconds(300));
}

TEST_CASE("W&B upload: spreads the rest of the server's rate limit over its period", "[timed]") {
  const bool scarce = GENERATE(false, true);
  WandbUploadRig rig(once("upsert", [&](FakeAnswer& answer) {
    answer.headers = std::string("RateLimit-Remaining: ") +
                     (scarce ? "0\r\nratelimit-reset: 0.3\r\n" : "100000\r\nratelimit-reset: 60\r\n");
  }));
  rig.end();
  if (scarce) {
    CHECK(takt_test::until([&] { return !rig.server.http.requests().empty(); }, [&] { rig.deliver(50); }));
  }
  CHECK(rig.deliver());
  const auto asked = rig.server.http.requests();
  REQUIRE(asked.size() >= 2);
  const auto waited = asked[1].at - asked[0].at;
  CHECK((scarce ? waited >= milliseconds(300) : waited < milliseconds(30'000)));
}

TEST_CASE("W&B upload: rows wait for the next request that is due, and silence causes a heartbeat", "[timed]") {
  WandbUploadRig rig;
  rig.row(0);
  CHECK(rig.deliver(60'000, false));
  CHECK(rig.server.kinds() == std::vector<std::string>{"upsert", "stream"});
  rig.row(1);
  CHECK(rig.deliver(60'000, false));
  CHECK(rig.server.kinds().size() == 2);
  CHECK(rig.deliver(60'000, true));
  CHECK(rig.server.history().size() == 2);
  CHECK(contains(rig.server.http.requests().back().body, R"("offset":1)"));

  rig.sender.reset();
  rig.times.heartbeat = milliseconds(1);
  while (rig.server.http.requests().back().body != "{}") { rig.deliver(20, false); }
}

TEST_CASE("W&B upload: sends a changed config", "[timed]") {
  WandbUploadRig rig;
  CHECK(rig.deliver());
  rig.log.append(rig.records.config({{"lr", "0.5"}}));
  REQUIRE(rig.log.flush());
  CHECK(rig.deliver());
  CHECK(rig.server.kinds() == std::vector<std::string>{"upsert", "upsert"});
  const Json variables = Json::parse(rig.server.http.requests().back().body)["variables"];
  CHECK(contains(variables["config"], R"("lr":{"value":0.5})"));
  CHECK(variables["entity"] == "some/one");
  CHECK(variables["displayName"].is_null());
}

TEST_CASE("W&B upload: sends many rows in consecutive requests of limited size", "[timed]") {
  WandbUploadRig rig;
  for (int step = 0; step < 8; ++step) { rig.row(step, std::string(1'000'000, 'a')); }
  rig.row(8, std::string(4'500'000, 'b'));
  rig.end();
  CHECK(rig.deliver());
  CHECK(rig.server.of_kind("stream").size() > 3);
  for (const FakeRequest& each : rig.server.of_kind("stream")) { CHECK(each.body.size() < 10'000'000); }
  const std::vector<std::string> history = rig.server.history();
  REQUIRE(history.size() == 9);
  for (std::size_t at = 0; at < history.size(); ++at) { CHECK(Json::parse(history[at])["_step"] == at); }
}

TEST_CASE("W&B upload: system metrics have a separate file in which each line has its offset, too", "[timed]") {
  WandbUploadRig rig(once(
      "stream", [](FakeAnswer& answer) { answer.cut = true; }, 2));
  rig.system(15);
  rig.row(0);
  rig.system(30);
  CHECK(rig.deliver());
  CHECK(rig.upload().events() == 2);
  rig.system(45);  // alone, without a row
  CHECK(rig.deliver());
  rig.end();
  CHECK(rig.deliver());
  const std::vector<std::string> events = rig.server.events();
  REQUIRE(events.size() == 3);
  for (std::size_t at = 0; at < events.size(); ++at) {
    const Json line = Json::parse(events[at]);
    CHECK(line["_wandb"] == true);
    CHECK(line["_timestamp"] == 15.0 * static_cast<double>(at + 1));
    CHECK(line["system.gpu.0.gpu"] == 15 * (at + 1));
  }
  CHECK(rig.server.history().size() == 1);
  CHECK((rig.upload().lines() == 1 && rig.upload().events() == 3));
}

TEST_CASE("W&B upload: appends system metrics to existing ones, once", "[timed]") {
  WandbUploadRig rig;
  put_earlier_run(rig);
  rig.server.there["eventsLineCount"] = 40;
  rig.options.resume = WandbResume::allow;
  rig.system(15);
  rig.row(0);
  rig.system(30);
  CHECK(rig.deliver());
  CHECK(rig.noted.at(0).events == 40);
  rig.before.started = true;
  rig.before.lines = 1;
  rig.before.events = 1;
  rig.before.behind = rig.noted.at(0);
  rig.options.resume = WandbResume::unset;
  rig.sender.reset();
  const std::size_t asked = rig.server.of_kind("stream").size();
  rig.end();
  CHECK(rig.deliver());
  const Json body = Json::parse(rig.server.of_kind("stream").at(asked).body);
  CHECK_FALSE(body["files"].contains("wandb-history.jsonl"));
  CHECK(body["files"]["wandb-events.jsonl"]["offset"] == 41);
  CHECK(body["files"]["wandb-events.jsonl"]["content"].size() == 1);
  CHECK(rig.server.events().size() == 42);
}

TEST_CASE("W&B upload: does not repeat data sent by an earlier process", "[timed]") {
  WandbUploadRig rig;
  for (int step = 0; step < 5; ++step) { rig.row(step); }
  rig.end();
  rig.before.started = true;
  rig.before.lines = 3;
  CHECK(rig.deliver());
  CHECK(contains(rig.server.of_kind("stream")[0].body, R"("offset":3)"));
  CHECK(rig.upload().lines() == 5);
}

TEST_CASE("W&B upload: a silent server takes no longer than its timeout and is tried again", "[timed]") {
  WandbUploadRig rig(once("stream", [](FakeAnswer& answer) { answer.silent = true; }));
  rig.options.request_timeout = milliseconds(200);
  rig.row(0);
  rig.end();
  CHECK_FALSE(rig.deliver(20));
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  CHECK(rig.server.history().size() == 1);
}

TEST_CASE("W&B upload: repeats a request after an invalid answer", "[timed]") {
  const std::string kind = GENERATE(as<std::string>(), "upsert", "stream", "files");
  WandbUploadRig rig(once(
      kind, [](FakeAnswer& answer) { answer.body = "<html>please log in</html>"; }, 2));
  rig.row(0);
  rig.end();
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  CHECK(rig.server.history().size() == 1);
}

TEST_CASE("W&B upload: a GraphQL error ends it", "[timed]") {
  const support::CaughtErrors errors;
  WandbUploadRig rig(
      once("upsert", [](FakeAnswer& answer) { answer.body = R"({"errors":[{"message":"permission denied"}]})"; }));
  CHECK_FALSE(rig.deliver());
  CHECK(rig.upload().stopped());
  CHECK(contains(errors.text(), "permission denied"));
}

TEST_CASE("W&B upload: a refused file is missing, and the run still ends", "[timed]") {
  const int status = GENERATE(403, 404, 500);
  const support::CaughtErrors errors;
  WandbUploadRig rig(once(
      "file", [&](FakeAnswer& answer) { answer.status = status; }, 5));
  rig.end();
  rig.deliver();
  CHECK(rig.upload().ended());
  CHECK_FALSE(rig.upload().complete());
  CHECK_FALSE(exists(rig.file + ".synced"));
  CHECK(contains(errors.text(), "takt/table.txt"));
  CHECK_FALSE(contains(errors.text(), "sign=s"));
}

TEST_CASE("W&B upload: requests an expired file URL again", "[timed]") {
  WandbUploadRig rig(once("file", [](FakeAnswer& answer) { answer.status = 403; }));
  rig.end();
  CHECK(rig.deliver());
  CHECK(rig.upload().complete());
  CHECK(rig.server.of_kind("files").size() == 2);
}

TEST_CASE("W&B upload: without time for files it sends the end without them", "[timed]") {
  WandbUploadRig rig(
      [](const std::string& kind, const FakeRequest&, FakeAnswer& answer) { answer.silent = kind == "file"; });
  rig.row(0);
  rig.end();
  CHECK_FALSE(rig.deliver(100));
  rig.upload().give_up_files();
  CHECK(rig.deliver());
  CHECK(rig.upload().ended());
  CHECK_FALSE(rig.upload().complete());
  CHECK_FALSE(exists(rig.file + ".synced"));
}

TEST_CASE("W&B upload: a user's stop calls the program's handler, or is reported without one", "[timed]") {
  const support::CaughtErrors errors;
  const int listens = GENERATE(0, 1, 2);
  WandbUploadRig rig(once(
      "stream", [](FakeAnswer& answer) { answer.body = R"({"stopped":true})"; }, 2));
  int called = 0;
  if (listens != 0) {
    rig.options.on_stop = [&] {
      ++called;
      if (listens == 2) { throw std::runtime_error("not so"); }
    };
  }
  rig.row(0);
  CHECK(rig.deliver());
  rig.row(1);
  CHECK(rig.deliver());
  CHECK(called == (listens == 0 ? 0 : 1));
  CHECK(errors.lines().size() == (listens == 2 ? 2 : 1));
  CHECK(contains(errors.text(), listens == 0 ? "has no WandbOptions::on_stop" : "calling WandbOptions::on_stop"));
  CHECK(contains(errors.text(), "on_stop threw") == (listens == 2));
  CHECK(rig.server.history().size() == 2);
}

TEST_CASE("W&B upload: sends a damaged log up to the damage", "[timed]") {
  const support::CaughtErrors errors;
  WandbUploadRig rig;
  rig.row(0);
  const std::string good = read_text(rig.file);
  rig.row(1);
  std::string bad = read_text(rig.file);
  bad[good.size() + 20] ^= 1;
  write_text(rig.file, bad);
  CHECK_FALSE(rig.deliver());
  CHECK(rig.upload().stopped());
  CHECK(contains(errors.text(), "checksum"));
}

TEST_CASE("W&B upload: reports an unusable server at once") {
  WandbOptions options;
  options.api_key = kKey;
  options.base_url = "ftp://example.org";
  CHECK_THROWS_WITH(WandbUpload::check(options),
                    takt_test::containing("WANDB_BASE_URL") && !takt_test::containing("MLFLOW"));
  options.base_url = "";
  options.server_cert_path = "/not/there";
  CHECK_THROWS_WITH(WandbUpload::check(options), takt_test::containing("SSL_CERT_FILE"));
}

TEST_CASE("W&B upload: does not send the key unencrypted, unless requested") {
  WandbOptions options;
  options.api_key = kKey;
  options.base_url = "http://example.org";
  takt::detail::HttpOptions http = takt::detail::wandb_http_options(options, milliseconds(1));
  CHECK_FALSE(takt::detail::check_http_options(http));
  options.server_cert_path = "/some/file";
  CHECK(takt::detail::wandb_http_options(options, milliseconds(1)).ca_path == "/some/file");
  options.insecure_tls = true;
  http = takt::detail::wandb_http_options(options, milliseconds(1));
  CHECK(takt::detail::check_http_options(http));
  CHECK(http.ca_path.empty());
}

TEST_CASE("W&B upload: an invalid file store counts files as missing without a request", "[timed]") {
  const support::CaughtErrors errors;
  WandbUploadRig rig;
  rig.server.store = "ftp://127.0.0.1";
  rig.end();
  rig.deliver();
  CHECK(rig.upload().ended());
  CHECK_FALSE(rig.upload().complete());
  CHECK(rig.server.of_kind("file").empty());
}
