// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/live_delivery.hpp"
#include "trackers/metric_points.hpp"
#include "trackers/protobuf.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Content of an event file: TFRecord records, each with one TensorBoard Event message. All functions: any thread.

/// Returns `record` preceded by its length, with a checksum after each of the two.
std::string tfrecord(std::string_view record);

/// Returns the first message of a file.
Protobuf version_event(double wall_time_s);
/// Returns a scalar event. The value becomes a float, as TensorBoard shows it; values beyond its range become infinite.
Protobuf scalar_event(double wall_time_s, std::int64_t step, const std::string& tag, double value);
/// Returns a histogram of the durations after warm-up, in seconds.
Protobuf histogram_event(double wall_time_s, std::int64_t step, const std::string& tag, const Summary& durations);

inline constexpr Tracker kTensorboard{"tensorboard", "TensorBoard", "takt sync --to tensorboard", nullptr,
                                      "tensorboard.lease"};

/// Opens the directory for a process's event file, and creates it if needed: in `logdir`, or in the run directory if
/// `logdir` is empty. Links below these are not followed. On failure the result is not open, and `error` has the reason
/// and the cure. One thread at a time.
std::shared_ptr<const DirectoryFiles> tensorboard_directory(const std::string& logdir, const RunInfo& run,
                                                            const DirectoryFiles& run_directory, std::string& error);
/// Returns "cannot <what> <path>: <reason of `number`>; <cure>". Any thread.
std::string tensorboard_error(const char* what, const std::string& path, int number);
/// Returns the file name, the same each time. Any thread.
std::string tensorboard_file(const RunInfo& run, bool every_step);
/// Writes snapshots into an event file. One thread at a time.
class TensorboardRun : public RunConsumer {
 public:
  /// \param max_backlog maximum number of bytes buffered while the disk refuses data; beyond it, writing stops.
  explicit TensorboardRun(bool every_step, std::size_t max_backlog = std::size_t{8} << 20U);

  /// Creates the file, which must not exist. Returns false, with errno set, on failure.
  bool create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name, const RunInfo& run);
  /// Returns false if nothing more will be written; the reason has been reported.
  bool take(const Snapshot& snapshot) override;
  /// Writes the last snapshot's figures over ranks, if it had none before, to a separate file that replaces the one
  /// with fewer ranks. Call after take(). Returns false, after a report, if the disk refuses the data.
  bool take_job(const Snapshot& snapshot);
  std::uint64_t next_row() const noexcept override { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept override { return points_.next_metric(); }
  /// Writes buffered data. Returns whether everything is written.
  bool flush();
  /// Like flush(), and waits for the disk.
  bool sync() { return flush() && file_.sync() && !job_lacks_; }

  std::uint64_t bytes() const noexcept { return file_.written(); }
  std::uint64_t values() const noexcept { return values_; }  ///< values and histograms written so far

 private:
  void append(const Protobuf& event);
  bool write_job(const Snapshot& snapshot, const std::string& name);
  void add_histograms(const Snapshot& snapshot, const MetricPoint& last);

  MetricPoints points_;
  TrackerNames names_;  // of histograms
  GrowingFile file_;
  Backlog backlog_;
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string path_;
  std::uint64_t values_ = 0;
  bool finished_ = false;
  bool job_lacks_ = false;  // the disk refused the figures over ranks
};

}  // namespace detail
TAKT_END_NAMESPACE
