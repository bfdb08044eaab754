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

/// Where a run goes.
enum class WandbMode {
  online,    ///< "online", "run": files, and to the server while the run goes on, where there is a key
  offline,   ///< "offline", "dryrun": files
  disabled,  ///< "disabled": nothing
};

/// What a run has to do with one of the same id that W&B may have. Only for those whose run_id is set.
enum class WandbResume {
  unset,  ///< its rows come behind that one's, with row numbers from 0 again
  allow,  ///< "allow", "auto": it goes on with that one, if there is one
  must,   ///< "must": likewise, and is not sent where there is none
  never,  ///< "never": it is not sent where there is one
};

/// What a run on Weights & Biases is called and belongs to, what is written, and where it is sent. from_env() reads the
/// variables in brackets, which are those of W&B's own client; what is set in code wins. The key is kept in memory
/// only: neither files nor lines show it, and it goes to `base_url` alone.
struct WandbOptions {
  WandbMode mode = WandbMode::online;  ///< [WANDB_MODE; WANDB_DISABLED=true: disabled]
  std::string directory;  ///< [WANDB_DIR] has, or gets, the directory "wandb"; empty: the working directory
  std::string entity;     ///< [WANDB_ENTITY] user or team; empty: the default one of who uploads
  std::string project;    ///< [WANDB_PROJECT] at most 128 characters; empty: the server's default
  std::string run_id;     ///< [WANDB_RUN_ID] empty: made up. With all_ranks "-<rank>" is added
  WandbResume resume = WandbResume::unset;  ///< [WANDB_RESUME]
  std::string name;                         ///< [WANDB_NAME] empty: that of the Session
  std::string notes;                        ///< [WANDB_NOTES]
  std::vector<std::string> tags;            ///< [WANDB_TAGS, with commas] of 1 to 64 characters each
  std::string group;                        ///< [WANDB_RUN_GROUP] empty: with all_ranks the run id that the ranks share
  std::string job_type;                     ///< [WANDB_JOB_TYPE] empty: with all_ranks "rank"
  std::string sweep_id;                     ///< [WANDB_SWEEP_ID]
  bool silent = false;                      ///< [WANDB_SILENT, WANDB_QUIET] does not say how to upload
  bool every_step = false;                  ///< a row for each step, instead of one for each ten seconds
  /// What W&B's overview of a run shows of program and machine: docs/wandb.md, "What is told of program and machine".
  bool metadata = true;   ///< [WANDB_X_DISABLE_META=true: false] program, arguments, directory, CPU, memory, GPUs
  bool arguments = true;  ///< of the program, without what looks like a secret; only with metadata
  std::string program;    ///< [WANDB_PROGRAM] empty: as it was called
  bool git =
      true;  ///< [WANDB_DISABLE_GIT=true: false] commit and remote of the working directory, or else of the program
  std::string git_remote = "origin";  ///< [WANDB_GIT_REMOTE] its name
  std::string git_commit;             ///< [WANDB_GIT_COMMIT] empty: from git's files
  std::string git_remote_url;         ///< [WANDB_GIT_REMOTE_URL] likewise
  /// What the program, or whoever starts it, writes its output to: what is in it is attached as output.log. Takt
  /// redirects nothing. Empty: no output is attached.
  std::string output_log;
  /// Called once when somebody presses "stop" at W&B, by a thread of Takt's, between two requests: set a flag that the
  /// training loop looks at. It must neither wait nor call a Session. What it throws is reported. Empty: a line says
  /// that nobody listens.
  std::function<void()> on_stop;
  bool all_ranks = false;        ///< [TAKT_RANKS=all] a run for each rank, in one group, instead of rank 0 alone
  bool files = true;             ///< attach summary.json, table.txt and trace.json at the end
  std::string base_url;          ///< [WANDB_BASE_URL] of the server; empty: https://api.wandb.ai
  std::string api_key;           ///< [WANDB_API_KEY, else netrc] empty: nothing is sent, files are written
  std::string username;          ///< [WANDB_USERNAME] in whose name the key of a service writes
  std::string user_email;        ///< [WANDB_USER_EMAIL] likewise
  std::string server_cert_path;  ///< [SSL_CERT_FILE] PEM file of the authorities to trust; empty: the system's
  bool insecure_tls = false;     ///< [WANDB_INSECURE_DISABLE_SSL] the certificate is not looked at; wins
  /// [WANDB_HTTP_TIMEOUT, in seconds] the most that a request may take.
  std::chrono::milliseconds request_timeout{30'000};

  /// The defaults, changed by the environment. A WANDB_MODE that is not understood is reported, and counts as online.
  /// So is a WANDB_RESUME, which is then unset.
  TAKT_EXPORT static WandbOptions from_env();
};

/// Writes what a run records as W&B's own client does offline, which "wandb sync" uploads, and with a key sends it to
/// the server meanwhile: docs/wandb.md. What is sent is read from what was written, so that a server that is away takes
/// no memory. What the disk does not take is kept up to 8 MiB and written later; beyond, nothing more is written or
/// sent, and one line says so.
class TAKT_EXPORT WandbExporter final : public Exporter {
 public:
  /// \throws takt::Error for variables that W&B would not take, such as a key that is too short, saying what to do.
  static WandbExporter from_env();
  /// \throws takt::Error for options that W&B would not take. Faults of disk and network do not throw: they are
  /// reported.
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
