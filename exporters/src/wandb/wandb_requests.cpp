// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_requests.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_directory.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Wording of the official client.
constexpr const char* kUpsert =
    "mutation UpsertBucket ($id: String, $name: String, $project: String, $entity: String, $groupName: String, "
    "$description: String, $displayName: String, $notes: String, $commit: String, $config: JSONString, $host: String, "
    "$debug: Boolean, $program: String, $repo: String, $jobType: String, $state: String, $sweep: String, $tags: "
    "[String!], $summaryMetrics: JSONString) { upsertBucket(input: {id:$id,name:$name,groupName:$groupName,"
    "modelName:$project,entityName:$entity,description:$description,displayName:$displayName,notes:$notes,"
    "config:$config,commit:$commit,host:$host,debug:$debug,jobProgram:$program,jobRepo:$repo,jobType:$jobType,"
    "state:$state,sweep:$sweep,tags:$tags,summaryMetrics:$summaryMetrics}) { bucket { id name displayName description "
    "config sweepName project { id name entity { id name } } historyLineCount } inserted } }";
constexpr const char* kResumeStatus =
    "query RunResumeStatus ($project: String, $entity: String, $name: String!) { model(name: $project, entityName: "
    "$entity) { id name entity { id name } bucket(name: $name, missingOk: true) { id name summaryMetrics displayName "
    "logLineCount historyLineCount eventsLineCount historyTail eventsTail config tags notes wandbConfig(keys: [\"t\"]) "
    "} } }";
constexpr const char* kCreateFiles =
    "mutation CreateRunFiles ($entity: String!, $project: String!, $run: String!, $files: [String!]!) { "
    "createRunFiles(input: {entityName:$entity,projectName:$project,runName:$run,files:$files}) { runID uploadHeaders "
    "files { name uploadUrl } } }";

// The reply repeats the config.
constexpr std::size_t kMaxReply = std::size_t{32} << 20U;

JsonText or_null(const std::string& text) { return text.empty() ? JsonText() : JsonText(text); }

HttpRequest post(std::string path, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.content_type = "application/json";
  request.body = std::move(body);
  request.max_reply = kMaxReply;
  return request;
}

HttpRequest graphql(const char* query, const char* name, const JsonText& variables, const WandbOptions& options) {
  const JsonText body = {{"query", query}, {"variables", variables}, {"operationName", name}};
  HttpRequest request = post("/graphql", body.text());
  // Names the user for whom a service account's key writes.
  if (!options.username.empty()) { request.headers.push_back("X-WANDB-USERNAME: " + options.username); }
  if (!options.user_email.empty()) { request.headers.push_back("X-WANDB-USER-EMAIL: " + options.user_email); }
  return request;
}

bool is_header(const std::string& line) {
  return line.find(':') != std::string::npos &&
         std::none_of(line.begin(), line.end(), [](char each) { return static_cast<unsigned char>(each) < 32; });
}

}  // namespace

HttpOptions wandb_http_options(const WandbOptions& options, std::chrono::milliseconds connect) {
  HttpOptions http;
  http.url = options.base_url.empty() ? kWandbUrl : options.base_url;
  http.username = "api";
  http.password = options.api_key;
  http.insecure_tls = options.insecure_tls;
  // SSL_CERT_FILE is often set for all programs, but insecure_tls is specific to W&B.
  if (!options.insecure_tls) { http.ca_path = options.server_cert_path; }
  http.connect = connect;
  http.total = options.request_timeout;
  http.names.cause = "wandb";
  http.names.url = "WANDB_BASE_URL";
  http.names.credentials = "WANDB_API_KEY";
  http.names.insecure_tls = "WANDB_INSECURE_DISABLE_SSL";
  http.names.ca_path = "SSL_CERT_FILE";
  http.names.no_url = "Set it to your server's URL, or unset it for https://api.wandb.ai";
  return http;
}

WandbPlace wandb_place_of(const std::string& run) {
  const std::size_t id = run.rfind('/');
  const std::size_t project = id == std::string::npos || id == 0 ? std::string::npos : run.rfind('/', id - 1);
  if (project == std::string::npos) { return {"", "", run}; }
  return {run.substr(0, project), run.substr(project + 1, id - project - 1), run.substr(id + 1)};
}

