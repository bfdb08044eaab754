// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_batches.hpp"

#include "base/json.hpp"
#include "mlflow/mlflow_messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// A page of this many points with the longest names fits kMaxMlflowReply; servers before 3 have no pages.
constexpr const char* kPage = "&max_results=20000";

double value_of(const JsonStop& stop) {
  if (stop.is_number()) { return stop.real; }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (stop.text == "NaN") { return std::numeric_limits<double>::quiet_NaN(); }
  return stop.text == "Infinity" ? kInfinity : stop.text == "-Infinity" ? -kInfinity : 0;
}

/// A point in a server's response.
struct Point {
  std::string key;
  std::int64_t step = 0;
  std::int64_t timestamp_ms = 0;
  double value = 0;
  bool has_time = false;
  bool has_value = false;

  void take(const JsonStop& stop) {
    if (stop.name == "key") { key = stop.text; }
    if (stop.name == "step") { step = stop.integer; }
    if (stop.name == "timestamp") {
      timestamp_ms = stop.integer;
      has_time = true;
    }
    if (stop.name == "value") {
      value = value_of(stop);
      has_value = true;
    }
  }
};

/// Passes each point in the text to `see` and stores none, because histories may be long. Returns whether the text is a
/// JSON object.
/// \param next_page set to the token of the next page, if any.
template <class See>
bool for_each_point(const std::string& body, std::string& next_page, const See& see) {
  Point point;
  bool is_object = false;
  const bool read = walk_json(body, [&](const JsonStop& stop) {
    switch (stop.kind) {
      case JsonStop::Kind::object:
        is_object = is_object || (stop.inside.empty() && stop.name.empty());
        point = Point();
        return;
      case JsonStop::Kind::end:
        if (point.has_time && point.has_value && !point.key.empty()) { see(point); }
        point = Point();
        return;
      default:
        point.take(stop);
        if (stop.is("", "next_page_token")) { next_page = stop.text; }
    }
  });
  return read && is_object;
}

}  // namespace

void MlflowReadBack::begin(std::vector<MetricPoint> points, const MetricPoints& names, bool one_request) {
  points_ = std::move(points);
  there_.assign(points_.size(), false);
  keys_.clear();
  for (std::size_t at = 0; at < points_.size(); ++at) { keys_[names.key(points_[at].key)].push_back(at); }
  histories_.clear();
  page_.clear();
  one_request_ = one_request;
  latest_known_ = false;
  busy_ = !points_.empty();
}

HttpRequest MlflowReadBack::request(const std::string& run_id) const {
  if (!latest_known_) { return mlflow_get_run(run_id); }
  HttpRequest request = mlflow_get("metrics/get-history?run_id=" + url_encoded(run_id) +
                                   "&metric_key=" + url_encoded(histories_.front()) + kPage +
                                   (page_.empty() ? "" : "&page_token=" + url_encoded(page_)));
  request.max_reply = kMaxMlflowReply;
  return request;
}

bool MlflowReadBack::answered(const std::string& body) {
  if (!(latest_known_ ? history(body) : latest(body))) { return false; }
  latest_known_ = true;
  busy_ = !histories_.empty();
  return true;
}

/// Returns the value as databases store it: the largest finite number for an infinity, and a flagged 0 for NaN.
MlflowReadBack::Place MlflowReadBack::place_of(std::int64_t step, std::int64_t timestamp_ms, double value) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const bool is_nan = std::isnan(value);
  return {step, timestamp_ms, is_nan ? 0 : std::min(std::max(value, -kMax), kMax), is_nan};
}

MlflowReadBack::Place MlflowReadBack::place_of(std::size_t at) const {
  return place_of(points_[at].step, points_[at].timestamp_ms, points_[at].value);
}

bool MlflowReadBack::latest(const std::string& body) {
  std::string none;
  return for_each_point(body, none, [&](const Point& point) {
    const auto found = keys_.find(point.key);
    if (found != keys_.end()) {
      compare(point.key, found->second, place_of(point.step, point.timestamp_ms, point.value));
    }
  });
}

