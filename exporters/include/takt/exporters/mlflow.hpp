// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Login for Mantik, an MLflow server whose tokens expire after an hour: docs/mantik.md. Set both user name and
/// password, or neither.
struct MantikOptions {
  std::string username;  ///< [MANTIK_USERNAME]
  std::string password;  ///< [MANTIK_PASSWORD] sent to api_url only, never stored
  std::string api_url;   ///< [MANTIK_API_URL] URL that issues tokens; empty: https://api.cloud.mantik.ai
  /// Token file. Empty: ~/.mantik/tokens.json, shared with Mantik's Python client. That file does not record which
  /// platform issued its tokens, so an api_url on another host uses `~/.mantik/tokens-<host>%3A<port>.json`.
  std::string token_file;
};

/// MLflow server, credentials and the data to send. from_env() reads the variables in brackets, which are those of
/// MLflow's own clients; values set in code take precedence.
struct MlflowOptions {
  std::string tracking_uri;      ///< [MLFLOW_TRACKING_URI] http or https, may include a path; may be empty for Mantik
  std::string username;          ///< [MLFLOW_TRACKING_USERNAME] by default from ~/.mlflow/credentials
  std::string password;          ///< [MLFLOW_TRACKING_PASSWORD] likewise; user name and password win over token
  std::string token;             ///< [MLFLOW_TRACKING_TOKEN] sent as "Bearer"
  MantikOptions mantik;          ///< if set, its tokens are sent instead of the three values above
  bool insecure_tls = false;     ///< [MLFLOW_TRACKING_INSECURE_TLS] skip TLS verification; allow credentials over http
  std::string server_cert_path;  ///< [MLFLOW_TRACKING_SERVER_CERT_PATH] CA certificates (PEM); wins over insecure_tls
  std::string client_cert_path;  ///< [MLFLOW_TRACKING_CLIENT_CERT_PATH] client certificate and key (PEM)
  std::string experiment_name;   ///< [MLFLOW_EXPERIMENT_NAME] created if it does not exist; wins over experiment_id
  std::string experiment_id;     ///< [MLFLOW_EXPERIMENT_ID] must exist; empty: "0", the default experiment
  std::string run_id;            ///< [MLFLOW_RUN_ID] run to continue, instead of a new one
  bool every_step = false;       ///< one point per step, instead of one per ten seconds
  bool all_ranks = false;        ///< [TAKT_RANKS=all] one run per rank, not rank 0 alone; child runs of run_id if set
  bool artifacts = true;         ///< attach summary.json, table.txt and trace.json at the end of the run

  /// Returns the defaults, changed by the environment. Uses the Mantik login only if tracking_uri is empty or on the
  /// host of the login's api_url.
  TAKT_EXPORT static MlflowOptions from_env();
};

/// Sends a run's recorded data to an MLflow server, version 2.0 or later, or to Mantik: docs/mlflow.md. A slow or
/// unreachable server never delays a step. Unsent data is buffered up to 8 MiB; later data is read from the journal.
/// Without a journal the oldest data is dropped and counted.
class TAKT_EXPORT MlflowExporter final : public Exporter {
 public:
  /// Without MLFLOW_TRACKING_URI or a Mantik login, prints a warning and sends nothing.
  /// \throws takt::Error if the variables cannot work; the message says how to fix them.
  static MlflowExporter from_env();
  /// \throws takt::Error if the options cannot work, or if neither a tracking_uri nor a Mantik login is set.
  explicit MlflowExporter(MlflowOptions options);
  ~MlflowExporter() override;
  MlflowExporter(MlflowExporter&&) noexcept;
  MlflowExporter& operator=(MlflowExporter&&) noexcept;
  const char* name() const noexcept override { return "mlflow"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool flush(std::chrono::milliseconds deadline) override;
  bool shutdown(std::chrono::milliseconds deadline) override;
  void begin(const Snapshot& snapshot) override;

 private:
  struct Impl;
  explicit MlflowExporter(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
