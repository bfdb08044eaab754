// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Output of a W&B run.
enum class WandbMode {
  online,    ///< "online", "run": files; also sent to the server during the run if a key is set
  offline,   ///< "offline", "dryrun": files only
  disabled,  ///< "disabled": no output
};

/// Behaviour if W&B already has a run of the same id. Only used if run_id is set.
enum class WandbResume {
  unset,  ///< appends its rows to that run, with row numbers from 0 again
  allow,  ///< "allow", "auto": continues that run if it exists
  must,   ///< "must": likewise; nothing is sent if that run does not exist
  never,  ///< "never": nothing is sent if that run exists
};

/// Name, content and destination of a run on Weights & Biases. from_env() reads the variables in brackets, which are
/// those of W&B's own client; values set in code win. The key is kept in memory only: it never appears in files or
/// messages, and is sent to `base_url` alone.
struct WandbOptions {
  WandbMode mode = WandbMode::online;  ///< [WANDB_MODE; WANDB_DISABLED=true: disabled]
  std::string directory;  ///< [WANDB_DIR] parent of "wandb", created if needed; empty: the working directory
  std::string entity;     ///< [WANDB_ENTITY] user or team; empty: the default of the user who uploads
  std::string project;    ///< [WANDB_PROJECT] at most 128 characters; empty: the server's default
  std::string run_id;     ///< [WANDB_RUN_ID] empty: generated. "-<rank>" is appended with all_ranks
  WandbResume resume = WandbResume::unset;  ///< [WANDB_RESUME]
  std::string name;                         ///< [WANDB_NAME] empty: name of the Session
  std::string notes;                        ///< [WANDB_NOTES]
  std::vector<std::string> tags;            ///< [WANDB_TAGS, comma-separated] 1 to 64 characters each
  std::string group;                        ///< [WANDB_RUN_GROUP] empty: with all_ranks, the run id shared by the ranks
  std::string job_type;                     ///< [WANDB_JOB_TYPE] empty: with all_ranks, "rank"
  std::string sweep_id;                     ///< [WANDB_SWEEP_ID]
  bool silent = false;                      ///< [WANDB_SILENT, WANDB_QUIET] omit the upload hint
  bool every_step = false;                  ///< one row per step, instead of one per ten seconds
  /// Program and machine data for W&B's overview of a run: docs/wandb.md.
  bool metadata = true;   ///< [WANDB_X_DISABLE_META=true: false] program, arguments, directory, CPU, memory, GPUs
  bool arguments = true;  ///< program arguments, without likely secrets; only with metadata
  std::string program;    ///< [WANDB_PROGRAM] empty: as invoked
  /// [WANDB_DISABLE_GIT=true: false] Commit and remote of the working directory, or else of the program.
  bool git = true;
  std::string git_remote = "origin";  ///< [WANDB_GIT_REMOTE] name of the remote
  std::string git_commit;             ///< [WANDB_GIT_COMMIT] empty: read from git's files
  std::string git_remote_url;         ///< [WANDB_GIT_REMOTE_URL] empty: read from git's files
  /// File that receives the program's output, written by the program or its launcher; attached as output.log. Takt
  /// redirects no output. Empty: no output is attached.
  std::string output_log;
  /// Called once if a user presses "stop" at W&B, on a Takt thread, between two requests. Set a flag that the training
  /// loop checks. The callback must neither block nor call a Session. Exceptions are reported. Empty: the stop request
  /// is only reported.
  std::function<void()> on_stop;
  bool all_ranks = false;        ///< [TAKT_RANKS=all] one run per rank, in one group, instead of rank 0 alone
  bool files = true;             ///< attach summary.json, table.txt and trace.json at the end of the run
  std::string base_url;          ///< [WANDB_BASE_URL] server; empty: https://api.wandb.ai
  std::string api_key;           ///< [WANDB_API_KEY, else netrc] empty: files are written and nothing is sent
  std::string username;          ///< [WANDB_USERNAME] user for whom a service account's key writes
  std::string user_email;        ///< [WANDB_USER_EMAIL] likewise
  std::string server_cert_path;  ///< [SSL_CERT_FILE] trusted CA certificates (PEM); empty: the system's
  bool insecure_tls = false;     ///< [WANDB_INSECURE_DISABLE_SSL] skip verification; wins over server_cert_path
  /// [WANDB_HTTP_TIMEOUT, in seconds] Maximum duration of a request.
  std::chrono::milliseconds request_timeout{30'000};

  /// Returns the defaults, changed by the environment. An invalid WANDB_MODE is reported and treated as online; an
  /// invalid WANDB_RESUME is reported and treated as unset.
  TAKT_EXPORT static WandbOptions from_env();
};

/// Writes a run's recorded data in the format of W&B's offline mode, which "wandb sync" uploads. With a key, also sends
/// the data to the server during the run: docs/wandb.md. Sending reads the written files, so an unreachable server
/// costs no memory. If the disk refuses data, up to 8 MiB are buffered and written later. If the buffer is full,
/// writing and sending stop with one warning.
class TAKT_EXPORT WandbExporter final : public Exporter {
 public:
  /// \throws takt::Error if W&B would reject the variables, such as a key that is too short; the message says how to
  /// fix them.
  static WandbExporter from_env();
  /// \throws takt::Error if W&B would reject the options. Disk and network errors do not throw: they are reported.
  explicit WandbExporter(const WandbOptions& options);
  ~WandbExporter() override;
  WandbExporter(WandbExporter&&) noexcept;
  WandbExporter& operator=(WandbExporter&&) noexcept;
  const char* name() const noexcept override { return "wandb"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool flush(std::chrono::milliseconds deadline) override;
  bool shutdown(std::chrono::milliseconds deadline) override;
  void begin(const Snapshot& snapshot) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
