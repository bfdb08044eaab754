// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "http/http.hpp"
#include "mlflow/mlflow_lines.hpp"
#include "mlflow/mlflow_queue.hpp"
#include "mlflow/mlflow_read_back.hpp"
#include "trackers/metric_points.hpp"

#include <cstddef>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The requests that bring parameters, tags and points to a run: points that may have arrived are read back before they
/// are sent again, and what the server will not have is found in halves. One thread at a time.
class MlflowBatches {
 public:
  /// \param names of the points; not owned, nor are the lines.
  MlflowBatches(const MetricPoints& names, const MlflowLines& lines, std::size_t most_points)
      : names_(names), lines_(lines), queue_(most_points) {}

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
