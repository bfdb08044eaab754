// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/report_error.hpp"
#include "mlflow/mlflow_client.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/http.hpp"
#include "trackers/live_delivery.hpp"
#include "trackers/tracker_names.hpp"

#include <takt/error.hpp>
#include <takt/exporters/mlflow.hpp>
#include <takt/session.hpp>
#include <takt/snapshot.hpp>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace {

using detail::flag;
using detail::trimmed;
using detail::variable;

/// Fills in the user name and password that no variable set, from section [mlflow] of ~/.mlflow/credentials.
void read_credentials(MlflowOptions& options) {
  const std::string path = variable("HOME") + "/.mlflow/credentials";
  errno = 0;
  std::ifstream file(path);
  const int error = errno;
  if (!file.is_open() && (error == ENOENT || error == ENOTDIR)) { return; }
  bool ours = false;
  for (std::string line; std::getline(file, line);) {
    line = trimmed(line);
    if (!line.empty() && line.front() == '[') { ours = line == "[mlflow]"; }
    const std::size_t equals = line.find('=');
    if (!ours || equals == std::string::npos || line.front() == '#' || line.front() == ';') { continue; }
    const std::string name = trimmed(line.substr(0, equals));
    const std::string value = trimmed(line.substr(equals + 1));
    if (name == "mlflow_tracking_username" && options.username.empty()) { options.username = value; }
    if (name == "mlflow_tracking_password" && options.password.empty()) { options.password = value; }
  }
  if (!file.is_open() || file.bad()) {
    detail::report_error_once("mlflow.credentials",
                              path + " cannot be read" + (error == 0 ? "" : std::string(": ") + std::strerror(error)) +
                                  "; make it a file that you may read (chmod 600), or set MLFLOW_TRACKING_USERNAME and "
                                  "MLFLOW_TRACKING_PASSWORD");
  }
}

/// Returns the Mantik login if it belongs to this server: a token is sent only to the host that issued it.
MantikOptions read_mantik(const MlflowOptions& options) {
  MantikOptions mantik;
  mantik.username = variable("MANTIK_USERNAME");
  mantik.password = variable("MANTIK_PASSWORD");
  mantik.api_url = trimmed(variable("MANTIK_API_URL"));
  const bool login = !mantik.username.empty() || !mantik.password.empty();
  // A job started by Mantik has a token instead of a password.
  if (!login || (mantik.password.empty() && !options.token.empty())) { return {}; }
  const std::string api = detail::origin_of(mantik.api_url.empty() ? detail::kMantikApi : mantik.api_url);
  const std::string server = detail::origin_of(options.tracking_uri);
  if (options.tracking_uri.empty() || server == api) { return mantik; }
  detail::report_error_once(
      "mantik.other_host",
      "MANTIK_USERNAME and MANTIK_PASSWORD are not used: MLFLOW_TRACKING_URI is on " + server + ", and tokens of " +
          api +
          " are sent to no other host. Unset them, or set MLFLOW_TRACKING_URI and MANTIK_API_URL to "
          "one platform");
  return {};
}

}  // namespace

MlflowOptions MlflowOptions::from_env() {
  MlflowOptions options;
  options.tracking_uri = trimmed(variable("MLFLOW_TRACKING_URI"));
  options.username = variable("MLFLOW_TRACKING_USERNAME");
  options.password = variable("MLFLOW_TRACKING_PASSWORD");
  options.token = trimmed(variable("MLFLOW_TRACKING_TOKEN"));
  options.mantik = read_mantik(options);
  options.insecure_tls = flag("MLFLOW_TRACKING_INSECURE_TLS");
  options.server_cert_path = variable("MLFLOW_TRACKING_SERVER_CERT_PATH");
  options.client_cert_path = variable("MLFLOW_TRACKING_CLIENT_CERT_PATH");
  options.experiment_name = variable("MLFLOW_EXPERIMENT_NAME");
  options.experiment_id = variable("MLFLOW_EXPERIMENT_ID");
  options.run_id = variable("MLFLOW_RUN_ID");
  options.all_ranks = SessionOptions::from_env().all_ranks;
  if (options.username.empty() || options.password.empty()) { read_credentials(options); }
  return options;
}

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class MlflowLive : public detail::LiveRun {
 public:
  explicit MlflowLive(const MlflowOptions& options) : client_(options) {}

  bool begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why, detail::FileLease* lease) override;
  ExportResult take(const Snapshot& snapshot) override;
  bool flush(milliseconds deadline) override { return feed_->deliver(steady_clock::now() + deadline); }
  bool finish(milliseconds deadline) override;
  bool stopped() const noexcept override { return client_.stopped(); }

 private:
  detail::MlflowClient client_;
  std::optional<detail::JournalFeed> feed_;  // set in begin()
  std::string directory_;                    // run directory; may be empty
};