HttpRequest wandb_upsert(const WandbIdentity& identity, bool whole, const std::string& config,
                         const WandbOptions& options) {
  const auto first = [&](const std::string& text) { return whole ? or_null(text) : JsonText(); };
  const JsonText variables = {{"id", first(identity.storage_id)},
                              {"name", identity.id},
                              {"project", or_null(identity.project)},
                              {"entity", or_null(identity.entity)},
                              {"groupName", first(identity.group)},
                              {"description", JsonText()},
                              {"displayName", first(identity.name)},
                              {"notes", first(identity.notes)},
                              {"commit", first(identity.commit)},
                              {"config", config},
                              {"host", first(identity.host)},
                              {"debug", JsonText()},
                              {"program", first(identity.program)},
                              {"repo", first(identity.remote)},
                              {"jobType", first(identity.job_type)},
                              {"state", JsonText()},
                              {"sweep", first(identity.sweep_id)},
                              {"tags", whole && !identity.tags.empty() ? JsonText(identity.tags) : JsonText()},
                              {"summaryMetrics", JsonText()}};
  return graphql(kUpsert, "UpsertBucket", variables, options);
}

bool wandb_upserted(const std::string& body, WandbPlace& place, std::uint64_t& lines) {
  const Json reply = Json::parse(body);
  const Json bucket = reply.at("/data/upsertBucket/bucket");
  WandbPlace found = {bucket.at("/project/entity/name").text(), bucket.at("/project/name").text(),
                      bucket.at("/name").text()};
  if (found.entity.empty() || found.project.empty() || found.run.empty()) { return false; }
  place = std::move(found);
  lines = bucket.at("/historyLineCount").count();
  return true;
}

HttpRequest wandb_resume_status(const WandbIdentity& identity, const WandbOptions& options) {
  const JsonText variables = {
      {"project", or_null(identity.project)}, {"entity", or_null(identity.entity)}, {"name", identity.id}};
  return graphql(kResumeStatus, "RunResumeStatus", variables, options);
}

HttpRequest wandb_stream(const WandbPlace& place, const WandbStream& what, const WandbBehind& behind) {
  JsonText files = JsonText::object();
  if (!what.lines.empty()) {
    files.add("wandb-history.jsonl", {{"offset", behind.lines + what.offset}, {"content", what.lines}});
  }
  if (!what.events.empty()) {
    files.add("wandb-events.jsonl", {{"offset", behind.events + what.events_offset}, {"content", what.events}});
  }
  if (!what.summary.empty()) { files.add("wandb-summary.json", {{"offset", 0}, {"content", {what.summary}}}); }
  JsonText body = JsonText::object();
  if (!what.lines.empty() || !what.events.empty() || !what.summary.empty()) { body.add("files", files); }
  if (!what.uploaded.empty()) { body.add("uploaded", what.uploaded); }
  if (what.complete) {
    body.add("complete", true);
    body.add("exitcode", what.exit_code);
  }
  return post("/files/" + url_encoded(place.entity) + "/" + url_encoded(place.project) + "/" + url_encoded(place.run) +
                  "/file_stream",
              body.text());
}

HttpRequest wandb_create_files(const WandbPlace& place, const std::vector<std::string>& names,
                               const WandbOptions& options) {
  const JsonText variables = {
      {"entity", place.entity}, {"project", place.project}, {"run", place.run}, {"files", names}};
  return graphql(kCreateFiles, "CreateRunFiles", variables, options);
}

bool wandb_created_files(const std::string& body, std::vector<WandbTarget>& targets) {
  const Json reply = Json::parse(body);
  const Json files = reply.at("/data/createRunFiles/files");
  if (!files.is_array()) { return false; }
  std::vector<std::string> headers;
  const Json given = reply.at("/data/createRunFiles/uploadHeaders");
  for (std::size_t at = 0; given.is_array() && at < given.size(); ++at) {
    if (is_header(given.element(at).text())) { headers.push_back(given.element(at).text()); }
  }
  targets.clear();
  for (std::size_t at = 0; at < files.size(); ++at) {
    const Json each = files.element(at);
    WandbTarget target = {each.member("name").text(), each.member("uploadUrl").text(), headers};
    if (!target.name.empty() && !target.url.empty()) { targets.push_back(std::move(target)); }
  }
  return true;
}

std::string wandb_errors(const std::string& body) {
  const Json errors = Json::parse(body).member("errors");
  if (!errors.is_array() || errors.size() == 0) { return ""; }
  const std::string said = errors.element(0).member("message").text();
  return said.empty() ? "an error without a message" : said;
}

bool wandb_wants_stop(const std::string& body) { return Json::parse(body).member("stopped").boolean(); }

bool wandb_may_pass(WandbKind kind, const HttpReply& reply) {
  if (reply.status >= 200 && reply.status < 400) { return false; }
  switch (reply.status) {
    case 409:  // for an upsert: another one is under way
      return kind == WandbKind::upsert && !wandb_is_deleted(reply);
    case 400:
    case 401:
    case 403:
    case 404:
    case 410:
    case 413:
    case 422:
    case 501:
      return false;
    default:
      return true;
  }
}

