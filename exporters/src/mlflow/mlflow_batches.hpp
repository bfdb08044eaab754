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

/// Which points of a request a server has already, where nobody knows what became of the request: a server without a
/// database (the file store) would keep what it is sent again twice. One question tells the latest point of each key,
/// which mostly settles it; the history of a key is asked for where it does not. One thread at a time.
class MlflowReadBack {
 public:
  /// \param one_request they were sent together, in this order, of which servers keep to. Otherwise it is not known how
  /// they were sent, if at all.
  void begin(std::vector<MetricPoint> points, const MetricPoints& names, bool one_request);
  /// There is something to ask.
  bool busy() const noexcept { return busy_; }
  /// REQUIRES: busy().
  HttpRequest request(const std::string& run_id) const;
  /// What the server said to it. False where that is no JSON, as of a page to log in: nothing has changed.
  bool answered(const std::string& body);
  /// It will not say: what is not known to be there counts as absent.
  void give_up() noexcept { busy_ = false; }
  /// For each point, in order.
  const std::vector<bool>& there() const noexcept { return there_; }

 private:
  /// Step, time and value, and whether that is no number: "latest" is the largest of these.
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
  std::deque<std::string> histories_;  // to ask for
  std::string page_;                   // of the first of these
  bool one_request_ = false;
  bool latest_known_ = false;
  bool busy_ = false;
};

/// The requests that bring parameters, tags and points to a run: points that may have arrived are read back before they
/// are sent again, and what the server will not have is found in halves. One thread at a time.
class MlflowBatches {
 public:
  /// \param names of the points; not owned, nor are the lines.
  MlflowBatches(const MetricPoints& names, const MlflowLines& lines, std::size_t max_points)
      : names_(names), lines_(lines), queue_(max_points) {}

  MlflowQueue& queue() noexcept { return queue_; }
  const MlflowQueue& queue() const noexcept { return queue_; }

  /// REQUIRES: something waits.
  HttpRequest request(const std::string& run_id);
  /// What it asks for is what the server has, and answered() is for the answer.
  bool asks() const noexcept { return read_back_.busy(); }

  /// The run was another process's, of whose last request nobody knows what became.
  void take_over() noexcept { read_first_ = taken_over_ = true; }
  /// There was no answer: the points of the request may be there.
  void may_be_there() noexcept;

  /// The server has taken the request.
  void accepted();
  /// The server will not take the request like this. Returns why nothing more is to be sent; empty: more is.
  std::string refused(const HttpReply& reply);
  /// The server fails over the request: one value may be the reason, and the others are sent without it.
  void failed(const HttpReply& reply);
  /// A request over which the server fails is in halves, or cannot be told apart from what is there: once is enough.
  bool fails_at_once(const HttpReply& reply) const;

  /// Takes what the server says that it has. Returns false where that says nothing.
  bool read(const std::string& body) { return read_back_.answered(body); }
  /// All was said: whether what the request under way holds is there already.
  bool is_settled();
  /// The server will not say.
  void unreadable(const HttpReply& reply);
  void stop();

 private:
  void next_request();

  const MetricPoints& names_;
  const MlflowLines& lines_;
  MlflowQueue queue_;
  MlflowReadBack read_back_;
  bool read_first_ = false;   // the points of the next request may be there already
  bool sent_before_ = false;  // all of them, in one request
  bool taken_over_ = false;
  int refusals_ = 0;       // in a row
  int lone_failures_ = 0;  // likewise, over a request of one value
};

}  // namespace detail
TAKT_END_NAMESPACE
