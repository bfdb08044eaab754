// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_messages.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "trackers/tracker_names.hpp"

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kApi = "/api/2.0/mlflow/";

}  // namespace

bool mlflow_is_mantik(const MlflowOptions& options) {
  return !options.mantik.username.empty() || !options.mantik.password.empty();
}

bool mlflow_has_server(const MlflowOptions& options) {
  return !options.tracking_uri.empty() || mlflow_is_mantik(options);
}

HttpOptions mlflow_http_options(const MlflowOptions& options, std::chrono::milliseconds connect,
                                std::chrono::milliseconds total) {
  HttpOptions http;
  http.url = options.tracking_uri.empty() ? kMantikTracking : options.tracking_uri;
  if (!mlflow_is_mantik(options)) {
    http.username = options.username;
    http.password = options.password;
    http.token = options.token;
  }
  http.insecure_tls = options.insecure_tls;
  http.ca_path = options.server_cert_path;
  http.client_cert_path = options.client_cert_path;
  http.connect = connect;
  http.total = total;
  return http;
}

bool is_json_object(const std::string& body) {
  bool is_object = false;
  const bool read = walk_json(body, [&](const JsonStop& stop) {
    const bool is_whole = stop.inside.empty() && stop.name.empty();
    is_object = is_object || (is_whole && stop.kind == JsonStop::Kind::object);
  });
  return read && is_object;
}

std::string json_string(const std::string& body, const char* pointer) {
  const std::string whole = pointer;
  const std::string inside = whole.substr(0, whole.rfind('/'));
  const std::string name = whole.substr(inside.size() + 1);
  std::string found;
  const bool read = walk_json(body, [&](const JsonStop& stop) {
    if (stop.is_text() && stop.inside == inside && stop.name == name) { found = stop.text; }
  });
  return read ? found : "";
}

HttpRequest mlflow_get(const std::string& endpoint) {
  HttpRequest request;
  request.path = kApi + endpoint;
  request.content_type = "application/json";
  return request;
}

HttpRequest mlflow_get_run(const std::string& run_id) {
  HttpRequest request = mlflow_get("runs/get?run_id=" + url_encoded(run_id));
  request.max_reply = kMaxMlflowReply;
  return request;
}

