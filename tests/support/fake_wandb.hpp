// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/fake_http.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
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

/// As much of W&B as an upload needs. `fault` may change an answer; what it cuts or makes fail beforehand is not done.
struct FakeWandb {
  using Fault = std::function<void(const std::string& kind, const FakeRequest&, FakeAnswer&)>;

  explicit FakeWandb(Fault fault_of = {}) : fault(std::move(fault_of)) {}

  FakeAnswer serve(const FakeRequest& request) {
    FakeAnswer answer;
    const std::string kind = kind_of(request);
    if (fault) { fault(kind, request, answer); }
    if (answer.status != 200 || answer.cut || answer.silent || answer.body != "{}") { return answer; }
    if (kind == "resume") {
      nlohmann::json bucket;
      if (has_run) { bucket = {{"name", "id"}, {"wandbConfig", begun ? R"({"t":{"12":"x"}})" : "{}"}}; }
      answer.body = nlohmann::json{{"data", {{"model", {{"bucket", bucket}}}}}}.dump();
    }
    if (kind == "upsert") {
      const nlohmann::json bucket = {{"name", "id"},
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
  /// Lines of the history as the server has them.
  std::vector<std::string> history() const {
    std::vector<std::string> lines;
    for (const FakeRequest& each : of_kind("stream")) {
      const nlohmann::json body = nlohmann::json::parse(each.body);
      if (!body.contains("files") || !body["files"].contains("wandb-history.jsonl")) { continue; }
      const nlohmann::json& part = body["files"]["wandb-history.jsonl"];
      lines.resize(std::max<std::size_t>(lines.size(), part["offset"].get<std::size_t>() + part["content"].size()));
      std::size_t at = part["offset"];
      for (const nlohmann::json& line : part["content"]) { lines[at++] = line; }
    }
    return lines;
  }

  bool has_run = false;  // of the same id
  bool begun = true;     // that one
  std::string store;     // where files go; empty: to the same host
  Fault fault;
  FakeHttp http{[this](const FakeRequest& request) { return serve(request); }};
};

}  // namespace takt_test
