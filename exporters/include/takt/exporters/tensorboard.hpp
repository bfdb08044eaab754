// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <chrono>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Location and content of a run's event file. from_env() reads the variables in brackets; values set in code win.
struct TensorboardOptions {
  /// [TAKT_TENSORBOARD_DIR] Directory for TensorBoard's --logdir. Each process writes to its subdirectory `<run
  /// id>/<name of the process's run directory>`. Empty: "tensorboard" in the run directory.
  std::string directory;
  bool every_step = false;  ///< one point per step, instead of one per ten seconds
  bool all_ranks = false;   ///< [TAKT_RANKS=all] one file per rank, instead of rank 0 alone

  /// Returns the defaults, changed by the environment.
  TAKT_EXPORT static TensorboardOptions from_env();
};

/// Writes a run's recorded data to an event file that TensorBoard can read while it grows: docs/tensorboard.md. If the
/// disk refuses data, up to 8 MiB are buffered and written later. If the buffer is full, or if the file was removed,
/// writing stops with one warning, and later data is counted as dropped by this exporter.
class TAKT_EXPORT TensorboardExporter final : public Exporter {
 public:
  static TensorboardExporter from_env();
  /// Touches no file and does not throw; errors are reported when the run starts.
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
