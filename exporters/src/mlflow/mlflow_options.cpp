// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/mlflow.hpp>

#include <takt/session.hpp>

#include "base/fault.hpp"
#include "http/http.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/variables.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace {

using detail::flag;
using detail::trimmed;
using detail::variable;

/// ~/.mlflow/credentials, section [mlflow]: what no variable said.
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
    detail::report_fault_once("mlflow.credentials",
                              path + " cannot be read" + (error == 0 ? "" : std::string(": ") + std::strerror(error)) +
                                  "; make it a file that you may read (chmod 600), or set MLFLOW_TRACKING_USERNAME and "
                                  "MLFLOW_TRACKING_PASSWORD");
  }
}

/// The login at Mantik, if it is one for this server: a token goes to the host that has given it, and to no other.
MantikOptions read_mantik(const MlflowOptions& options) {
  MantikOptions mantik;
  mantik.username = variable("MANTIK_USERNAME");
  mantik.password = variable("MANTIK_PASSWORD");
  mantik.api_url = trimmed(variable("MANTIK_API_URL"));
  const bool login = !mantik.username.empty() || !mantik.password.empty();
  // A job that Mantik has started has a token instead of a password.
  if (!login || (mantik.password.empty() && !options.token.empty())) { return {}; }
  const std::string api = detail::origin_of(mantik.api_url.empty() ? detail::kMantikApi : mantik.api_url);
  const std::string server = detail::origin_of(options.tracking_uri);
  if (options.tracking_uri.empty() || server == api) { return mantik; }
  detail::report_fault_once("mantik.other_host",
                            "MANTIK_USERNAME and MANTIK_PASSWORD are not used: MLFLOW_TRACKING_URI leads to " + server +
                                ", and tokens of " + api +
                                " go nowhere else. Unset them, or make MLFLOW_TRACKING_URI and MANTIK_API_URL those of "
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

TAKT_END_NAMESPACE
