// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_batches.hpp"

#include "mlflow/mlflow_messages.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kMostRefusals = 50;
constexpr int kMostLoneFailures = 8;

}  // namespace

HttpRequest MlflowBatches::request(const std::string& run_id) {
  const std::string& body = queue_.body(run_id, names_);
  if (std::exchange(read_first_, false)) { read_back_.begin(queue_.sending(), names_, sent_before_); }
  if (read_back_.busy()) { return read_back_.request(run_id); }
  HttpRequest request = mlflow_post("runs/log-batch", body);
  request.fresh = true;  // libcurl must not send it again by itself
  return request;
}

/// The one under way is done with; what the next one holds was not sent from here.
void MlflowBatches::next_request() {
  const bool halved = queue_.halved();  // what is left of it was sent with what is done with
  read_first_ = taken_over_ || halved;
  sent_before_ = halved;
}

void MlflowBatches::may_be_there() noexcept {
  if (!read_back_.busy()) { read_first_ = sent_before_ = true; }
}

void MlflowBatches::accepted() {
  refusals_ = lone_failures_ = 0;
  queue_.accepted();
  next_request();
}

std::string MlflowBatches::refused(const HttpReply& reply) {
  next_request();
  if (queue_.is_lone_nan() && mlflow_is_there(reply)) {
    queue_.found({true});
    return "";
  }
  const std::string what = mlflow_is_too_long(reply) ? queue_.too_long(names_) : queue_.refused(names_);
  if (!what.empty()) {
    lines_.report("mlflow.refused " + what, "MLflow refuses " + what + ", which is left out: " + lines_.told(reply) +
                                                lines_.with_sync("; ", " does not send it either"));
    if (++refusals_ >= kMostRefusals) { return "it refuses every value: " + lines_.told(reply); }
  }
  return "";
}

bool MlflowBatches::fails_at_once(const HttpReply& reply) const {
  return !queue_.empty() && (queue_.halved() || mlflow_is_clash(reply));
}

void MlflowBatches::failed(const HttpReply& reply) {
  if (lone_failures_ < kMostLoneFailures && queue_.halve()) { return; }
  std::string what = "a request";
  if (++lone_failures_ >= kMostLoneFailures) {
    queue_.give_up_rest();
  } else {
    what = '"' + queue_.give_up_one(names_) + '"';
  }
  next_request();
  const bool is_clash = mlflow_is_clash(reply);
  const char* const cure =
      is_clash ? ". A server without a database keeps no \"a\" beside \"a/b\": rename one of the two" : "";
  // Each metric whose name clashes gets a line of its own.
  lines_.report("mlflow.failing" + (is_clash ? " " + what : ""),
                "MLflow fails over " + what + ", which is not sent again from here: " + lines_.told(reply) + cure +
                    lines_.with_sync(". ", " sends it once MLflow does not"));
}

bool MlflowBatches::is_settled() {
  if (read_back_.busy() || queue_.found(read_back_.there())) { return false; }
  refusals_ = 0;
  next_request();
  return true;
}

void MlflowBatches::unreadable(const HttpReply& reply) {
  lines_.report("mlflow.unread",
                "MLflow does not tell which points it has; where their delivery was not confirmed it may keep "
                "two of one: " +
                    lines_.told(reply) + lines_.with_sync("; ", " asks again"));
  read_back_.give_up();
}

void MlflowBatches::stop() {
  read_back_.give_up();
  queue_.clear();
}

}  // namespace detail
TAKT_END_NAMESPACE
