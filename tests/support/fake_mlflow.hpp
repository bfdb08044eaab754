// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/fake_http.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace takt_test {

/// The server's record of a run. A server with a database stores identical points once; one without also stores
/// `sent_twice`.
struct FakeRun {
  std::set<std::string> points;                                // JSON, with key, step, timestamp and value
  std::map<std::string, std::vector<nlohmann::json>> history;  // the same points by key, in order of arrival
  std::map<std::string, std::string> params;
  std::map<std::string, std::string> tags;
  std::map<std::string, int> files;  // number of uploads by file
  std::string status = "RUNNING";
  std::string nonce;
  std::size_t sent_twice = 0;  // points
};

/// The parts of an MLflow server that an exporter needs.
class FakeMlflow {
 public:
  enum class Mood {
    good,
    away,        ///< closes every connection
    deaf_reply,  ///< executes the request, then closes the connection instead of answering
    half,        ///< the same with only the first half of the points
  };
  /// Called for each request, with its number.
  using Moods = std::function<Mood(std::size_t)>;

  explicit FakeMlflow(Moods moods = [](std::size_t) { return Mood::good; })
      : moods_(std::move(moods)), http_([this](const FakeRequest& request) { return serve(request); }) {}

  /// From now on answers requests for which `fails` is true with `status`, without executing them.
  void fail_over(std::function<bool(const FakeRequest&)> fails, int status = 500) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fails_ = std::move(fails);
    failure_ = status;
  }

  std::string url() const { return http_.url(); }
  std::size_t requests(const std::string& endpoint = "") const {
    const std::vector<FakeRequest> all = http_.requests();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const FakeRequest& each) {
      return each.path.find(endpoint) != std::string::npos;
    }));
  }
  std::map<std::string, FakeRun> runs() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return runs_;
  }
  /// REQUIRES: a run exists.
  FakeRun run() const { return runs().begin()->second; }

 private:
  using Json = nlohmann::json;

  FakeAnswer serve(const FakeRequest& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Mood mood = moods_(number_++);
    FakeAnswer answer;
    if (fails_(request)) {
      answer.status = failure_;
      if (failure_ == 400) { answer.body = R"({"error_code":"INVALID_PARAMETER_VALUE","message":"no"})"; }
      return answer;
    }
    if (mood != Mood::away) { answer.body = answer_to(request, mood); }
    answer.cut = mood != Mood::good;
    return answer;
  }

  static constexpr std::size_t kPage = 7;  // points

  /// Sorts as databases do; a value that is not a number counts as 0.
  static std::tuple<std::int64_t, std::int64_t, double, bool> place(const Json& point) {
    const Json& value = point["value"];
    constexpr double kMax = std::numeric_limits<double>::max();
    if (value == "NaN") { return {point["step"], point["timestamp"], 0, true}; }
    const double number = value == "Infinity" ? kMax : value == "-Infinity" ? -kMax : value.get<double>();
    return {point["step"], point["timestamp"], number, false};
  }

  /// Returns the decoded value of `name` in the query.
  static std::string query(const FakeRequest& request, const std::string& name) {
    const std::size_t found = request.path.find(name + "=");
    if (found == std::string::npos) { return ""; }
    std::string text;
    for (std::size_t at = found + name.size() + 1; at < request.path.size() && request.path[at] != '&'; ++at) {
      const bool is_encoded = request.path[at] == '%';
      text += is_encoded ? static_cast<char>(std::stoi(request.path.substr(at + 1, 2), nullptr, 16)) : request.path[at];
      at += is_encoded ? 2 : 0;
    }
    return text;
  }

  /// Returns the history in pages.
  Json history(const FakeRequest& request) {
    const auto& known = runs_[query(request, "run_id")].history;
    const auto of_key = known.find(query(request, "metric_key"));
    if (of_key == known.end()) { return Json::object(); }
    const std::vector<Json>& all = of_key->second;
    const std::string token = query(request, "page_token");
    const std::size_t begin = token.empty() ? 0 : std::stoul(token);
    const std::size_t end = std::min(begin + kPage, all.size());
    Json reply = {{"metrics", Json::array()}};
    for (std::size_t at = begin; at < end; ++at) { reply["metrics"].push_back(all[at]); }
    if (end < all.size()) { reply["next_page_token"] = std::to_string(end); }
    return reply;
  }

  static bool is(const FakeRequest& request, const char* end) { return request.path.find(end) != std::string::npos; }

  Json described(const std::string& id) const {
    const auto run = runs_.find(id);
    const std::string status = run == runs_.end() ? "RUNNING" : run->second.status;
    Json latest = Json::array();
    if (run != runs_.end()) {
      for (const auto& [key, points] : run->second.history) {
        latest.push_back(*std::max_element(points.begin(), points.end(),
                                           [](const Json& a, const Json& b) { return place(a) < place(b); }));
      }
    }
    Json tags = Json::array();
    if (run != runs_.end()) {
      for (const auto& [key, value] : run->second.tags) { tags.push_back({{"key", key}, {"value", value}}); }
    }
    return {
        {"info", {{"run_id", id}, {"artifact_uri", "mlflow-artifacts:/0/" + id + "/artifacts"}, {"status", status}}},
        {"data", {{"metrics", latest}, {"tags", tags}}}};
  }

  std::string answer_to(const FakeRequest& request, Mood mood) {
    if (request.method == "PUT") {
      const std::size_t name = request.path.rfind('/') + 1;
      const std::string id = request.path.substr(request.path.find("/0/") + 3);
      ++runs_[id.substr(0, id.find('/'))].files[request.path.substr(name)];
      return "";
    }
    if (is(request, "get-history")) { return history(request).dump(); }
    if (request.method == "GET") { return Json{{"run", described(query(request, "run_id"))}}.dump(); }
    Json body = Json::parse(request.body);
    if (mood == Mood::half && body.contains("metrics")) {
      Json& all = body["metrics"];
      all.erase(all.begin() + static_cast<std::ptrdiff_t>((all.size() + 1) / 2), all.end());
    }
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
    if (is(request, "runs/set-tag")) { run.tags[body["key"]] = body["value"]; }
    for (const Json& each : body.value("metrics", Json::array())) {
      if (!run.points.insert(each.dump()).second) { ++run.sent_twice; }
      run.history[each["key"]].push_back(each);
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