HttpRequest mlflow_post(const std::string& endpoint, std::string body) {
  HttpRequest request = mlflow_get(endpoint);
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

HttpRequest mlflow_put(const std::string& artifact_path, const MlflowAttachment& attachment) {
  HttpRequest request;
  request.method = "PUT";
  request.path = "/api/2.0/mlflow-artifacts/artifacts" + artifact_path + "/takt/" + url_encoded(attachment.name);
  request.content_type = attachment.type;
  request.body = attachment.text;
  return request;
}

std::string mlflow_nonce() {
  std::random_device device;
  return detail::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

bool mlflow_may_pass(int status) {
  switch (status) {
    case 0:
    case 408:  // time out
    case 409:  // conflict
    case 423:  // locked
    case 425:  // too early
    case 429:  // too many requests
    case 499:  // nginx: client closed the connection
      return true;
    default:
      return status >= 500 && status != 501 && status != 505;
  }
}

bool mlflow_refuses_values(const HttpReply& reply) {
  return (reply.status == 400 || reply.status == 413 || reply.status == 422) &&
         !json_string(reply.body, "/error_code").empty();
}

bool mlflow_is_deleted(const HttpReply& reply) {
  const std::string message = json_string(reply.body, "/message");
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (reply.status == 500) { return says("under non-active experiment"); }
  // First text: servers with a database; second text: servers with files.
  return reply.status == 400 && (says("must be in the 'active' state") || says("must be in 'active' lifecycle_stage"));
}

bool mlflow_is_too_long(const HttpReply& reply) {
  return reply.status == 400 && json_string(reply.body, "/message").find("length limit") != std::string::npos;
}

bool mlflow_is_clash(const HttpReply& reply) {
  const std::string message = json_string(reply.body, "/message");
  return reply.status == 500 &&
         (message.find("Is a directory") != std::string::npos || message.find("Not a directory") != std::string::npos);
}

bool mlflow_is_there(const HttpReply& reply) {
  const std::string message = json_string(reply.body, "/message");
  // First text: SQLite; second text: MySQL and PostgreSQL.
  return reply.status == 400 &&
         (message.find("UNIQUE constraint") != std::string::npos || message.find("uplicate") != std::string::npos);
}

bool mlflow_is_no_server(const std::string& tracking_uri) {
  const std::size_t colon = tracking_uri.find(':');
  if (colon == std::string::npos) { return !tracking_uri.empty(); }  // a path, or "databricks"
  const std::string scheme = tracking_uri.substr(0, tracking_uri.find_first_of(":+"));
  for (const char* const each :
       {"file", "sqlite", "mysql", "postgresql", "mssql", "databricks", "databricks-uc", "uc"}) {
    if (scheme == each) { return true; }
  }
  return tracking_uri.find('/') < colon;  // a path with a colon in it
}

void report_no_server() {
  report_error_once(
      "mlflow.no_server",
      "MLFLOW_TRACKING_URI is a directory, a database or Databricks, but Takt sends to MLflow servers only: "
      "nothing is sent. To use a local directory or database, start a server: mlflow server "
      "--backend-store-uri <directory or database> --port 5000, and set MLFLOW_TRACKING_URI=http://127.0.0.1:5000; "
      "then send this run with: takt sync <run directory>");
}

std::string mlflow_reported(const HttpReply& reply, const Http& http) {
  return http.reported(reply, json_string(reply.body, "/message"));
}

std::string mlflow_cure(const HttpReply& reply) {
  switch (reply.status) {
    case 401:
      return ". Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, to credentials "
             "that the server accepts";
    case 407:
      return ". Set the proxy's user and password in https_proxy or http_proxy";
    case 403:
      return ". The user has no permission; if the answer mentions a host, start the server with --allowed-hosts";
    case 404:
    case 405:
      return ". Check MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_ID and MLFLOW_RUN_ID";
    default:
      break;
  }
  if (reply.status >= 300 && reply.status < 400) {
    const std::string to = reply.location.substr(0, reply.location.find('?'));
    return ". Redirects are not followed; set MLFLOW_TRACKING_URI to the target: " + to;
  }
  return "";
}

std::string with_member(const char* name, const std::string& value, const std::string& body) {
  return "{" + JsonText(name).text() + ":" + JsonText(value).text() + (body == "{}" ? "" : ",") + body.substr(1);
}

std::string mlflow_create_body(const RunInfo& run, const MlflowOptions& options, const std::string& nonce,
                               const std::string& source) {
  const bool child = run.rank != 0 && !options.run_id.empty();
  JsonText tags = JsonText::array();
  const auto tag = [&](const char* name, const std::string& value) {
    if (!value.empty()) { tags.push_back(JsonText{{"key", name}, {"value", value}}); }
  };
  const std::string& login = mlflow_is_mantik(options) ? options.mantik.username : options.username;
  tag("mlflow.user", login.empty() ? user_name() : login);
  tag("mlflow.source.name", source);
  tag("mlflow.source.type", "LOCAL");
  tag("mlflow.source.git.commit", run.machine.commit);
  tag(kMlflowParent, child ? options.run_id : "");
  tag(kMlflowNonce, nonce);
  tag("takt.run_id", run.id);
  tag("takt.host", run.host);
  tag("takt.rank", std::to_string(run.rank));
  tag("takt.world_size", std::to_string(run.world_size));
  tag("takt.attempt", std::to_string(run.attempt));
  tag("takt.cpu", run.machine.cpu);
  tag("takt.gpus", join(run.machine.gpus, ", "));
  tag("takt.command", join(run.machine.command, " ").substr(0, 5000));  // the limit of old servers
  const bool one_of_many = options.all_ranks && run.world_size > 1;
  const JsonText body = {{"run_name", one_of_many ? detail::format("{} rank-{:04}", run.name, run.rank) : run.name},
                         {"start_time", run.start_unix_ns / 1'000'000},
                         {"tags", tags}};
  return body.text();
}

std::string mlflow_artifact_path(const std::string& root) {
  const std::string scheme = "mlflow-artifacts:/";
  std::string path;
  // Only for a URI without a host: credentials must not be sent to another host.
  if (root.compare(0, scheme.size(), scheme) != 0 || root.compare(scheme.size(), 1, "/") == 0) { return path; }
  for (std::size_t at = scheme.size() - 1; at < root.size();) {
    const std::size_t end = std::min(root.find('/', at + 1), root.size());
    path += "/" + url_encoded(std::string_view(root).substr(at + 1, end - at - 1));
    at = end;
  }
  return path;
}

namespace {

/// Names GPUs as MLflow's client does with NVML and rocm_smi: by their number in the machine.
std::vector<SystemMetric> mlflow_metrics_of_gpu(const Sensor& sensor) {
  const std::string gpu = "system/gpu_" + std::to_string(sensor.number);
  const bool nvidia = is_nvidia(sensor);
  std::vector<SystemMetric> metrics = {{gpu + "_utilization_percentage", Quantity::utilization, 1e-1},
                                       {gpu + "_power_usage_watts", Quantity::power, 1e-3}};
  // MLflow's client assumes a fixed maximum power for all AMD GPUs, so its percentage is meaningless.
  if (nvidia && sensor.power_limit_mw) {
    metrics.push_back(
        {gpu + "_power_usage_percentage", Quantity::power, 100.0 / static_cast<double>(*sensor.power_limit_mw)});
  }
  if (is_slice(sensor)) { return metrics; }
  metrics.push_back(nvidia ? SystemMetric{gpu + "_memory_usage_megabytes", Quantity::memory, 1e-6}
                           : SystemMetric{gpu + "_memory_usage_gigabytes", Quantity::memory, 1e-9});
  if (sensor.memory_bytes) {
    metrics.push_back(
        {gpu + "_memory_usage_percentage", Quantity::memory, 100.0 / static_cast<double>(*sensor.memory_bytes)});
  }
  return metrics;
}

/// Names metrics as MLflow's client does with psutil.
std::vector<SystemMetric> mlflow_metrics_of_machine(const Sensor& sensor) {
  std::vector<SystemMetric> metrics = {{"system/system_memory_usage_megabytes", Quantity::memory, 1e-6}};
  if (sensor.memory_bytes) {
    metrics.push_back(
        {"system/system_memory_usage_percentage", Quantity::memory, 100.0 / static_cast<double>(*sensor.memory_bytes)});
  }
  if (sensor.processors) {
    metrics.push_back({"system/cpu_utilization_percentage", Quantity::cpu_time, 100.0 / *sensor.processors});
  }
  return metrics;
}

}  // namespace

std::vector<SystemMetric> mlflow_system_metrics(const Sensor& sensor) {
  switch (sensor.kind) {
    case Sensor::Kind::device:
      return mlflow_metrics_of_gpu(sensor);
    case Sensor::Kind::machine:
      return mlflow_metrics_of_machine(sensor);
    default:
      return {};
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
