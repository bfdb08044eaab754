// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/mlflow.hpp>

#include "fault.hpp"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace {

/// Empty where it is unset.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string trimmed(const std::string& text) {
  const char* const blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool flag(const char* name) {
  std::string value = variable(name);
  for (char& each : value) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
  if (value == "true" || value == "1") { return true; }
  if (!value.empty() && value != "false" && value != "0") {
    detail::report_fault_once(std::string("environment.") + name,
                              std::string(name) + " is not true, false, 1 or 0; using false");
  }
  return false;
}

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

}  // namespace

MlflowOptions MlflowOptions::from_env() {
  MlflowOptions options;
  options.tracking_uri = trimmed(variable("MLFLOW_TRACKING_URI"));
  options.username = variable("MLFLOW_TRACKING_USERNAME");
  options.password = variable("MLFLOW_TRACKING_PASSWORD");
  options.token = trimmed(variable("MLFLOW_TRACKING_TOKEN"));
  options.insecure_tls = flag("MLFLOW_TRACKING_INSECURE_TLS");
  options.server_cert_path = variable("MLFLOW_TRACKING_SERVER_CERT_PATH");
  options.client_cert_path = variable("MLFLOW_TRACKING_CLIENT_CERT_PATH");
  options.experiment_name = variable("MLFLOW_EXPERIMENT_NAME");
  options.experiment_id = variable("MLFLOW_EXPERIMENT_ID");
  options.run_id = variable("MLFLOW_RUN_ID");
  if (options.username.empty() || options.password.empty()) { read_credentials(options); }
  return options;
}

TAKT_END_NAMESPACE
