// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow_read_back.hpp"

#include "mlflow_messages.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Json = nlohmann::json;

// A page of this many points of the longest names is below what is read of a reply; servers before 3 know no pages.
constexpr const char* kPage = "&max_results=20000";

double value_of(const Json& value) {
  if (value.is_number()) { return value.get<double>(); }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return value == "Infinity" ? kInfinity : value == "-Infinity" ? -kInfinity : 0;
}

/// Shows each point in the text to `see`, and keeps none: histories may be long. Returns the rest.
template <class See>
Json for_each_point(const std::string& body, const See& see) {
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event != Json::parse_event_t::object_end || !parsed.contains("timestamp") || !parsed.contains("value")) {
      return true;
    }
    const auto natural = [&](const char* name) {
      const auto found = parsed.find(name);
      return found != parsed.end() && found->is_number_integer() ? found->template get<std::int64_t>() : 0;
    };
    const auto key = parsed.find("key");
    if (key != parsed.end() && key->is_string()) {
      see(key->template get_ref<const std::string&>(), natural("step"), natural("timestamp"),
          value_of(parsed.at("value")));
    }
    return false;
  };
  return Json::parse(body, look, false);
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
  request.most_reply = kMostMlflowReply;
  return request;
}

bool MlflowReadBack::answered(const std::string& body) {
  if (!(latest_known_ ? history(body) : latest(body))) { return false; }
  latest_known_ = true;
  busy_ = !histories_.empty();
  return true;
}

MlflowReadBack::Place MlflowReadBack::place_of(std::size_t at) const {
  return {points_[at].step, points_[at].timestamp_ms, points_[at].value};
}

bool MlflowReadBack::latest(const std::string& body) {
  const Json rest = for_each_point(body, [&](const std::string& key, std::int64_t step, std::int64_t ms, double value) {
    const auto found = keys_.find(key);
    if (found != keys_.end()) { compare(key, found->second, {step, ms, value}); }
  });
  return rest.is_object();
}

/// What is later than the latest is not there. Of what is before it nobody knows, but where it is one of these points, and
/// they rise: then the server was busy with this very request, and has had the earlier ones in it before.
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
  const Json rest = for_each_point(body, [&](const std::string&, std::int64_t step, std::int64_t ms, double value) {
    seen = true;
    const auto [first, end] = wanted.equal_range({step, ms, value});
    for (auto each = first; each != end; ++each) { there_[each->second] = true; }
  });
  if (!rest.is_object()) { return false; }
  const auto token = rest.find("next_page_token");
  const std::string next = token != rest.end() && token->is_string() ? token->get<std::string>() : "";
  const bool more = !next.empty() && next != page_ && seen;  // a page of nothing brings it no further
  page_ = more ? next : "";
  if (!more) { histories_.pop_front(); }
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
