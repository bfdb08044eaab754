// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_held_points.hpp"

#include "base/nanoseconds.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<MetricPoint> WandbHeldPoints::take(const std::vector<MetricPoint>& made, const Snapshot& snapshot) {
  std::vector<MetricPoint> out;
  std::vector<MetricPoint> totals;
  add(made, totals);
  for (const Row& row : snapshot.rows) {
    has_row_ = true;
    row_step_ = row.step;
    row_end_ms_ = (snapshot.run.start_unix_ns + row.begin_ns + row.host_ns) / kMillisecondNs;
  }
  now_ms_ = (snapshot.run.start_unix_ns + snapshot.wall_ns) / kMillisecondNs;
  finished_ = snapshot.finished;
  has_batch_ = has_row_ || std::any_of(snapshot.paths.begin(), snapshot.paths.end(),
                                       [](const PathStats& path) { return path.name == "Batch"; });
  put_rows(out);
  std::size_t count = metrics_.size() > kMost ? metrics_.size() - kMost : 0;
  if (rows_.empty()) {
    while (count < metrics_.size() && may_go(metrics_[count])) { ++count; }
  }
  put_metrics(out, count);
  put_metrics(out, passed_over(out));
  out.insert(out.end(), totals.begin(), totals.end());
  return out;
}

void WandbHeldPoints::add(const std::vector<MetricPoint>& made, std::vector<MetricPoint>& totals) {
  for (const MetricPoint& point : made) {
    switch (point.source) {
      case MetricPoint::Source::metric:
        metrics_.push_back(point);
        break;
      case MetricPoint::Source::row:
        rows_.push_back(point);
        break;
      case MetricPoint::Source::total:
      case MetricPoint::Source::sample:
      case MetricPoint::Source::job:
        totals.push_back(point);
        break;
    }
  }
  // Those of several threads are numbered as they were collected.
  std::stable_sort(metrics_.begin(), metrics_.end(),
                   [](const MetricPoint& a, const MetricPoint& b) { return a.timestamp_ms < b.timestamp_ms; });
}

/// Each step that has points of its own, with the metrics that belong to it or come before.
void WandbHeldPoints::put_rows(std::vector<MetricPoint>& out) {
  while (!rows_.empty()) {
    const MetricPoint first = rows_.front();
    const bool newest = first.step == row_step_ && first.timestamp_ms == row_end_ms_;
    if (newest && !finished_ && now_ms_ - first.timestamp_ms < kLateMs) { return; }
    put_metrics(out, metrics_before(first.step, first.timestamp_ms));
    while (!rows_.empty() && rows_.front().step == first.step && rows_.front().timestamp_ms == first.timestamp_ms) {
      out.push_back(rows_.front());
      rows_.pop_front();
    }
    std::size_t late = 0;
    while (late < metrics_.size() && metrics_[late].step == first.step) { ++late; }
    put_metrics(out, late);
  }
}

void WandbHeldPoints::put_metrics(std::vector<MetricPoint>& out, std::size_t count) {
  const auto end = metrics_.begin() + static_cast<std::ptrdiff_t>(count);
  out.insert(out.end(), metrics_.begin(), end);
  metrics_.erase(metrics_.begin(), end);
}

/// How many metrics stand before the points of a step that ended at `end_ms`. Several steps may end in a millisecond.
std::size_t WandbHeldPoints::metrics_before(std::int64_t step, std::int64_t end_ms) const {
  std::size_t earlier = 0;
  std::size_t own = 0;
  for (std::size_t at = 0; at < metrics_.size() && metrics_[at].timestamp_ms <= end_ms; ++at) {
    if (metrics_[at].step == step) { own = at + 1; }
    if (metrics_[at].timestamp_ms < end_ms) { earlier = at + 1; }
  }
  return own != 0 ? own : earlier;
}

/// How many metrics have to go because one with a higher number has gone.
std::size_t WandbHeldPoints::passed_over(const std::vector<MetricPoint>& out) const {
  std::uint64_t highest = 0;
  for (const MetricPoint& point : out) {
    if (point.source == MetricPoint::Source::metric) { highest = std::max(highest, point.index); }
  }
  std::size_t count = metrics_.size();
  while (count != 0 && metrics_[count - 1].index >= highest) { --count; }
  return count;
}

/// Whether the step of a metric has ended without points of its own, or it has waited long enough.
bool WandbHeldPoints::may_go(const MetricPoint& metric) const {
  const std::int64_t waited_ms = now_ms_ - metric.timestamp_ms;
  if (finished_ || !has_batch_ || waited_ms >= kOpenMs) { return true; }
  if (!has_row_ || (metric.timestamp_ms >= row_end_ms_ && metric.step != row_step_)) { return false; }
  return metric.step != row_step_ || waited_ms >= kLateMs;
}

}  // namespace detail
TAKT_END_NAMESPACE
