// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// The login at Mantik, an MLflow server whose tokens end after an hour: docs/mantik.md. Both user name and password,
/// or neither.
struct MantikOptions {
  std::string username;  ///< [MANTIK_USERNAME]
  std::string password;  ///< [MANTIK_PASSWORD] sent to api_url only, and kept nowhere
  std::string api_url;   ///< [MANTIK_API_URL] where tokens come from; empty: https://api.cloud.mantik.ai
  /// Where tokens are kept; empty: ~/.mantik/tokens.json, which Mantik's Python client shares, and for an api_url of
  /// another host `~/.mantik/tokens-<host>%3A<port>.json`, as that file does not say of which platform its tokens are.
  std::string token_file;
};

/// Where an MLflow server is, who asks, and what is sent. from_env() reads the variables in brackets, which are those
/// of MLflow's own clients; what is set in code wins.
struct MlflowOptions {
  std::string tracking_uri;      ///< [MLFLOW_TRACKING_URI] http or https; a path in it is kept; may be empty for Mantik
  std::string username;          ///< [MLFLOW_TRACKING_USERNAME] else from ~/.mlflow/credentials
  std::string password;          ///< [MLFLOW_TRACKING_PASSWORD] likewise; both together win over the token
  std::string token;             ///< [MLFLOW_TRACKING_TOKEN] sent as "Bearer"
  MantikOptions mantik;          ///< where it is set, its tokens are sent, and none of the three above
  bool insecure_tls = false;     ///< [MLFLOW_TRACKING_INSECURE_TLS] no check of the server; credentials over http, too
  std::string server_cert_path;  ///< [MLFLOW_TRACKING_SERVER_CERT_PATH] PEM file of authorities; wins over insecure_tls
  std::string client_cert_path;  ///< [MLFLOW_TRACKING_CLIENT_CERT_PATH] PEM file with certificate and key
  std::string experiment_name;   ///< [MLFLOW_EXPERIMENT_NAME] made if there is none; wins over experiment_id
  std::string experiment_id;     ///< [MLFLOW_EXPERIMENT_ID] has to exist; empty: "0", the default experiment
  std::string run_id;            ///< [MLFLOW_RUN_ID] a run to go on with, instead of a new one
  bool every_step = false;       ///< a point for each step, instead of one for each ten seconds
  bool all_ranks = false;        ///< [TAKT_RANKS=all] a run for each rank, not rank 0 alone; children of run_id if set
  bool artifacts = true;         ///< attach summary.json, table.txt and trace.json at the end

  /// The defaults, changed by the environment. The login at Mantik is used for a tracking_uri on the host of its
  /// api_url only.
  TAKT_EXPORT static MlflowOptions from_env();
};

/// Sends what a run records to an MLflow server, 2.0 or later, or to Mantik: docs/mlflow.md. A server that is slow or
/// away delays no step; what it has not taken is kept up to 8 MiB. What comes after that is read from the journal
/// later; without one the oldest goes and is counted.
class TAKT_EXPORT MlflowExporter final : public Exporter {
 public:
  /// Without MLFLOW_TRACKING_URI, or a login at Mantik, it says so and sends nothing.
  /// \throws takt::Error for variables that cannot work, saying what to do.
  static MlflowExporter from_env();
  /// \throws takt::Error for options that cannot work, and where there is neither a tracking_uri nor a login at Mantik.
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
