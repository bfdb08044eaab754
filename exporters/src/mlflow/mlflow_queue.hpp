// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mlflow/mlflow_cursor.hpp"
#include "trackers/metric_points.hpp"
#include "trackers/tracker_names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Data that the server has not accepted yet, and the bodies of the requests that send it: parameters, then tags, then
/// points. Kinds are never mixed, because a server that rejects one item rejects the whole request. One thread at a
/// time.
class MlflowQueue {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20U;
  static constexpr std::size_t kMaxPoints = 1000;  // per request; server limits
  static constexpr std::size_t kMaxPairs = 100;
  static constexpr std::size_t kMaxBody = 900'000;

  /// \param max maximum number of queued points; beyond it, the oldest are dropped.
  explicit MlflowQueue(std::size_t max = kMaxBytes / sizeof(MetricPoint));

  /// Marks the cursor's settled data as already sent. Call first.
  void resume(const MlflowCursor& cursor);
  /// Writes the data settled so far to the cursor.
  void report(MlflowCursor& cursor) const;

  /// Queues new parameters. A parameter keeps its first value, because no server changes one.
  void add_params(const std::map<std::string, std::string>& params);
  /// Queues new or changed tags.
  void add_tags(const std::map<std::string, std::string>& tags);
  void add_points(const std::vector<MetricPoint>& points);
  /// Queues the figures over `ranks` ranks, unless the server already has all figures of that many ranks. If the
  /// server has figures of fewer ranks, or part of others, these become later points. Returns whether they are used.
  bool add_job(std::uint64_t ranks, std::vector<MetricPoint> points, const MetricPoints& names);
  /// Leaves parameters and tags to others from now on, and removes those in the queue.
  void keep_points_alone();
  /// Never drops points from now on; the caller limits the backlog.
  void keep_all() noexcept { max_ = std::numeric_limits<std::size_t>::max(); }

  bool empty() const noexcept { return todo_.empty() && params_.empty() && tags_.empty() && points_.empty(); }
  std::size_t points() const noexcept { return points_.size() + batch_points(); }

  /// Returns the body of the next request: the same bytes until its answer is recorded below. REQUIRES: !empty().
  const std::string& body(const std::string& run_id, const MetricPoints& names);
  void accepted();
  /// Returns the points of the request, in order; empty if it has none. REQUIRES: body() was called since the last
  /// answer.
  std::vector<MetricPoint> sending() const;
  /// Removes the points of sending() that the server already has. Returns whether any are left to send.
  bool found(const std::vector<bool>& there);
  /// Bisects a rejected request until the rejected item is alone and dropped. Returns the dropped item as text for
  /// users, or an empty string. Servers also reject more than 100 points of several keys if they already have them, but
  /// accept halves of that.
  std::string refused(const MetricPoints& names);
  /// Like refused(), for a value that is too long: older servers accept less, so queued values are truncated to that.
  std::string too_long(const MetricPoints& names);
  /// Bisects a request on which the server fails. Returns false if it has a single value.
  bool halve();
  /// Drops the request's single value and all other points of that metric. They are not settled, so the next process
  /// sends them. Returns the name.
  std::string give_up_one(const MetricPoints& names);
  /// Drops the request, which is not settled, so the next process sends it.
  void give_up();
  /// Drops the rest of a bisected request.
  void give_up_rest();
  /// Returns whether the request under way was bisected because the server fails on it.
  bool halved() const noexcept { return halved_ && !todo_.empty(); }
  /// Returns whether the request has a single value. REQUIRES: body() was called since the last answer.
  bool is_lone() const noexcept { return todo_.back().second - todo_.back().first == 1; }
  /// Returns whether the request has a single value that is NaN.
  bool is_lone_nan() const;
  /// Drops everything, because sending has stopped.
  void clear();

  /// Returns parameters and tags renamed since the last call.
  MetricPoints::Renamed take_renamed() { return std::exchange(renamed_, {}); }

  /// Returns the number of points that need not be sent again: accepted or dropped.
  std::uint64_t settled(MetricPoint::Source source) const { return settled_[static_cast<std::size_t>(source)].count(); }
  std::uint64_t settled() const {
    std::uint64_t sum = 0;
    for (const MlflowSettled& each : settled_) { sum += each.count(); }
    return sum;
  }
  std::uint64_t left_out() const noexcept { return left_out_; }  ///< rejected by the server: points, parameters, tags
  std::uint64_t taken() const noexcept { return taken_; }        ///< points that the server accepted from this process
  std::uint64_t was_there() const noexcept { return was_there_; }  ///< points that the server already had
  /// Items that were too old, had no destination, or made the server fail. Not settled, so the next process can send
  /// them.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  enum class Kind { params, tags, points };
  using Pair = std::pair<std::string, std::string>;

  std::size_t batch_points() const noexcept;
  void form(const MetricPoints& names);
  void note_name(TrackerNames& names, const std::string& name);
  void form_pairs(std::deque<Pair>& from);
  void form_points(const MetricPoints& names);
  std::string item_of(const Pair& pair);
  void report_cut(const Pair& pair);
  std::size_t& longest() noexcept { return kind_ == Kind::params ? longest_param_ : longest_tag_; }
  void part(std::size_t middle);
  void drop_failing();
  void settle(std::size_t begin, std::size_t end);

  bool points_alone_ = false;
  std::size_t max_;
  std::size_t longest_param_;  // maximum length of a value, in code points
  std::size_t longest_tag_;
  std::map<std::string, std::string> known_params_;
  std::map<std::string, std::string> known_tags_;
  TrackerNames param_names_;
  TrackerNames tag_names_;
  MetricPoints::Renamed renamed_;
  std::deque<Pair> params_;
  std::deque<Pair> tags_;
  std::deque<MetricPoint> points_;

  std::set<std::uint32_t> failing_;  // keys of metrics on which the server fails

  // The request under way and the parts split off from it.
  Kind kind_ = Kind::points;
  std::vector<std::string> items_;  // JSON
  std::vector<MetricPoint> sent_;   // points of items_
  std::vector<Pair> pairs_;         // parameters or tags of items_: the program's name, and the value
  std::vector<std::pair<std::size_t, std::size_t>> todo_;  // ranges of items_, next one last
  std::string body_;
  bool halved_ = false;

  std::array<MlflowSettled, MetricPoint::kSources> settled_;
  MlflowJobPoints job_;
  std::map<std::string, std::string> settled_params_;
  std::map<std::string, std::string> settled_tags_;
  std::uint64_t left_out_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t was_there_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
