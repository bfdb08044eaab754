// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "history/metric_history.hpp"
#include "history/series_history.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What became of the steps of one process over its run, and of the metrics that it logged, in bounded memory: what
/// findings and the page of a run rest on. Rows and metrics fill it as they come by, live or from the journal. A value;
/// one thread at a time.
class StepHistory {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{2} << 20U;
  static constexpr std::size_t kMostSeries = 16;
  static constexpr std::size_t kMostMetrics = 32;
  static constexpr std::size_t kFewestBlocks = 64;  ///< of a series; below that its blocks are not joined for room

  /// Blocks of steps are joined while they take more than about so many bytes. Metrics take 0.8 MB more at most.
  explicit StepHistory(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  /// Takes the rows and metrics of a snapshot.
  void add(const Snapshot& snapshot) { add(snapshot, snapshot.rows, snapshot.metrics); }
  /// Takes rows and metrics that belong to the snapshot.
  void add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics);
  /// The history with all that was added: the newest steps wait for others to be compared with. Adding may go on.
  StepHistory finished() const;

  /// By index as in Snapshot::series. Those without rows, and beyond the first kMostSeries that had some, are empty.
  const std::vector<SeriesHistory>& series() const noexcept { return series_; }
  /// The series whose Batches took most time together, as an index; series().size(): no series has rows.
  std::size_t main_series() const noexcept;
  const std::map<std::string, MetricHistory>& metrics() const noexcept { return metrics_; }
  /// Rows of series, and points of metrics, for which there was no place.
  std::uint64_t rows_left_out() const noexcept { return rows_left_out_; }
  std::uint64_t points_left_out() const noexcept { return points_left_out_; }
  std::size_t bytes() const noexcept;

 private:
  void make_room();

  std::size_t most_bytes_;
  std::vector<SeriesHistory> series_;
  std::size_t kept_series_ = 0;
  std::map<std::string, MetricHistory> metrics_;
  std::uint64_t rows_left_out_ = 0;
  std::uint64_t points_left_out_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
