// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow_queue.hpp"

#include "fault.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongestParam = 500;
constexpr std::size_t kLongestTag = 5000;

/// Never throws for a text that is not UTF-8.
std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The shortest that reads back as the same bits. JSON has no infinities, so these are strings.
std::string number(double value) {
  if (std::isinf(value)) { return value > 0 ? "\"Infinity\"" : "\"-Infinity\""; }
  return nlohmann::json(value).dump();
}

/// At most `longest` bytes, not cut inside a code point. Servers count code points, of which there are no more.
std::string cut(const std::string& name, const std::string& text, std::size_t longest) {
  if (text.size() <= longest) { return text; }
  report_fault("mlflow.long", "the value of \"" + name + "\" is longer than the " + std::to_string(longest) +
                                  " bytes that every MLflow server takes, and was cut");
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) { --end; }
  return text.substr(0, end);
}

}  // namespace

void MlflowQueue::resume(const MlflowCursor& cursor) {
  settled_ = cursor.settled;
  known_params_ = settled_params_ = cursor.params;
  known_tags_ = settled_tags_ = cursor.tags;
  left_out_ = cursor.left_out;
}

void MlflowQueue::tell(MlflowCursor& cursor) const {
  cursor.settled = settled_;
  cursor.params = settled_params_;
  cursor.tags = settled_tags_;
  cursor.left_out = left_out_;
}

void MlflowQueue::add_params(const std::map<std::string, std::string>& params) {
  for (const auto& [name, value] : params) {
    const auto [place, is_new] = known_params_.emplace(name, value);
    if (is_new) {
      params_.emplace_back(name, value);
    } else if (place->second != value) {
      place->second = value;
      report_fault("mlflow.param",
                   "the parameter \"" + name + "\" keeps its first value in MLflow, which changes none");
    }
  }
}

void MlflowQueue::add_tags(const std::map<std::string, std::string>& tags) {
  for (const auto& [name, value] : tags) {
    const auto [place, is_new] = known_tags_.emplace(name, value);
    if (!is_new && place->second == value) { continue; }
    place->second = value;
    tags_.emplace_back(name, value);
  }
}

void MlflowQueue::add_points(const std::vector<MetricPoint>& points) {
  std::copy_if(points.begin(), points.end(), std::back_inserter(points_), [this](const MetricPoint& point) {
    return point.index == MetricPoint::kNoIndex || !settled_[static_cast<std::size_t>(point.source)].has(point.index);
  });
  if (points_.size() <= most_) { return; }
  while (points_.size() > most_) {
    ++lost_;
    points_.pop_front();
  }
  report_fault("mlflow.full", "MLflow takes too little too late: " + std::to_string(lost_) +
                                  " of its oldest points are dropped. They are in the run folder: takt sync");
}

std::size_t MlflowQueue::batch_points() const noexcept {
  std::size_t count = 0;
  for (const auto& [begin, end] : todo_) { count += kind_ == Kind::points ? end - begin : 0; }
  return count;
}

void MlflowQueue::form_pairs(std::deque<Pair>& from, TrackerNames& names, std::size_t longest) {
  for (std::size_t bytes = 0; !from.empty() && items_.size() < kMostPairs; from.pop_front()) {
    const auto& [name, value] = from.front();
    std::string item =
        "{\"key\":" + json_text(names.of(name)) + ",\"value\":" + json_text(cut(name, value, longest)) + "}";
    bytes += item.size() + 1;
    if (bytes > kMostBody && !items_.empty()) { break; }
    items_.push_back(std::move(item));
    pairs_.push_back(from.front());
  }
}

void MlflowQueue::form(const MetricPoints& names) {
  items_.clear();
  sent_.clear();
  pairs_.clear();
  if (!params_.empty()) {
    kind_ = Kind::params;
    form_pairs(params_, param_names_, kLongestParam);
  } else if (!tags_.empty()) {
    kind_ = Kind::tags;
    form_pairs(tags_, tag_names_, kLongestTag);
  } else {
    kind_ = Kind::points;
    for (std::size_t bytes = 0; !points_.empty() && items_.size() < kMostPoints; points_.pop_front()) {
      const MetricPoint& point = points_.front();
      std::string item = "{\"key\":" + json_text(names.key(point.key)) + ",\"step\":" + std::to_string(point.step) +
                         ",\"timestamp\":" + std::to_string(point.timestamp_ms) + ",\"value\":" + number(point.value) +
                         "}";
      bytes += item.size() + 1;
      if (bytes > kMostBody && !items_.empty()) { break; }
      items_.push_back(std::move(item));
      sent_.push_back(point);
    }
  }
  todo_.emplace_back(0, items_.size());
}