/// Points after the server's latest are missing. Earlier ones are present if steps increase and the latest is from this
/// request. Otherwise the key's history is queried.
void MlflowReadBack::compare(const std::string& key, const Places& at, const Place& latest) {
  const auto is_before = [&](std::size_t each) { return place_of(each) < latest; };
  bool found = false;
  for (const std::size_t each : at) {
    if (place_of(each) == latest) { there_[each] = found = true; }
  }
  if (std::none_of(at.begin(), at.end(), is_before)) { return; }
  const bool rising =
      std::is_sorted(at.begin(), at.end(), [&](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
  if (one_request_ && found && rising) {
    for (const std::size_t each : at) { there_[each] = there_[each] || is_before(each); }
  } else {
    histories_.push_back(key);
  }
}

bool MlflowReadBack::history(const std::string& body) {
  std::multimap<Place, std::size_t> wanted;
  for (const std::size_t each : keys_[histories_.front()]) { wanted.emplace(place_of(each), each); }
  bool seen = false;
  std::string next;
  const bool read = for_each_point(body, next, [&](const Point& point) {
    seen = true;
    const auto [first, end] = wanted.equal_range(place_of(point.step, point.timestamp_ms, point.value));
    for (auto each = first; each != end; ++each) { there_[each->second] = true; }
  });
  if (!read) { return false; }
  const bool more = !next.empty() && next != page_ && seen;  // an empty page makes no progress
  page_ = more ? next : "";
  if (!more) { histories_.pop_front(); }
  return true;
}

namespace {

constexpr int kMaxRefusals = 50;
constexpr int kMaxLoneFailures = 8;

}  // namespace

HttpRequest MlflowBatches::request(const std::string& run_id) {
  const std::string& body = queue_.body(run_id, names_);
  if (std::exchange(read_first_, false)) { read_back_.begin(queue_.sending(), names_, sent_before_); }
  if (read_back_.busy()) { return read_back_.request(run_id); }
  HttpRequest request = mlflow_post("runs/log-batch", body);
  request.fresh = true;  // libcurl must not resend it on a reused connection
  return request;
}

/// Finishes the current request. The next one has data that this process has not sent yet.
void MlflowBatches::next_request() {
  const bool halved = queue_.halved();  // the other half was sent with the finished request
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
    lines_.report("mlflow.refused " + what, "MLflow rejects " + what +
                                                ", which is not sent: " + lines_.reported(reply) +
                                                lines_.with_sync("; ", " does not send it either"));
    if (++refusals_ >= kMaxRefusals) { return "it rejects every value: " + lines_.reported(reply); }
  }
  return "";
}

bool MlflowBatches::fails_at_once(const HttpReply& reply) const {
  return !queue_.empty() && (queue_.halved() || mlflow_is_clash(reply));
}

void MlflowBatches::failed(const HttpReply& reply) {
  if (lone_failures_ < kMaxLoneFailures && queue_.halve()) { return; }
  std::string what = "a request";
  if (++lone_failures_ >= kMaxLoneFailures) {
    queue_.give_up_rest();
  } else {
    what = '"' + queue_.give_up_one(names_) + '"';
  }
  next_request();
  const bool is_clash = mlflow_is_clash(reply);
  const char* const cure =
      is_clash ? ". A server without a database cannot store both \"a\" and \"a/b\": rename one of the two" : "";
  // Each clashing metric gets its own message.
  lines_.report("mlflow.failing" + (is_clash ? " " + what : ""),
                "MLflow fails on " + what + ", which is not sent again from here: " + lines_.reported(reply) + cure +
                    lines_.with_sync(". ", " retries it"));
}

bool MlflowBatches::is_settled() {
  if (read_back_.busy() || queue_.found(read_back_.there())) { return false; }
  refusals_ = 0;
  next_request();
  return true;
}

void MlflowBatches::unreadable(const HttpReply& reply) {
  lines_.report("mlflow.unread",
                "MLflow does not report which points it has; unconfirmed points may be stored "
                "twice: " +
                    lines_.reported(reply) + lines_.with_sync("; ", " asks again"));
  read_back_.give_up();
}

void MlflowBatches::stop() {
  read_back_.give_up();
  queue_.clear();
}

}  // namespace detail
TAKT_END_NAMESPACE
