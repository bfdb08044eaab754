// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_files.hpp"

#include <takt/error.hpp>

#include "base/fault.hpp"
#include "base/format.hpp"
#include "wandb/wandb_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kMostTries = 5;
constexpr const char* kSummaryFile = "wandb-summary.json";
constexpr const char* kConfigFile = "config.yaml";
constexpr const char* kMetadataFile = "wandb-metadata.json";

bool is_tls(const std::string& url) { return url.compare(0, 8, "https://") == 0; }

/// What of `url` is behind its host.
std::string path_of(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  return url.substr(std::min(url.find_first_of("/?", host), url.size()));
}

}  // namespace

WandbFiles::WandbFiles(const WandbOptions& options, std::chrono::milliseconds connect,
                       std::chrono::milliseconds most_time, std::shared_ptr<const FolderFiles> folder)
    : options_(options), connect_(connect), most_time_(most_time), folder_(std::move(folder)) {}

WandbFiles::Next WandbFiles::next(const WandbReplay& replay, const std::string& server) {
  if (!placed_ && !given_up_) {
    if (names_.empty()) {
      names_ = replay.files();
      names_.insert(names_.end(), {kSummaryFile, kConfigFile});
      if (!replay.metadata().empty()) { names_.emplace_back(kMetadataFile); }
    }
    return Next::places;
  }
  while (!targets_.empty()) {
    if (prepare(replay, server)) { return Next::file; }
  }
  return Next::nothing;
}

void WandbFiles::placed(std::vector<WandbTarget> targets) {
  if (given_up_) { return; }
  placed_ = true;
  missing_ += names_.size() - std::min(names_.size(), targets.size());
  targets_ = std::move(targets);
  std::reverse(targets_.begin(), targets_.end());
}

/// The next one. False where it cannot be sent, which was reported.
bool WandbFiles::prepare(const WandbReplay& replay, const std::string& server) {
  const WandbTarget& target = targets_.back();
  const std::string url = target.url.front() == '/' ? server + target.url : target.url;
  HttpOptions to = wandb_http_options(options_, connect_);
  to.url = origin_of(url);
  to.username.clear();
  to.password.clear();
  if (to.url.empty() || (is_tls(server) && !is_tls(to.url))) {
    lose("the server names a place for it that is not safe");
    return false;
  }
  try {
    http_ = std::make_unique<Http>(to);
  } catch (const Error&) {
    lose("the server names a place for it that is none");
    return false;
  }
  request_ = HttpRequest();
  request_.method = "PUT";
  request_.path = path_of(url);
  request_.headers = target.headers;
  request_.total = most_time_;
  if (target.name == kSummaryFile) {
    request_.body = replay.summary();
  } else if (target.name == kConfigFile) {
    request_.body = replay.config(wandb_producer()) + "\n";  // JSON is YAML
  } else if (target.name == kMetadataFile) {
    request_.body = replay.metadata() + "\n";
  } else {
    // Names come from a log and from a server.
    const auto file = std::make_shared<const Descriptor>(open_below(folder_->folder("files"), target.name));
    if (!file->is_open()) {
      const int why = errno;
      lose(why == ENOENT ? "it is not there" : why == EINVAL ? "its name leads out of the folder" : "it is not a file");
      return false;
    }
    request_.file = file;
  }
  return true;
}

WandbFiles::Outcome WandbFiles::answered(const HttpReply& reply) {
  if (reply.status >= 200 && reply.status < 300) {
    sent_.push_back(targets_.back().name);
    targets_.pop_back();
    tries_ = 0;
    return Outcome::taken;
  }
  if (wandb_may_pass(WandbKind::file, reply) && ++tries_ < kMostTries) { return Outcome::again; }
  if (reply.status == 403 && ++asked_again_ == 1) {  // the right to write there has run out
    names_.clear();
    for (auto at = targets_.rbegin(); at != targets_.rend(); ++at) { names_.push_back(at->name); }
    targets_.clear();
    placed_ = false;
    return Outcome::lost;
  }
  // Answers of stores repeat what was signed, so that only the number is told.
  lose(reply.status == 0 ? reply.error : detail::format("HTTP {}", reply.status));
  return Outcome::lost;
}

void WandbFiles::lose(const std::string& why) {
  ++missing_;
  report_fault("wandb.file",
               "W&B does not have " + targets_.back().name + ": " + why + ". It is in " + folder_->path() + "/files");
  targets_.pop_back();
  tries_ = 0;
}

void WandbFiles::give_up() {
  if (std::exchange(given_up_, true)) { return; }
  missing_ += placed_ ? targets_.size() : std::max<std::size_t>(names_.size(), 1);
  targets_.clear();
  http_.reset();
}

}  // namespace detail
TAKT_END_NAMESPACE
