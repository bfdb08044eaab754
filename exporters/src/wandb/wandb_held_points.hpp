// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "trackers/metric_points.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Points that wait for the rest of their step. What a program logs in a step is there before the step has ended, and
/// what is measured of the step after that: a row can have both only if the first waits. One thread at a time.
class WandbHeldPoints {
 public:
  static constexpr std::int64_t kOpenMs = 60'000;  ///< that a metric waits for the end of its step, at most
  static constexpr std::int64_t kLateMs =
      2'000;  ///< that a step which has ended waits for a metric that follows it, at most
  static constexpr std::size_t kMost = 10'000;  ///< metrics that wait

  /// What need not wait any more: the points of a step beside each other, and those of each source in their order, so
  /// that of each source the first ones are out. All, once the snapshot is the last one.
  std::vector<MetricPoint> take(const std::vector<MetricPoint>& made, const Snapshot& snapshot);

 private:
  void add(const std::vector<MetricPoint>& made, std::vector<MetricPoint>& totals);
  void put_rows(std::vector<MetricPoint>& out);
  void put_metrics(std::vector<MetricPoint>& out, std::size_t count);
  std::size_t metrics_before(std::int64_t step, std::int64_t end_ms) const;
  std::size_t passed_over(const std::vector<MetricPoint>& out) const;
  bool may_go(const MetricPoint& metric) const;

  std::deque<MetricPoint> metrics_;  // in the order of time
  std::deque<MetricPoint> rows_;
  std::int64_t now_ms_ = 0;
  bool has_batch_ = false;  // without, nothing is worth waiting for
  bool finished_ = false;
  // Of the row that ended last.
  bool has_row_ = false;
  std::int64_t row_step_ = 0;
  std::int64_t row_end_ms_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
