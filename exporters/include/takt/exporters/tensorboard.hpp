// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <chrono>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Where a run's event file goes, and what is in it. from_env() reads the variables in brackets; code wins.
struct TensorboardOptions {
  /// [TAKT_TENSORBOARD_DIR] a directory for TensorBoard's --logdir, in which each process has
  /// `<run id>/<its directory's name>`; empty: "tensorboard" in the run directory.
  std::string directory;
  bool every_step = false;  ///< a point for each step, instead of one for each ten seconds
  bool all_ranks = false;   ///< [TAKT_RANKS=all] a file for each rank, instead of rank 0 alone

  /// The defaults, changed by the environment.
  TAKT_EXPORT static TensorboardOptions from_env();
};

/// Writes what a run records into an event file, which TensorBoard reads while it grows: docs/tensorboard.md. What the
/// disk does not take is kept up to 8 MiB and written later; beyond, or where the file was removed, nothing more is
/// written: one line says so, and what is shown from then on is counted as lost to this exporter.
class TAKT_EXPORT TensorboardExporter final : public Exporter {
 public:
  static TensorboardExporter from_env();
  /// Touches no file: faults are reported when the run begins, and do not throw.
  explicit TensorboardExporter(const TensorboardOptions& options);
  ~TensorboardExporter() override;
  TensorboardExporter(TensorboardExporter&&) noexcept;
  TensorboardExporter& operator=(TensorboardExporter&&) noexcept;
  const char* name() const noexcept override { return "tensorboard"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool flush(std::chrono::milliseconds deadline) override;
  bool shutdown(std::chrono::milliseconds deadline) override;
  void begin(const Snapshot& snapshot) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
