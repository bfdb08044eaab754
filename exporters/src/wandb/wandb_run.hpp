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

/// Writes a W&B run to disk from snapshots. One thread at a time.
class WandbRun : public RunConsumer {
 public:
  /// \param max_backlog maximum number of bytes buffered while the disk refuses data; beyond it, writing stops.
  explicit WandbRun(const WandbOptions& options, std::size_t max_backlog = std::size_t{8} << 20U);

  /// Saves the progress of writing and sending in `file` from now on. Call before take().
  void keep_cursor(const std::string& file, FileLease* lease = nullptr);
  /// Same, with the default file name in a run directory.
  void keep_cursor(std::shared_ptr<const DirectoryFiles> directory, FileLease* lease);
  /// Continues the log of an ended process, and skips data that the log already has. Call before take().
  /// \param run that the log must belong to.
  /// \param before_end removes the log's end, so that it is written again after the new data.
  /// \throws takt::Error if the log has changed or belongs to another run; nothing is changed then.
  void resume(WandbCursor cursor, const RunInfo& run, bool before_end = false);

  /// Sets the data about program and machine. Call before open().
  void describe(WandbEnvironment environment) { environment_ = std::move(environment); }
  /// Creates the log, with the data known of the run, if there is none.
  void open(const Snapshot& snapshot);
  /// Returns false if nothing more will be written; the reason has been reported.
  bool take(const Snapshot& snapshot) override;
  /// Takes the last snapshot of a killed process, which therefore did not end the run itself.
  /// \param journal_bytes journal size, by which the next delivery detects that the process went on after all.
  bool take_killed(const Snapshot& snapshot, std::uint64_t journal_bytes);
  /// Adds the figures over ranks to the last snapshot, if it had none. Call after take().
  bool take_job(const Snapshot& snapshot);
  /// Writes buffered data. Returns whether everything is written.
  bool flush();
  /// Ends the log after the last snapshot. Waits until `until` for files that other threads still write. Returns
  /// whether all data and the end are written.
  bool finish(Time until);

  std::uint64_t next_row() const noexcept override { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept override { return points_.next_metric(); }
  std::uint64_t next_sample() const noexcept override { return points_.next_sample(); }

  /// Empty until there is a log.
  const std::string& directory() const noexcept { return directory_; }
  const std::string& log_file() const noexcept { return cursor_.log; }
  const WandbCursor& cursor() const noexcept { return cursor_; }
  /// Records that the server has the run. Returns whether the cursor was saved, if there is one.
  bool sending(const std::string& server, const std::string& run, const WandbBehind& behind);
  /// Records the sending progress in the cursor.
  /// \param lines number of the log's lines on the server. \param events number of its system metric lines there.
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
  std::shared_ptr<const DirectoryFiles> files_;  // directory_
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
  std::string trace_;                // directory of trace.json, if there will be one
  WandbCursor cursor_;
  WandbCursor resumed_;  // state when this process started
  CursorFile cursor_file_;
  std::int64_t wall_ns_ = 0;
  bool started_ = false;
  bool stopped_ = false;
  WandbNotes notes_;
  bool finished_ = false;  // the last snapshot was taken
  int exit_code_ = 0;
  bool ended_ = false;
  bool missing_ = false;  // a file is missing
};

}  // namespace detail
TAKT_END_NAMESPACE