/// Writes the program's settings to the run directory before any request, even if the server is never reached: takt
/// sync reads them. Sends nothing if another process started delivery, because neither process knows what the other has
/// sent.
bool MlflowLive::begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why,
                       detail::FileLease* lease) {
  directory_ = snapshot.run.directory;
  if (claim == detail::Claim::started) {
    detail::report_error("mlflow.begun",
                         "another exporter or takt sync already delivers this run (" + why +
                             "), so nothing is sent from here. Add a single exporter, at the start of the run; takt "
                             "sync " +
                             directory_ + " sends the missing data");
    return false;
  }
  if (claim == detail::Claim::taken) {
    detail::report_error("mlflow.lease",
                         why + ". Both may deliver; only servers with a database reject duplicates. takt sync " +
                             directory_ + " sends the missing data");
  }
  if (!directory_.empty()) { client_.keep_cursor(detail::kMlflow.cursor_file(directory_), lease); }
  feed_.emplace(client_, detail::kMlflow, directory_);
  feed_->begin(snapshot);
  client_.begin(snapshot);
  return true;
}

ExportResult MlflowLive::take(const Snapshot& snapshot) {
  directory_ = snapshot.run.directory;  // the directory may have moved
  feed_->take(snapshot);
  // finish() sends the rest: it knows the deadline.
  if (!snapshot.finished) {
    try {
      feed_->deliver(steady_clock::now() + detail::kLiveSlice);
    } catch (const std::bad_alloc&) {
      // Data already taken is sent when memory is available again.
    }
  }
  return ExportResult::ok;
}

bool MlflowLive::finish(milliseconds deadline) {
  const bool delivered = flush(deadline);
  client_.leave();
  if (!client_.stopped() && (!delivered || client_.owed() != 0)) {
    const std::uint64_t missing = client_.queue().points() + client_.queue().lost();
    const char* const min = feed_->is_behind() ? "at least " : "";
    detail::report_error("mlflow.unsent", "the run ended before all data was sent to MLflow: " +
                                              (min + std::to_string(missing)) + " points are missing. " +
                                              (directory_.empty() ? std::string("Allow more time with TAKT_EXIT_MS")
                                                                  : "Send them with: takt sync " + directory_));
  }
  return delivered && client_.complete();
}

}  // namespace

struct MlflowExporter::Impl : detail::LiveDelivery {
  Impl(const MlflowOptions& options, std::unique_ptr<detail::LiveRun> run)
      : LiveDelivery(detail::kMlflow, options.all_ranks, std::move(run)) {}
};

MlflowExporter::MlflowExporter(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

// Taken by value to match the public signature.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
MlflowExporter::MlflowExporter(MlflowOptions options) {
  if (!detail::mlflow_has_server(options)) {
    throw Error("MlflowOptions::tracking_uri is empty; set it to the URL of a server, such as http://127.0.0.1:5000");
  }
  std::unique_ptr<MlflowLive> run;  // none if there is no server
  if (detail::mlflow_is_no_server(options.tracking_uri)) {
    detail::report_no_server();
  } else if (detail::mlflow_is_mantik(options) && options.run_id.empty() && options.experiment_name.empty() &&
             options.experiment_id.empty()) {
    throw Error(detail::kMantikNoExperiment);
  } else {
    run = std::make_unique<MlflowLive>(options);
  }
  impl_ = std::make_unique<Impl>(options, std::move(run));
}

MlflowExporter MlflowExporter::from_env() {
  MlflowOptions options = MlflowOptions::from_env();
  if (detail::mlflow_has_server(options)) { return MlflowExporter(std::move(options)); }
  detail::report_error_once("mlflow.unset",
                            "MLFLOW_TRACKING_URI is not set, so nothing is sent to MLflow; set it to the URL of a "
                            "server, such as http://127.0.0.1:5000");
  return MlflowExporter(std::make_unique<Impl>(options, nullptr));
}

MlflowExporter::~MlflowExporter() = default;
MlflowExporter::MlflowExporter(MlflowExporter&&) noexcept = default;
MlflowExporter& MlflowExporter::operator=(MlflowExporter&&) noexcept = default;

void MlflowExporter::begin(const Snapshot& snapshot) { impl_->begin(snapshot); }
ExportResult MlflowExporter::export_snapshot(const Snapshot& snapshot) { return impl_->export_snapshot(snapshot); }
bool MlflowExporter::flush(milliseconds deadline) { return impl_->flush(deadline); }
bool MlflowExporter::shutdown(milliseconds deadline) { return impl_->shutdown(deadline); }

TAKT_END_NAMESPACE
