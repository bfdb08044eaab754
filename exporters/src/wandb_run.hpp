// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>
#include <takt/snapshot.hpp>

#include "metric_points.hpp"
#include "wandb_config.hpp"
#include "wandb_log.hpp"
#include "wandb_records.hpp"
#include "wandb_rows.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A run of W&B on disk: takes snapshots, and writes down what follows from them. One thread at a time.
class WandbRun {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// \param most_backlog bytes that are kept for a disk that takes none; then nothing more is written.
  explicit WandbRun(const WandbOptions& options, std::size_t most_backlog = std::size_t{8} << 20U);

  /// Returns false where nothing more will be written; a line has said why.
  bool take(const Snapshot& snapshot);
  /// Writes what the disk did not take before. Returns whether all is written.
  bool flush();
  /// The end, after the last snapshot. Waits until `until` for files that others are still writing. Returns whether all that
  /// was taken, and its end, is written.
  bool finish(Time until);

 private:
  bool begin(const Snapshot& snapshot);
  void add_rows(const Snapshot& snapshot);
  void add_summary(std::int64_t wall_ns);
  void attach(const char* name, bool written);
  void attach_trace(Time until);
  void stop(const std::string& why);

  WandbOptions options_;
  std::string root_;
  std::size_t most_backlog_;
  std::string folder_;
  WandbLog log_;
  WandbRecords records_;
  WandbConfig config_;
  MetricPoints points_;
  WandbRows rows_;
  WandbSummary summary_;
  std::int64_t summary_due_ns_ = 0;  // since the start of the run
  std::string trace_;                // the file, where there will be one
  std::int64_t wall_ns_ = 0;
  bool begun_ = false;
  bool stopped_ = false;
  bool finished_ = false;  // the last snapshot was taken
  bool failed_ = false;
  bool ended_ = false;
  bool missing_ = false;  // a file
};

}  // namespace detail
TAKT_END_NAMESPACE
