// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/fake_http.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace takt_test {

inline std::string kind_of(const FakeRequest& request) {
  if (request.method == "PUT") { return "file"; }
  if (request.path.find("/file_stream") != std::string::npos) { return "stream"; }
  if (request.body.find("query RunResumeStatus") != std::string::npos) { return "resume"; }
  return request.body.find("mutation UpsertBucket") != std::string::npos ? "upsert" : "files";
}

/// The parts of W&B that an upload needs. `fault` may change an answer; requests that it cuts or fails in advance are
/// not executed.
struct FakeWandb {
  using Fault = std::function<void(const std::string& kind, const FakeRequest&, FakeAnswer&)>;

  explicit FakeWandb(Fault error_of = {}) : error(std::move(error_of)) {}

  FakeAnswer serve(const FakeRequest& request) {
    FakeAnswer answer;
    const std::string kind = kind_of(request);
    if (error) { error(kind, request, answer); }
    if (answer.status != 200 || answer.cut || answer.silent) { return answer; }
    if (kind == "stream") { take_lines(request); }
    if (answer.body != "{}") { return answer; }
    if (kind == "resume") {
      nlohmann::json bucket;
      if (has_run || made) {
        bucket = there;
        bucket["name"] = "id";
        bucket["wandbConfig"] = started ? R"({"t":{"12":"x"}})" : "{}";
        const std::vector<std::string> lines = history();
        bucket["historyLineCount"] = lines.size();
        if (lines.size() > before.size()) { bucket["historyTail"] = nlohmann::json::array({lines.back()}).dump(); }
        if (!there.contains("eventsLineCount")) { bucket["eventsLineCount"] = events().size(); }
      }
      answer.body = nlohmann::json{{"data", {{"model", {{"bucket", bucket}}}}}}.dump();
    }
    if (kind == "upsert") {
      made = true;
      const nlohmann::json bucket = {{"name", "id"},
                                     {"historyLineCount", history().size()},
                                     {"project", {{"name", "p r"}, {"entity", {{"name", "some/one"}}}}}};
      answer.body = nlohmann::json{{"data", {{"upsertBucket", {{"bucket", bucket}}}}}}.dump();
    }
    if (kind == "files") {
      nlohmann::json files = nlohmann::json::array();
      const nlohmann::json asked = nlohmann::json::parse(request.body);
      for (const nlohmann::json& name : asked["variables"]["files"]) {
        files.push_back({{"name", name}, {"uploadUrl", store + "/put/" + name.get<std::string>() + "?sign=s"}});
      }
      const nlohmann::json created = {{"uploadHeaders", {"X-Store: yes", "Bad\r\nX-Evil: 1"}}, {"files", files}};
      answer.body = nlohmann::json{{"data", {{"createRunFiles", created}}}}.dump();
    }
    return answer;
  }

  std::vector<FakeRequest> of_kind(const std::string& kind) const {
    std::vector<FakeRequest> all = http.requests();
    all.erase(std::remove_if(all.begin(), all.end(), [&](const FakeRequest& each) { return kind_of(each) != kind; }),
              all.end());
    return all;
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> kinds;
    for (const FakeRequest& each : http.requests()) { kinds.push_back(kind_of(each)); }
    return kinds;
  }
  /// Returns the lines of the history on the server.
  std::vector<std::string> history() const { return lines_of(kHistoryFile, before); }
  /// Returns the lines of the system metrics.
  std::vector<std::string> events() const { return lines_of(kEventsFile, {}); }
  std::vector<std::string> lines_of(const char* file, std::vector<std::string> lines) const {
    const std::lock_guard<std::mutex> lock(taking);
    const auto found = taken.find(file);
    if (found == taken.end()) { return lines; }
    for (const auto& [at, line] : found->second) {
      lines.resize(std::max(lines.size(), at + 1));
      lines[at] = line;
    }
    return lines;
  }

  /// Appends a line, as another program might.
  void plant(const std::string& line) {
    const std::size_t at = history().size();
    const std::lock_guard<std::mutex> lock(taking);
    taken[kHistoryFile][at] = line;
  }

  void take_lines(const FakeRequest& request) {
    const nlohmann::json body = nlohmann::json::parse(request.body);
    const std::lock_guard<std::mutex> lock(taking);
    for (const char* const file : {kHistoryFile, kEventsFile}) {
      if (!body.contains("files") || !body["files"].contains(file)) { continue; }
      const nlohmann::json& part = body["files"][file];
      std::size_t at = part["offset"];
      for (const nlohmann::json& line : part["content"]) { taken[file][at++] = line; }
    }
  }

  static constexpr const char* kHistoryFile = "wandb-history.jsonl";
  static constexpr const char* kEventsFile = "wandb-events.jsonl";

  bool has_run = false;                             // a run of the same id exists
  bool started = true;                              // that run has started
  std::vector<std::string> before;                  // history of that run
  nlohmann::json there = nlohmann::json::object();  // further fields that queries return
  std::atomic<bool> made{false};
  mutable std::mutex taking;
  std::map<std::string, std::map<std::size_t, std::string>> taken;  // received lines, by file
  std::string store;                                                // upload host; empty: the same host
  Fault error;
  FakeHttp http{[this](const FakeRequest& request) { return serve(request); }};
};

}  // namespace takt_test