const std::string& MlflowQueue::body(const std::string& run_id, const MetricPoints& names) {
  if (todo_.empty()) { form(names); }
  if (!body_.empty()) { return body_; }
  const auto [begin, end] = todo_.back();
  std::string list = "[";
  for (std::size_t at = begin; at < end; ++at) { list.append(at == begin ? "" : ",").append(items_[at]); }
  list += "]";
  // In the order of the alphabet: a server that stumbles over a point then has not read the run either, and says so
  // instead of keeping the half it understood.
  const std::string run = "\"run_id\":" + json_text(run_id);
  if (kind_ == Kind::tags) {
    body_ = "{" + run + ",\"tags\":" + list + "}";
  } else {
    body_ = std::string(kind_ == Kind::params ? "{\"params\":" : "{\"metrics\":") + list + "," + run + "}";
  }
  return body_;
}

void MlflowQueue::settle(std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; ++at) {
    if (kind_ == Kind::points) {
      const MetricPoint& from = sent_[at];
      if (from.index != MetricPoint::kNoIndex) { settled_[static_cast<std::size_t>(from.source)].add(from.index); }
    } else {
      (kind_ == Kind::params ? settled_params_ : settled_tags_)[pairs_[at].first] = pairs_[at].second;
    }
  }
  todo_.pop_back();
  body_.clear();
}

void MlflowQueue::accepted() {
  const auto [begin, end] = todo_.back();
  taken_ += kind_ == Kind::points ? end - begin : 0;
  settle(begin, end);
}

std::vector<MetricPoint> MlflowQueue::sending() const {
  if (todo_.empty() || kind_ != Kind::points) { return {}; }
  const auto [begin, end] = todo_.back();
  const auto at = [&](std::size_t place) { return sent_.begin() + static_cast<std::ptrdiff_t>(place); };
  return {at(begin), at(end)};
}

bool MlflowQueue::found(const std::vector<bool>& there) {
  const auto [begin, end] = todo_.back();
  std::vector<std::string> absent_items;
  std::vector<MetricPoint> absent;
  std::size_t middle = begin;  // those that are there come to the front
  for (std::size_t at = begin; at < end; ++at) {
    if (!there[at - begin]) {
      absent_items.push_back(std::move(items_[at]));
      absent.push_back(sent_[at]);
    } else {
      sent_[middle++] = sent_[at];
    }
  }
  for (std::size_t at = 0; at < absent.size(); ++at) {
    items_[middle + at] = std::move(absent_items[at]);
    sent_[middle + at] = absent[at];
  }
  was_there_ += middle - begin;
  settle(begin, middle);
  if (middle == end) { return false; }
  todo_.emplace_back(middle, end);
  return true;
}

bool MlflowQueue::refused() {
  const auto [begin, end] = todo_.back();
  if (end - begin == 1) {
    ++left_out_;
    settle(begin, end);
    return true;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  todo_.pop_back();
  todo_.emplace_back(middle, end);
  todo_.emplace_back(begin, middle);
  body_.clear();
  return false;
}

void MlflowQueue::give_up() {
  const auto [begin, end] = todo_.back();
  lost_ += end - begin;
  todo_.pop_back();
  body_.clear();
}

void MlflowQueue::clear() {
  while (!todo_.empty()) {
    const auto [begin, end] = todo_.back();
    lost_ += kind_ == Kind::points ? end - begin : 0;
    todo_.pop_back();
  }
  body_.clear();
  lost_ += points_.size();
  points_.clear();
  params_.clear();
  tags_.clear();
}

}  // namespace detail
TAKT_END_NAMESPACE
