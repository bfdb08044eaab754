// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mlflow/mlflow_messages.hpp"
#include "mlflow/mlflow_queue.hpp"
#include "trackers/http.hpp"
#include "trackers/metric_points.hpp"

#include <takt/snapshot.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Finds out which points of a request with unknown outcome the server already has. Servers without a database (file
/// store) would store duplicates. One query returns the latest point of each key, which usually suffices; otherwise the
/// key's history is read. One thread at a time.
class MlflowReadBack {
 public:
  /// \param one_request the points were sent in one request, in this order, which servers keep. Otherwise it is unknown
  /// how they were sent, if at all.
  void begin(std::vector<MetricPoint> points, const MetricPoints& names, bool one_request);
  /// Returns whether a query is left to send.
  bool busy() const noexcept { return busy_; }
  /// REQUIRES: busy().
  HttpRequest request(const std::string& run_id) const;
  /// Processes the response. Returns false, and changes nothing, if the body is not JSON, such as a login page.
  bool answered(const std::string& body);
  /// Ends the queries, because the server does not answer them: unknown points count as absent.
  void give_up() noexcept { busy_ = false; }
  /// Returns for each point, in order, whether the server has it.
  const std::vector<bool>& there() const noexcept { return there_; }

 private:
  /// Step, time, value, and whether the value is NaN. The server's "latest" is the largest of these.
  using Place = std::tuple<std::int64_t, std::int64_t, double, bool>;
  using Places = std::vector<std::size_t>;

  bool latest(const std::string& body);
  void compare(const std::string& key, const Places& at, const Place& latest);
  bool history(const std::string& body);
  static Place place_of(std::int64_t step, std::int64_t timestamp_ms, double value);
  Place place_of(std::size_t at) const;

  std::vector<MetricPoint> points_;
  std::vector<bool> there_;
  std::map<std::string, Places> keys_;
  std::deque<std::string> histories_;  // keys to query
  std::string page_;                   // page token of the first key's history
  bool one_request_ = false;
  bool latest_known_ = false;
  bool busy_ = false;
};

/// Requests that send a run's parameters, tags and points. Reads points back before resending those that may have
/// arrived. Bisects rejected requests to isolate the bad value. One thread at a time.
class MlflowBatches {
 public:
  /// \param names of the points; neither `names` nor `lines` is owned.
  MlflowBatches(const MetricPoints& names, const MlflowLines& lines, std::size_t max_points)
      : names_(names), lines_(lines), queue_(max_points) {}

  MlflowQueue& queue() noexcept { return queue_; }
  const MlflowQueue& queue() const noexcept { return queue_; }

  /// REQUIRES: data is queued.
  HttpRequest request(const std::string& run_id);
  /// Returns whether request() is a read-back query, so that read() takes its answer.
  bool asks() const noexcept { return read_back_.busy(); }

  /// Takes over another process's run; the outcome of its last request is unknown.
  void take_over() noexcept { read_first_ = taken_over_ = true; }
  /// Handles a missing answer: the request's points may have arrived.
  void may_be_there() noexcept;

  /// Handles an accepted request.
  void accepted();
  /// Handles a rejected request. Returns why sending must stop, or an empty string.
  std::string refused(const HttpReply& reply);
  /// Handles a server error for the request. One value may be the cause; the others are sent without it.
  void failed(const HttpReply& reply);
  /// Returns whether one server error suffices to bisect or drop: the request is already a half, or a name clashes.
  bool fails_at_once(const HttpReply& reply) const;

  /// Reads a response about the server's points. Returns false if it contains none.
  bool read(const std::string& body) { return read_back_.answered(body); }
  /// Returns whether all read-back queries are answered and all points of the request are already there.
  bool is_settled();
  /// Handles a permanently failed read-back.
  void unreadable(const HttpReply& reply);
  void stop();

 private:
  void next_request();

  const MetricPoints& names_;
  const MlflowLines& lines_;
  MlflowQueue queue_;
  MlflowReadBack read_back_;
  bool read_first_ = false;   // read back the next request's points before sending
  bool sent_before_ = false;  // those points were sent before, in one request
  bool taken_over_ = false;
  int refusals_ = 0;       // consecutive
  int lone_failures_ = 0;  // consecutive, for requests with one value
};

}  // namespace detail
TAKT_END_NAMESPACE
