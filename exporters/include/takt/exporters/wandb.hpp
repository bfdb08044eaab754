// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE

enum class WandbMode {
  online,    ///< "online", "run": not there yet; files, and one line with the command that uploads them
  offline,   ///< "offline", "dryrun": files
  disabled,  ///< "disabled": nothing
};

/// What a run on Weights & Biases is called and belongs to, and what is written. from_env() reads the variables in brackets,
/// which are those of W&B's own client; what is set in code wins. Credentials are not among them: nothing is sent.
struct WandbOptions {
  WandbMode mode = WandbMode::online;  ///< [WANDB_MODE; WANDB_DISABLED=true: disabled]
  std::string directory;               ///< [WANDB_DIR] has, or gets, the folder "wandb"; empty: the working directory
  std::string entity;                  ///< [WANDB_ENTITY] user or team; empty: the default one of who uploads
  std::string project;                 ///< [WANDB_PROJECT] at most 128 characters; empty: the server's default
  std::string run_id;                  ///< [WANDB_RUN_ID] empty: made up. With all_ranks "-<rank>" is added
  std::string name;                    ///< [WANDB_NAME] empty: that of the Session
  std::string notes;                   ///< [WANDB_NOTES]
  std::vector<std::string> tags;       ///< [WANDB_TAGS, with commas] of 1 to 64 characters each
  std::string group;                   ///< [WANDB_RUN_GROUP] empty: with all_ranks the run id that the ranks share
  std::string job_type;                ///< [WANDB_JOB_TYPE] empty: with all_ranks "rank"
  std::string sweep_id;                ///< [WANDB_SWEEP_ID]
  bool silent = false;                 ///< [WANDB_SILENT] does not say how to upload
  bool every_step = false;             ///< a row for each step, instead of one for each ten seconds
  bool all_ranks = false;              ///< [TAKT_RANKS=all] a run for each rank, in one group, instead of rank 0 alone
  bool files = true;                   ///< attach summary.json, table.txt and trace.json at the end

  /// The defaults, changed by the environment. A WANDB_MODE that is not understood is reported, and counts as online.
  TAKT_EXPORT static WandbOptions from_env();
};

/// Writes what a run records as W&B's own client does offline; "wandb sync" uploads it: docs/wandb.md. What the disk does not
/// take is kept up to 8 MiB and written later; beyond, nothing more is written, and one line says so.
class TAKT_EXPORT WandbExporter final : public Exporter {
 public:
  /// \throws takt::Error for variables that W&B would not take, saying what to do.
  static WandbExporter from_env();
  /// \throws takt::Error for options that W&B would not take. Faults of the disk do not throw: they are reported.
  explicit WandbExporter(const WandbOptions& options);
  ~WandbExporter() override;
  WandbExporter(WandbExporter&&) noexcept;
  WandbExporter& operator=(WandbExporter&&) noexcept;
  const char* name() const noexcept override { return "wandb"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool flush(std::chrono::milliseconds deadline) override;
  bool shutdown(std::chrono::milliseconds deadline) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
