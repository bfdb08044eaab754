// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow_client.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include "fault.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kApi = "/api/2.0/mlflow/";
constexpr const char* kNonce = "takt.create_nonce";
constexpr int kMostServerErrors = 3;
constexpr int kMostRefusals = 50;
constexpr std::int64_t kMostFileBytes = 100'000'000;

std::string text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json parse(const std::string& body) {
  Json value = Json::parse(body, nullptr, false);
  return value.is_object() ? value : Json();
}

/// A string in an object in an object; empty where there is none.
std::string string_at(const Json& value, std::initializer_list<const char*> names) {
  const Json* at = &value;
  for (const char* const name : names) {
    if (!at->is_object() || !at->contains(name)) { return ""; }
    at = &(*at)[name];
  }
  return at->is_string() ? at->get<std::string>() : std::string();
}

HttpRequest get(const std::string& endpoint) {
  HttpRequest request;
  request.path = kApi + endpoint;
  request.content_type = "application/json";
  return request;
}

HttpRequest post(const std::string& endpoint, std::string body) {
  HttpRequest request = get(endpoint);
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

HttpOptions http_options(const MlflowOptions& options, const MlflowTimes& times) {
  HttpOptions http;
  http.url = options.tracking_uri;
  http.username = options.username;
  http.password = options.password;
  http.token = options.token;
  http.insecure_tls = options.insecure_tls;
  http.ca_path = options.server_cert_path;
  http.client_cert_path = options.client_cert_path;
  http.connect = times.connect;
  http.total = times.total;
  return http;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string random_text() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::int64_t ms_of(const Snapshot& snapshot, std::int64_t since_start_ns) {
  return (snapshot.run.start_unix_ns + since_start_ns) / 1'000'000;
}

/// Not the request's fault: the same may be taken later.
bool may_pass(int status) {
  return status == 0 || status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

bool ends_it(int status) {
  return (status >= 300 && status < 400) || status == 401 || status == 403 || status == 404 || status == 405 ||
         status == 501;
}

}  // namespace

MlflowClient::MlflowClient(const MlflowOptions& options, const MlflowTimes& times)
    : options_(options),
      times_(times),
      http_(http_options(options, times)),
      points_(options.every_step),
      create_nonce_(random_text()),
      jitter_(std::random_device()()) {}

void MlflowClient::take(const Snapshot& snapshot) {
  if (!begun_) { begin(snapshot); }
  if (stopped()) { return; }
  std::vector<MlflowPoint> points;
  points_.take(snapshot, points);
  queue_.add_params(snapshot.params);
  queue_.add_tags(snapshot.tags);
  queue_.add_points(points);
  if (points_.nans() != 0) {
    report("mlflow.nan",
           fmt::format("{} metrics were not a number, which MLflow cannot be sent twice; they are left out",
                       points_.nans()));
  }
  if (points_.names_changed() != 0) {
    report_fault_once("mlflow.names",
                      "MLflow takes letters, digits and _-./ in names: other characters became _, and "
                      "such a name ends with a hash");
  }
  if (snapshot.finished && !finished_) { finish(snapshot); }
}

void MlflowClient::begin(const Snapshot& snapshot) {
  begun_ = true;
  const RunInfo& run = snapshot.run;
  const bool child = run.rank != 0 && !options_.run_id.empty();
  if (!options_.run_id.empty() && !child) {
    stage_ = Stage::join_run;
  } else if (options_.experiment_name.empty()) {
    stage_ = Stage::create_run;
    experiment_id_ = options_.experiment_id.empty() ? "0" : options_.experiment_id;
  }
  Json tags = Json::array();
  const auto tag = [&](const char* name, const std::string& value) {
    if (!value.empty()) { tags.push_back({{"key", name}, {"value", value}}); }
  };
  const std::string user = options_.username.empty() ? variable("USER") : options_.username;
  tag("mlflow.user", user);
  tag("mlflow.source.name", program_invocation_short_name);
  tag("mlflow.source.type", "LOCAL");
  tag("mlflow.parentRunId", child ? options_.run_id : "");
  tag(kNonce, create_nonce_);
  tag("takt.run_id", run.id);
  tag("takt.host", run.host);
  tag("takt.rank", std::to_string(run.rank));
  tag("takt.world_size", std::to_string(run.world_size));
  tag("takt.attempt", std::to_string(run.attempt));
  const bool one_of_many = options_.all_ranks && run.world_size > 1;
  const Json body = {{"run_name", one_of_many ? fmt::format("{} rank-{:04}", run.name, run.rank) : run.name},
                     {"start_time", ms_of(snapshot, 0)},
                     {"tags", tags}};
  create_body_ = text(body);
}

void MlflowClient::finish(const Snapshot& snapshot) {
  finished_ = true;
  const Json update = {{"end_time", ms_of(snapshot, snapshot.wall_ns)},
                       {"status", snapshot.failed ? "FAILED" : "FINISHED"}};
  update_body_ = text(update);
  // Trying again soon costs one request; waiting longer than the run lasts costs the data.
  if (!asked_to_wait_) { not_before_ = Time(); }
  if (!options_.artifacts) { return; }
  attachments_.push_back({"summary.json", "application/json", format_json(snapshot), ""});
  attachments_.push_back({"table.txt", "text/plain; charset=utf-8", format_table(snapshot, 120, false), ""});
  const std::string trace = snapshot.run.directory + "/trace.json";
  struct stat status = {};
  const bool traced = !snapshot.run.directory.empty() &&
                      (::stat(trace.c_str(), &status) == 0 || ::stat((trace + ".part").c_str(), &status) == 0);
  if (traced) { attachments_.push_back({"trace.json", "application/json", "", trace}); }
}

bool MlflowClient::idle() const noexcept {
  if (stopped() || !begun_) { return true; }
  return stage_ == Stage::data && queue_.empty() && (!finished_ || (closed_ && attachments_.empty()));
}

bool MlflowClient::deliver(Time until) {
  while (!idle() || http_.busy()) {
    if (!http_.busy()) {
      if (not_before_ > steady_clock::now()) {
        if (not_before_ >= until) { return false; }
        std::this_thread::sleep_until(not_before_);
      }
      // A trace gets its name when it is whole.
      struct stat status = {};
      if (uploading() && !attachments_.front().file.empty() &&
          ::stat(attachments_.front().file.c_str(), &status) != 0) {
        not_before_ = steady_clock::now() + milliseconds(20);
        if (not_before_ >= until) { return false; }
        continue;
      }
      if (status.st_size > kMostFileBytes) {
        ++missing_;
        report("mlflow.artifact", attachments_.front().file +
                                      " is larger than what MLflow servers take well; it is not "
                                      "attached");
        attachments_.pop_front();
        continue;
      }
      http_.start(request());
    }
    HttpReply reply;
    if (!http_.wait(until, reply)) { return false; }
    answered(reply);
    if (steady_clock::now() >= until) { break; }
  }
  return idle() && !stopped();
}

bool MlflowClient::uploading() const noexcept { return stage_ == Stage::data && queue_.empty() && closed_; }

HttpRequest MlflowClient::request() {
  switch (stage_) {
    case Stage::find_experiment:
      return get("experiments/get-by-name?experiment_name=" + url_encoded(options_.experiment_name));
    case Stage::create_experiment:
      return post("experiments/create", text(Json{{"name", options_.experiment_name}}));
    case Stage::data:
      if (!queue_.empty()) { return post("runs/log-batch", queue_.body(run_id_, points_)); }
      if (!closed_) { return request_of_run(); }
      return upload(attachments_.front());
    default:
      return request_of_run();
  }
}

HttpRequest MlflowClient::request_of_run() const {
  if (stage_ == Stage::join_run) { return get("runs/get?run_id=" + url_encoded(options_.run_id)); }
  if (stage_ == Stage::find_run) {
    const Json body = {{"experiment_ids", {experiment_id_}},
                       {"filter", fmt::format("tags.`{}` = '{}'", kNonce, create_nonce_)},
                       {"max_results", 1}};
    return post("runs/search", text(body));
  }
  if (stage_ == Stage::create_run) {
    Json body = Json::parse(create_body_);
    body["experiment_id"] = experiment_id_;
    HttpRequest request = post("runs/create", text(body));
    request.fresh = true;  // libcurl must not send this one again by itself
    return request;
  }
  Json body = stage_ == Stage::reopen_run ? Json{{"status", "RUNNING"}} : Json::parse(update_body_);
  body["run_id"] = run_id_;
  return post("runs/update", text(body));
}

HttpRequest MlflowClient::upload(const Attachment& attachment) const {
  HttpRequest request;
  request.method = "PUT";
  request.path = "/api/2.0/mlflow-artifacts/artifacts" + artifact_root_ + "/takt/" + url_encoded(attachment.name);
  request.content_type = attachment.type;
  request.body = attachment.text;
  request.file = attachment.file;
  return request;
}

void MlflowClient::answered(const HttpReply& reply) {
  const bool taken = reply.status >= 200 && reply.status < 300;
  if (taken && (uploading() || parse(reply.body).is_object())) {
    tries_ = refusals_ = 0;
    asked_to_wait_ = false;
    succeeded(reply.body);
  } else if (uploading() && !may_pass(reply.status)) {
    ++missing_;
    report("mlflow.artifact", "MLflow did not take " + attachments_.front().name + ": " + told(reply));
    attachments_.pop_front();
  } else if (taken || may_pass(reply.status)) {
    try_again(reply);
  } else {
    refused(reply);
  }
}

void MlflowClient::succeeded(const std::string& body) {
  switch (stage_) {
    case Stage::find_experiment:
      found_experiment(body);
      return;
    case Stage::create_experiment:
      experiment_id_ = string_at(parse(body), {"experiment_id"});
      stage_ = Stage::create_run;
      return;
    case Stage::find_run:
      found_run(body);
      return;
    case Stage::create_run:
      adopt(text(parse(body).value("run", Json())));
      return;
    case Stage::join_run:
      adopt(text(parse(body).value("run", Json())));
      if (!stopped()) { stage_ = Stage::reopen_run; }
      return;
    case Stage::reopen_run:
      stage_ = Stage::data;
      return;
    default:
      break;
  }
  if (!queue_.empty()) {
    queue_.accepted();
  } else if (!closed_) {
    closed_ = true;
    if (artifact_root_.empty() && !attachments_.empty()) {
      report("mlflow.artifact",
             "this MLflow server keeps artifacts where only its Python client can put them; nothing "
             "is attached. Start it with --serve-artifacts to change that");
      attachments_.clear();
    }
  } else {
    attachments_.pop_front();
  }
}

void MlflowClient::found_experiment(const std::string& body) {
  const Json reply = parse(body);
  experiment_id_ = string_at(reply, {"experiment", "experiment_id"});
  if (string_at(reply, {"experiment", "lifecycle_stage"}) == "deleted") {
    stop("the experiment \"" + options_.experiment_name + "\" is deleted but keeps its name; choose another one in " +
         "MLFLOW_EXPERIMENT_NAME, or bring it back: mlflow experiments restore -x " + experiment_id_);
    return;
  }
  stage_ = Stage::create_run;
}

void MlflowClient::found_run(const std::string& body) {
  const Json reply = parse(body);
  const bool there = reply.contains("runs") && reply["runs"].is_array() && !reply["runs"].empty();
  if (there) {
    adopt(text(reply["runs"][0]));
  } else {
    stage_ = Stage::create_run;
  }
}

void MlflowClient::adopt(const std::string& run) {
  const Json value = parse(run);
  run_id_ = string_at(value, {"info", "run_id"});
  if (run_id_.empty()) { return stop("it answers without a run_id; is this an MLflow server?"); }
  const std::string root = string_at(value, {"info", "artifact_uri"});
  const std::string scheme = "mlflow-artifacts:/";
  // Not where the URI names another host: credentials are for this one.
  if (root.compare(0, scheme.size(), scheme) == 0 && root.compare(scheme.size(), 1, "/") != 0) {
    artifact_root_.clear();
    for (std::size_t at = scheme.size() - 1; at < root.size();) {
      const std::size_t end = std::min(root.find('/', at + 1), root.size());
      artifact_root_ += "/" + url_encoded(std::string_view(root).substr(at + 1, end - at - 1));
      at = end;
    }
  }
  stage_ = Stage::data;
}

/// It will never be taken like this.
void MlflowClient::refused(const HttpReply& reply) {
  const std::string code = string_at(parse(reply.body), {"error_code"});
  if (stage_ == Stage::find_experiment && code == "RESOURCE_DOES_NOT_EXIST" && rounds_++ < 3) {
    stage_ = Stage::create_experiment;
  } else if (stage_ == Stage::create_experiment && code == "RESOURCE_ALREADY_EXISTS" && rounds_++ < 3) {
    stage_ = Stage::find_experiment;  // another rank was faster
  } else if (stage_ != Stage::data || queue_.empty() || ends_it(reply.status)) {
    stop(told(reply) + cure(reply));
  } else if (queue_.refused()) {
    report("mlflow.refused", "MLflow refuses a value, which is left out: " + told(reply));
    if (++refusals_ >= kMostRefusals) { stop("it refuses every value: " + told(reply)); }
  }
  tries_ = 0;
}

void MlflowClient::try_again(const HttpReply& reply) {
  ++tries_;
  // Whether the run was made before the answer got lost, only the server knows.
  if (stage_ == Stage::create_run && reply.status != 429) { stage_ = Stage::find_run; }
  if (stage_ == Stage::data && reply.status == 500 && tries_ >= kMostServerErrors) {
    report("mlflow.refused", "MLflow fails over a request, which is left out: " + told(reply));
    tries_ = 0;
    if (!queue_.empty()) { return queue_.give_up(); }
    ++missing_;
    if (!closed_) {
      closed_ = true;
    } else {
      attachments_.pop_front();
    }
    return;
  }
  const auto doubled = times_.first_wait * (1LL << std::min(tries_ - 1, 20));
  const auto most = std::min<milliseconds>(doubled, times_.longest_wait);
  milliseconds wait(std::uniform_int_distribution<std::int64_t>(0, most.count())(jitter_));
  asked_to_wait_ = reply.retry_after_s > 0;
  if (asked_to_wait_) {
    const std::int64_t asked_s = std::min<std::int64_t>(reply.retry_after_s, 86'400);
    wait = std::max(wait, std::min<milliseconds>(std::chrono::seconds(asked_s), times_.longest_retry_after));
  }
  not_before_ = steady_clock::now() + wait;
  report("mlflow.away", fmt::format("MLflow at {} does not answer as it should: {}. It is tried again, {} points wait",
                                    http_.url(), told(reply), queue_.points()));
}

void MlflowClient::stop(const std::string& why) {
  stage_ = Stage::stopped;
  queue_.clear();
  attachments_.clear();
  report("mlflow.stopped", "nothing is sent to MLflow at " + http_.url() + ": " + why + ". The run goes on");
}

/// What the server said, in a line.
std::string MlflowClient::told(const HttpReply& reply) const {
  if (reply.status == 0) { return reply.error; }
  std::string said = string_at(parse(reply.body), {"message"});
  if (said.empty()) { said = reply.body; }
  if (said.size() > 300) { said = said.substr(0, 300) + "..."; }
  return fmt::format("HTTP {}{}{}", reply.status, said.empty() ? "" : ": ", said);
}

std::string MlflowClient::cure(const HttpReply& reply) const {
  switch (reply.status) {
    case 401:
      return ". Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, to what the "
             "server "
             "knows";
    case 403:
      return ". The user may not do this, or, if it speaks of a host, start the server with --allowed-hosts";
    case 404:
    case 405:
      return ". Check MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_ID and MLFLOW_RUN_ID";
    default:
      break;
  }
  if (reply.status >= 300 && reply.status < 400) {
    const std::string to = reply.location.substr(0, reply.location.find('?'));
    return ". Redirections are not followed; set MLFLOW_TRACKING_URI to where it is: " + to;
  }
  return "";
}

void MlflowClient::report(const char* cause, const std::string& line) const {
  report_fault(cause, http_.without_secrets(line));
}

}  // namespace detail
TAKT_END_NAMESPACE
