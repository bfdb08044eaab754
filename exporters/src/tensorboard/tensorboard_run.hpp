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

// What an event file is made of: records of TFRecord, each with one message Event of TensorBoard's. All: any thread.

/// `record` with its length before it, and a checksum behind each of the two.
std::string tfrecord(std::string_view record);

/// The first message of a file.
Protobuf version_event(double wall_time_s);
/// A number, which becomes a float: that is what TensorBoard shows. Beyond its range it is infinite.
Protobuf scalar_event(double wall_time_s, std::int64_t step, const std::string& tag, double value);
/// The durations after warm-up, in seconds.
Protobuf histogram_event(double wall_time_s, std::int64_t step, const std::string& tag, const Summary& durations);

inline constexpr Tracker kTensorboard{"tensorboard", "TensorBoard", "takt sync --to tensorboard", nullptr,
                                      "tensorboard.lease"};

/// The directory for a process's event file, made where it is missing: in `logdir`, or, where that is empty, in the run
/// directory. Links below these are not followed. Not open where that cannot be done: `error` says why, and what to do.
/// One thread at a time.
std::shared_ptr<const DirectoryFiles> tensorboard_directory(const std::string& logdir, const RunInfo& run,
                                                            const DirectoryFiles& run_directory, std::string& error);
/// "cannot <what> <path>: <reason of `number`>; <what to do>". Any thread.
std::string tensorboard_error(const char* what, const std::string& path, int number);
/// The name of the file, the same each time. Any thread.
std::string tensorboard_file(const RunInfo& run, bool every_step);
/// Writes snapshots into an event file. One thread at a time.
class TensorboardRun : public RunConsumer {
 public:
  /// \param max_backlog bytes that are kept for a disk that takes none; then nothing more is written.
  explicit TensorboardRun(bool every_step, std::size_t max_backlog = std::size_t{8} << 20U);

  /// Makes the file, which must not exist. Returns false, with errno, where that cannot be done.
  bool create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name, const RunInfo& run);
  /// Returns false where nothing more will be written; a line has said why.
  bool take(const Snapshot& snapshot) override;
  /// The last once more, with the figures over ranks, where it had none of them before. They go to a file beside, in
  /// the place of those of fewer ranks. After take(). Returns false where the disk does not take it; a line says so.
  bool take_job(const Snapshot& snapshot);
  std::uint64_t next_row() const noexcept override { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept override { return points_.next_metric(); }
  /// Writes what the disk did not take before. Returns whether all is written.
  bool flush();
  /// The same, and waits for the disk.
  bool sync() { return flush() && file_.sync() && !job_lacks_; }

  std::uint64_t bytes() const noexcept { return file_.written(); }
  std::uint64_t values() const noexcept { return values_; }  ///< and histograms, so far

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
  bool job_lacks_ = false;  // the disk did not take the figures over ranks
};

}  // namespace detail
TAKT_END_NAMESPACE