bool wandb_is_deleted(const HttpReply& reply) {
  return reply.status == 409 && reply.body.find("previously created and deleted") != std::string::npos;
}

std::string wandb_reported(const HttpReply& reply, const Http& http) {
  const std::string errors = wandb_errors(reply.body);
  return http.reported(reply, errors.empty() ? Json::parse(reply.body).member("error").text() : errors);
}

std::string wandb_cure(const HttpReply& reply) {
  switch (reply.status) {
    case 401:
      return ". Set WANDB_API_KEY, or the password in netrc, to a valid key";
    case 403:
      return ". The key's user has no write permission; check WANDB_ENTITY and WANDB_PROJECT";
    case 404:
      return ". Check WANDB_BASE_URL, WANDB_ENTITY and WANDB_PROJECT";
    case 409:
      if (wandb_is_deleted(reply)) { return ". W&B never reuses an id; unset WANDB_RUN_ID, or choose another"; }
      return ". Another process writes to this run, or it was deleted; unset WANDB_RUN_ID";
    default:
      break;
  }
  if (reply.status >= 300 && reply.status < 400) {
    return ". Redirects are not followed; set WANDB_BASE_URL to the target: " +
           reply.location.substr(0, reply.location.find('?'));
  }
  return "";
}

namespace {

constexpr int kMaxTries = 5;
constexpr const char* kSummaryFile = "wandb-summary.json";
constexpr const char* kConfigFile = "config.yaml";
constexpr const char* kMetadataFile = "wandb-metadata.json";

bool is_tls(const std::string& url) { return url.compare(0, 8, "https://") == 0; }

/// Returns the part of `url` after its host.
std::string path_of(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  return url.substr(std::min(url.find_first_of("/?", host), url.size()));
}

}  // namespace

WandbFiles::WandbFiles(const WandbOptions& options, std::chrono::milliseconds connect,
                       std::chrono::milliseconds max_time, std::shared_ptr<const DirectoryFiles> directory)
    : options_(options), connect_(connect), max_time_(max_time), directory_(std::move(directory)) {}

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

/// Prepares the next file. Returns false, after a report, if it cannot be sent.
bool WandbFiles::prepare(const WandbReplay& replay, const std::string& server) {
  const WandbTarget& target = targets_.back();
  const std::string url = target.url.front() == '/' ? server + target.url : target.url;
  HttpOptions to = wandb_http_options(options_, connect_);
  to.url = origin_of(url);
  to.username.clear();
  to.password.clear();
  if (to.url.empty() || (is_tls(server) && !is_tls(to.url))) {
    lose("the server's upload URL is not secure");
    return false;
  }
  try {
    http_ = std::make_unique<Http>(to);
  } catch (const Error&) {
    lose("the server's upload URL is not valid");
    return false;
  }
  request_ = HttpRequest();
  request_.method = "PUT";
  request_.path = path_of(url);
  request_.headers = target.headers;
  request_.total = max_time_;
  if (target.name == kSummaryFile) {
    request_.body = replay.summary();
  } else if (target.name == kConfigFile) {
    request_.body = replay.config(wandb_producer()) + "\n";  // JSON is YAML
  } else if (target.name == kMetadataFile) {
    request_.body = replay.metadata() + "\n";
  } else {
    // Names come from a log and from a server, so they are not trusted.
    const auto file = std::make_shared<const Descriptor>(open_below(directory_->directory("files"), target.name));
    if (!file->is_open()) {
      const int why = errno;
      lose(why == ENOENT   ? "it does not exist"
           : why == EINVAL ? "its name leads out of the directory"
                           : "it is not a file");
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
  if (wandb_may_pass(WandbKind::file, reply) && ++tries_ < kMaxTries) { return Outcome::again; }
  if (reply.status == 403 && ++asked_again_ == 1) {  // the upload URL has expired
    names_.clear();
    for (auto at = targets_.rbegin(); at != targets_.rend(); ++at) { names_.push_back(at->name); }
    targets_.clear();
    placed_ = false;
    return Outcome::lost;
  }
  // Storage servers repeat signed data in their answers, so only the status is shown.
  lose(reply.status == 0 ? reply.error : detail::format("HTTP {}", reply.status));
  return Outcome::lost;
}

void WandbFiles::lose(const std::string& why) {
  ++missing_;
  report_error("wandb.file", "W&B does not have " + targets_.back().name + ": " + why + ". It is in " +
                                 directory_->path() + "/files");
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
