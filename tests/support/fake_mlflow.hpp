// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/fake_http.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace takt_test {

/// What a server keeps of a run: identical points once, as one with a database does.
struct FakeRun {
  std::set<std::string> points;  // JSON, with key, step, timestamp and value
  std::map<std::string, std::string> params;
  std::map<std::string, std::string> tags;
  std::map<std::string, int> files;  // how often each was sent
  std::string status = "RUNNING";
  std::string nonce;
  std::size_t sent_twice = 0;  // points
};

/// As much of an MLflow server as an exporter needs.
class FakeMlflow {
 public:
  enum class Mood {
    good,
    away,        ///< closes every connection
    deaf_reply,  ///< does what it is asked, and closes the connection instead of saying so
  };
  /// Asked at each request, with its number.
  using Moods = std::function<Mood(std::size_t)>;

  explicit FakeMlflow(Moods moods = [](std::size_t) { return Mood::good; })
      : moods_(std::move(moods)), http_([this](const FakeRequest& request) { return serve(request); }) {}

  /// From now on requests for which `fails` holds are answered with `status`, and nothing is done.
  void fail_over(std::function<bool(const FakeRequest&)> fails, int status = 500) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fails_ = std::move(fails);
    failure_ = status;
  }

  std::string url() const { return http_.url(); }
  std::size_t requests() const { return http_.requests().size(); }
  std::map<std::string, FakeRun> runs() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return runs_;
  }
  /// REQUIRES: there is one.
  FakeRun run() const { return runs().begin()->second; }

 private:
  using Json = nlohmann::json;

  FakeAnswer serve(const FakeRequest& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Mood mood = moods_(number_++);
    FakeAnswer answer;
    if (fails_(request)) {
      answer.status = failure_;
      return answer;
    }
    if (mood != Mood::away) { answer.body = answer_to(request); }
    answer.cut = mood != Mood::good;
    return answer;
  }

  static bool is(const FakeRequest& request, const char* end) { return request.path.find(end) != std::string::npos; }

  Json described(const std::string& id) const {
    const auto run = runs_.find(id);
    const std::string status = run == runs_.end() ? "RUNNING" : run->second.status;
    return {
        {"info", {{"run_id", id}, {"artifact_uri", "mlflow-artifacts:/0/" + id + "/artifacts"}, {"status", status}}}};
  }

  std::string answer_to(const FakeRequest& request) {
    if (request.method == "PUT") {
      const std::size_t name = request.path.rfind('/') + 1;
      const std::string id = request.path.substr(request.path.find("/0/") + 3);
      ++runs_[id.substr(0, id.find('/'))].files[request.path.substr(name)];
      return "";
    }
    if (request.method == "GET") {
      return Json{{"run", described(request.path.substr(request.path.find('=') + 1))}}.dump();
    }
    const Json body = Json::parse(request.body);
    if (is(request, "runs/create")) {
      const std::string id = "r" + std::to_string(runs_.size());
      for (const Json& tag : body["tags"]) {
        if (tag["key"] == "takt.create_nonce") { runs_[id].nonce = tag["value"]; }
      }
      return Json{{"run", described(id)}}.dump();
    }
    if (is(request, "runs/search")) {
      Json found = Json::array();
      for (const auto& [id, run] : runs_) {
        if (body["filter"].get<std::string>().find(run.nonce) != std::string::npos) { found.push_back(described(id)); }
      }
      return Json{{"runs", found}}.dump();
    }
    FakeRun& run = runs_[body["run_id"]];
    if (is(request, "runs/update")) { run.status = body["status"]; }
    for (const Json& each : body.value("metrics", Json::array())) {
      if (!run.points.insert(each.dump()).second) { ++run.sent_twice; }
    }
    for (const Json& each : body.value("params", Json::array())) { run.params[each["key"]] = each["value"]; }
    for (const Json& each : body.value("tags", Json::array())) { run.tags[each["key"]] = each["value"]; }
    return "{}";
  }

  Moods moods_;
  std::function<bool(const FakeRequest&)> fails_ = [](const FakeRequest&) { return false; };
  int failure_ = 500;
  mutable std::mutex mutex_;
  std::size_t number_ = 0;
  std::map<std::string, FakeRun> runs_;
  FakeHttp http_;  // last: it is stopped first
};

}  // namespace takt_test
