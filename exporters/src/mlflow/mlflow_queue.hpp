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

/// What a server has not taken yet, and the bodies of the requests that bring it there: parameters, then tags, then
/// points, never mixed, because a server that refuses one of them refuses the request. One thread at a time.
class MlflowQueue {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20U;
  static constexpr std::size_t kMaxPoints = 1000;  // of a request; limits of the servers
  static constexpr std::size_t kMaxPairs = 100;
  static constexpr std::size_t kMaxBody = 900'000;

  /// \param most points that are kept; then the oldest goes.
  explicit MlflowQueue(std::size_t max = kMaxBytes / sizeof(MetricPoint));

  /// What the cursor says is settled is not taken again. Before all else.
  void resume(const MlflowCursor& cursor);
  /// Writes there what is settled now.
  void report(MlflowCursor& cursor) const;

  /// Those that are new. A parameter keeps its first value: no server changes one.
  void add_params(const std::map<std::string, std::string>& params);
  /// Those that are new or changed.
  void add_tags(const std::map<std::string, std::string>& tags);
  void add_points(const std::vector<MetricPoint>& points);
  /// The figures over so many ranks, unless the server has all those of as many. Where it has those of fewer, or a part
  /// of others, these are later ones. Returns whether they hold.
  bool add_job(std::uint64_t ranks, std::vector<MetricPoint> points, const MetricPoints& names);
  /// From now on parameters and tags, those that wait among them, are left to others.
  void keep_points_alone();
  /// From now on none goes because there are too many: whoever adds them sees to that.
  void keep_all() noexcept { max_ = std::numeric_limits<std::size_t>::max(); }

  bool empty() const noexcept { return todo_.empty() && params_.empty() && tags_.empty() && points_.empty(); }
  std::size_t points() const noexcept { return points_.size() + batch_points(); }

  /// The body of the next request: the same bytes until one of the answers below was given. REQUIRES: !empty().
  const std::string& body(const std::string& run_id, const MetricPoints& names);
  void accepted();
  /// The points in it, in order; none where it has none. REQUIRES: body() was called since the last answer.
  std::vector<MetricPoint> sending() const;
  /// For those of sending() that the server has already: they are not sent again. Returns whether any of it is left.
  bool found(const std::vector<bool>& there);
  /// For what is in it: tried again in halves, until what the server does not like is alone and left out. Returns what
  /// was left out, for people; empty: nothing was. Servers also refuse what they have already, if it is more than 100
  /// points of several keys: halves of that they take.
  std::string refused(const MetricPoints& names);
  /// The same where a value is too long, which says that the server is one of those that take less: what waits is cut
  /// to that.
  std::string too_long(const MetricPoints& names);
  /// For what is in it, over which the server fails: tried again in halves, too. Returns false where it is alone.
  bool halve();
  /// For what is in it, which is alone: not sent again from here, nor are other points of the metric, and not settled,
  /// so that the next process sends them. Returns its name.
  std::string give_up_one(const MetricPoints& names);
  /// For what is in it: not sent again from here, and not settled, so that the next process sends it.
  void give_up();
  /// The rest of a request of which a part was sent in halves.
  void give_up_rest();
  /// Something of the request under way was sent in halves, as the server fails over it.
  bool halved() const noexcept { return halved_ && !todo_.empty(); }
  /// Whether the request holds a single value. REQUIRES: body() was called since the last answer.
  bool is_lone() const noexcept { return todo_.back().second - todo_.back().first == 1; }
  /// What is in it is one value that is no number.
  bool is_lone_nan() const;
  /// There is nobody to take anything: all of it is lost.
  void clear();

  /// Parameters and tags that became others since the last call.
  MetricPoints::Renamed take_renamed() { return std::exchange(renamed_, {}); }

  /// Points that need not be sent again: taken, or left out.
  std::uint64_t settled(MetricPoint::Source source) const { return settled_[static_cast<std::size_t>(source)].count(); }
  std::uint64_t settled() const {
    std::uint64_t sum = 0;
    for (const MlflowSettled& each : settled_) { sum += each.count(); }
    return sum;
  }
  std::uint64_t left_out() const noexcept { return left_out_; }  ///< refused by the server: points, parameters and tags
  std::uint64_t taken() const noexcept { return taken_; }        ///< points that the server took from here
  std::uint64_t was_there() const noexcept { return was_there_; }  ///< points that it turned out to have already
  /// What was too old, had nowhere to go, or made the server fail: not settled, so that the next process can send it.
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
  std::size_t longest_param_;  // value, in code points
  std::size_t longest_tag_;
  std::map<std::string, std::string> known_params_;
  std::map<std::string, std::string> known_tags_;
  TrackerNames param_names_;
  TrackerNames tag_names_;
  MetricPoints::Renamed renamed_;
  std::deque<Pair> params_;
  std::deque<Pair> tags_;
  std::deque<MetricPoint> points_;

  std::set<std::uint32_t> failing_;  // keys of metrics over which the server fails

  // The request under way and those that were cut off from it.
  Kind kind_ = Kind::points;
  std::vector<std::string> items_;  // JSON
  std::vector<MetricPoint> sent_;   // of points
  std::vector<Pair> pairs_;         // of parameters and tags: the name as the program gave it, and the value
  std::vector<std::pair<std::size_t, std::size_t>> todo_;  // of items_, the next one last
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
