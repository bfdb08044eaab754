// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/report_error.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "trackers/http.hpp"
#include "trackers/metric_points.hpp"
#include "trackers/system_metrics.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/exporters/mlflow.hpp>
#include <takt/snapshot.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Requests to MLflow and the meaning of its answers. All functions: any thread.

/// Tag that identifies a run whose creation was not answered.
constexpr const char* kMlflowNonce = "takt.create_nonce";

/// Tag of a child run; its value is the parent's run id.
constexpr const char* kMlflowParent = "mlflow.parentRunId";

/// Default URLs of Mantik's token service and tracking server.
constexpr const char* kMantikApi = "https://api.cloud.mantik.ai";
constexpr const char* kMantikTracking = "https://api.cloud.mantik.ai/tracking";

/// A file attached to a run.
struct MlflowAttachment {
  std::string name;
  std::string type;
  std::string text;
  std::string file;  ///< path sent instead of text if not empty: trace.json of a run directory
};

/// Returns whether the options name a server; Mantik needs no URL.
bool mlflow_has_server(const MlflowOptions& options);
/// Returns whether requests use Mantik's tokens and no other credentials.
bool mlflow_is_mantik(const MlflowOptions& options);
HttpOptions mlflow_http_options(const MlflowOptions& options, std::chrono::milliseconds connect,
                                std::chrono::milliseconds total);

bool is_json_object(const std::string& body);
/// Returns the string at a JSON pointer such as "/run/info/run_id", or an empty string.
std::string json_string(const std::string& body, const char* pointer);

/// Maximum size of an answer about a run with many or long metrics, in bytes.
constexpr std::size_t kMaxMlflowReply = std::size_t{32} << 20U;

HttpRequest mlflow_get(const std::string& endpoint);
/// Returns a request for the run, with the latest point of each metric.
HttpRequest mlflow_get_run(const std::string& run_id);
HttpRequest mlflow_post(const std::string& endpoint, std::string body);
/// \param artifact_path see mlflow_artifact_path().
HttpRequest mlflow_put(const std::string& artifact_path, const MlflowAttachment& attachment);

/// Returns a unique text.
std::string mlflow_nonce();
/// Returns the body of runs/create, without experiment_id.
/// \param source name of the program.
std::string mlflow_create_body(const RunInfo& run, const MlflowOptions& options, const std::string& nonce,
                               const std::string& source);
/// Returns `body`, a JSON object, with one more member at the front.
std::string with_member(const char* name, const std::string& value, const std::string& body);
/// Returns the encoded path of the run's files below the server URL; empty if a client cannot upload files.
std::string mlflow_artifact_path(const std::string& artifact_uri);

/// Returns whether the error is temporary: the same request may succeed later.
bool mlflow_may_pass(int status);
/// Returns whether MLflow itself, not a proxy, rejects the values in the request.
bool mlflow_refuses_values(const HttpReply& reply);
/// Returns whether the run, or the experiment of a new run, is in the server's trash.
bool mlflow_is_deleted(const HttpReply& reply);
/// Returns the server's answer as one line, without the secrets of `http`.
std::string mlflow_reported(const HttpReply& reply, const Http& http);
/// Returns the remedy for an error, as the end of a message; may be empty.
std::string mlflow_cure(const HttpReply& reply);
/// Returns whether a value in the request is too long for this server.
bool mlflow_is_too_long(const HttpReply& reply);
/// Returns whether metric names clash: a server without a database keeps each metric in a file of its name, so it
/// cannot store both "step" and "step/forward".
bool mlflow_is_clash(const HttpReply& reply);
/// Returns whether the server already has that value and rejects duplicates.
bool mlflow_is_there(const HttpReply& reply);

/// Returns whether the URI is valid for MLflow's own clients but not for Takt: a directory, a database, Databricks. Any
/// thread.
bool mlflow_is_no_server(const std::string& tracking_uri);
/// Reports that the URI names no server, once per process.
void report_no_server();

/// Interval at which MLflow's own client logs system metrics, in ns.
constexpr std::int64_t kMlflowSystemNs = 10'000'000'000;

/// Returns a sensor's metrics under MLflow's own system metric names. MLflow's UI groups them by prefix. Any thread.
std::vector<SystemMetric> mlflow_system_metrics(const Sensor& sensor);

/// Messages on stderr about one MLflow run. Removes secrets, and names the command that sends the data later. One
/// thread at a time.
class MlflowLines {
 public:
  /// `http` and `cursor` are not owned.
  MlflowLines(const Http& http, const CursorFile& cursor) noexcept : http_(http), cursor_(cursor) {}

  void report(std::string_view cause, const std::string& line) const {
    report_error(cause, http_.without_secrets(line));
  }
  /// Returns the server's answer as text for users.
  std::string reported(const HttpReply& reply) const { return mlflow_reported(reply, http_); }
  /// Returns the URL of the server, without credentials.
  const std::string& server() const noexcept { return http_.url(); }
  /// REQUIRES: a cursor is kept.
  std::string cursor_file() const { return cursor_.path(); }

  /// Returns the command that sends the data to MLflow later.
  std::string sync_command() const { return kMlflow.sync + (cursor_.is_kept() ? " " + cursor_.directory() : ""); }
  /// Returns the end of a message that says what the sync command does; empty if there is nothing that it could send.
  std::string with_sync(const char* before, const char* behind) const {
    return cursor_.is_kept() ? before + sync_command() + behind : "";
  }

 private:
  const Http& http_;
  const CursorFile& cursor_;
};

}  // namespace detail
TAKT_END_NAMESPACE
