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

// What MLflow is told, and what its answers mean. All: any thread.

/// The tag by which a run is found whose creation was not answered.
constexpr const char* kMlflowNonce = "takt.create_nonce";

/// The tag of a child, whose value is the id of its parent.
constexpr const char* kMlflowParent = "mlflow.parentRunId";

/// Where Mantik gives tokens, and where its tracking server is, unless the options say otherwise.
constexpr const char* kMantikApi = "https://api.cloud.mantik.ai";
constexpr const char* kMantikTracking = "https://api.cloud.mantik.ai/tracking";

/// A file that belongs to a run.
struct MlflowAttachment {
  std::string name;
  std::string type;
  std::string text;
  std::string file;  ///< sent instead of text, where there is a name: trace.json of a run directory
};

/// Whether the options name a server; Mantik's needs no URL.
bool mlflow_has_server(const MlflowOptions& options);
/// Whether requests carry a token of Mantik's, and no other credentials.
bool mlflow_is_mantik(const MlflowOptions& options);
HttpOptions mlflow_http_options(const MlflowOptions& options, std::chrono::milliseconds connect,
                                std::chrono::milliseconds total);

bool is_json_object(const std::string& body);
/// The string at a JSON pointer such as "/run/info/run_id"; empty where there is none.
std::string json_string(const std::string& body, const char* pointer);

/// Bytes of what a server says about a run with many metrics, or long ones.
constexpr std::size_t kMaxMlflowReply = std::size_t{32} << 20U;

HttpRequest mlflow_get(const std::string& endpoint);
/// The run as it is there, with the latest point of each metric.
HttpRequest mlflow_get_run(const std::string& run_id);
HttpRequest mlflow_post(const std::string& endpoint, std::string body);
/// \param artifact_path as of mlflow_artifact_path().
HttpRequest mlflow_put(const std::string& artifact_path, const MlflowAttachment& attachment);

/// Text that nobody else has.
std::string mlflow_nonce();
/// For runs/create, but the experiment_id.
/// \param source name of the program.
/// \param commit of its sources; may be empty.
std::string mlflow_create_body(const RunInfo& run, const MlflowOptions& options, const std::string& nonce,
                               const std::string& source, const std::string& commit);
/// `body`, an object, with one member more in front.
std::string with_member(const char* name, const std::string& value, const std::string& body);
/// Where below the URL files of a run go, encoded; empty where a client cannot bring them.
std::string mlflow_artifact_path(const std::string& artifact_uri);

/// Not the request's fault: the same may be taken later.
bool mlflow_may_pass(int status);
/// It is MLflow that answers, not somebody on the way, and what it does not take are the values in the request.
bool mlflow_refuses_values(const HttpReply& reply);
/// What the request is for, a run or the experiment of a new one, is in the server's bin.
bool mlflow_is_deleted(const HttpReply& reply);
/// What the server said, in a line, without what is secret to `http`.
std::string mlflow_reported(const HttpReply& reply, const Http& http);
/// What to do about it, as the end of a line; may be empty.
std::string mlflow_cure(const HttpReply& reply);
/// A value in the request is longer than this server takes.
bool mlflow_is_too_long(const HttpReply& reply);
/// A server without a database keeps a metric in a file of its name, and cannot have "step" beside "step/forward".
bool mlflow_is_clash(const HttpReply& reply);
/// The server has that value already, and is one that does not take it twice.
bool mlflow_is_there(const HttpReply& reply);

/// Whether the URI is one that MLflow's own clients understand and Takt does not: a directory, a database, Databricks.
/// Any
/// thread.
bool mlflow_is_no_server(const std::string& tracking_uri);
/// Says so, once in a process.
void report_no_server();

/// How often MLflow's own client tells system metrics.
constexpr std::int64_t kMlflowSystemNs = 10'000'000'000;

/// MLflow's own system metrics of a meter: its page shows them apart, by their prefix. Any thread.
std::vector<SystemMetric> mlflow_system_metrics(const Sensor& sensor);

/// What the lines on stderr about one run at MLflow have in common: no secrets, and the command that sends later. One
/// thread at a time.
class MlflowLines {
 public:
  /// Neither is owned.
  MlflowLines(const Http& http, const CursorFile& cursor) noexcept : http_(http), cursor_(cursor) {}

  void report(std::string_view cause, const std::string& line) const {
    report_error(cause, http_.without_secrets(line));
  }
  /// What the server said, for people.
  std::string reported(const HttpReply& reply) const { return mlflow_reported(reply, http_); }
  /// The URL of the server, without credentials.
  const std::string& server() const noexcept { return http_.url(); }
  /// REQUIRES: a cursor is kept.
  std::string cursor_file() const { return cursor_.path(); }

  /// What sends to MLflow, later.
  std::string sync_command() const { return kMlflow.sync + (cursor_.is_kept() ? " " + cursor_.directory() : ""); }
  /// The end of a line that says what it does; empty where there will be nothing that it could send.
  std::string with_sync(const char* before, const char* behind) const {
    return cursor_.is_kept() ? before + sync_command() + behind : "";
  }

 private:
  const Http& http_;
  const CursorFile& cursor_;
};

}  // namespace detail
TAKT_END_NAMESPACE
