// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>
#include <takt/snapshot.hpp>

#include "base/directory_files.hpp"
#include "trackers/live_delivery.hpp"
#include "trackers/metric_points.hpp"
#include "trackers/tracker_files.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_environment.hpp"
#include "wandb/wandb_log.hpp"
#include "wandb/wandb_rows.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A run of W&B on disk: takes snapshots, and writes down what follows from them. One thread at a time.
class WandbRun : public RunConsumer {
 public:
  /// \param max_backlog bytes that are kept for a disk that takes none; then nothing more is written.
  explicit WandbRun(const WandbOptions& options, std::size_t max_backlog = std::size_t{8} << 20U);

  /// From now on `file` says how far the log got, and was sent. Before take().
  void keep_cursor(const std::string& file, FileLease* lease = nullptr);
  /// The same in a run directory, where it has its own name.
  void keep_cursor(std::shared_ptr<const DirectoryFiles> directory, FileLease* lease);
  /// Goes on with the log of a process that is gone: what is in it is passed over when it is taken again. Before
  /// take().
  /// \param run whose log it has to be.
  /// \param before_end the log has its end, which is taken out and written again, behind what comes.
  /// \throws takt::Error where that log is not as it was left, or not this run's; then nothing has changed.
  void resume(WandbCursor cursor, const RunInfo& run, bool before_end = false);

  /// What is known of the program and its machine. Before open().
  void describe(WandbEnvironment environment) { environment_ = std::move(environment); }
  /// Makes the log, with what is known of the run, unless there is one.
  void open(const Snapshot& snapshot);
  /// Returns false where nothing more will be written; a line has said why.
  bool take(const Snapshot& snapshot) override;
  /// The last, of a process that is gone, and would have ended the run otherwise.
  /// \param journal_bytes by which the next delivery sees that it was not the last after all.
  bool take_killed(const Snapshot& snapshot, std::uint64_t journal_bytes);
  /// The same with the last snapshot and the figures over ranks, where it had none of them before. After take().
  bool take_job(const Snapshot& snapshot);
  /// Writes what the disk did not take before. Returns whether all is written.
  bool flush();
  /// The end, after the last snapshot. Waits until `until` for files that others are still writing. Returns whether all
  /// that was taken, and its end, is written.
  bool finish(Time until);

  std::uint64_t next_row() const noexcept override { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept override { return points_.next_metric(); }
  std::uint64_t next_sample() const noexcept override { return points_.next_sample(); }

  /// Both are empty before there is a log.
  const std::string& directory() const noexcept { return directory_; }
  const std::string& log_file() const noexcept { return cursor_.log; }
  const WandbCursor& cursor() const noexcept { return cursor_; }
  /// The server has it from now on. Returns whether the cursor says so, where one is kept.
  bool sending(const std::string& server, const std::string& run, const WandbBehind& behind);
  /// What is known of its sending, for the cursor.
  /// \param lines that are there. \param events of metrics of the system, likewise.
  void sent(const std::string& server, const std::string& run, std::uint64_t lines, std::uint64_t events,
            bool complete);

 private:
  bool begin(const Snapshot& snapshot);
  WandbResume resume_wish() const;
  void keep_id();
  void write_head(const Snapshot& snapshot, const WandbIdentity& identity);
  void add_rows(const Snapshot& snapshot);
  void add_job(const Snapshot& snapshot, std::vector<MetricPoint>& points);
  void append(const std::vector<MetricPoint>& points);
  void append_system(const std::vector<MetricPoint>& points);
  void warn_renamed();
  std::vector<MetricPoint> only_new(std::vector<MetricPoint> points);
  bool is_new(const MetricPoint& point);
  bool save();
  void add_notes(const Snapshot& snapshot);
  void add_summary(std::int64_t wall_ns);
  DirectoryFiles attachments();
  void attach(const char* name, bool written);
  void attach_trace(Time until);
  void attach_output();
  void stop(const std::string& why);

  WandbOptions options_;
  WandbEnvironment environment_;
  std::string root_;
  std::string directory_;
  std::shared_ptr<const DirectoryFiles> files_;  // in it
  WandbOutput output_;
  WandbLog log_;
  Backlog backlog_;
  WandbRecords records_;
  WandbConfig config_;
  MetricPoints points_;
  WandbEpochs epochs_;
  WandbRows rows_;
  int renamed_lines_ = 0;
  WandbSummary summary_;
  std::int64_t summary_due_ns_ = 0;  // since the start of the run
  std::string trace_;                // the directory, where there will be one
  WandbCursor cursor_;
  WandbCursor resumed_;  // as it was when this process began
  CursorFile cursor_file_;
  std::int64_t wall_ns_ = 0;
  bool started_ = false;
  bool stopped_ = false;
  WandbNotes notes_;
  bool finished_ = false;  // the last snapshot was taken
  int exit_code_ = 0;
  bool ended_ = false;
  bool missing_ = false;  // a file
};

}  // namespace detail
TAKT_END_NAMESPACE
