// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_queue.hpp"

#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Maximum length of a value in code points: newest servers, then oldest.
constexpr std::size_t kLongestParam = 6000;
constexpr std::size_t kLongestTag = 8000;
constexpr std::size_t kShortParam = 500;
constexpr std::size_t kShortTag = 5000;

std::string json_text(const std::string& text) { return JsonText(text).text(); }

/// Returns the shortest text that parses to the same bits. JSON has no infinities and no NaN; MLflow takes strings for
/// them.
std::string number(double value) {
  if (std::isnan(value)) { return "\"NaN\""; }
  if (std::isinf(value)) { return value > 0 ? "\"Infinity\"" : "\"-Infinity\""; }
  return JsonText(value).text();
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Returns a hash of names and values, equal for equal points.
std::uint32_t hash_of(const std::vector<MetricPoint>& points, const MetricPoints& names) {
  std::string text;
  for (const MetricPoint& each : points) { text += names.key(each.key) + '=' + number(each.value) + '\n'; }
  return short_hash(text);
}

/// Returns the offset after the first `count` code points, or the size of a shorter text.
std::size_t end_of(const std::string& text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues(text[at]) && count-- == 0) { break; }
  }
  return at;
}

}  // namespace

MlflowQueue::MlflowQueue(std::size_t max) : max_(max), longest_param_(kLongestParam), longest_tag_(kLongestTag) {}

void MlflowQueue::resume(const MlflowCursor& cursor) {
  settled_ = cursor.settled;
  job_ = cursor.job;
  known_params_ = settled_params_ = cursor.params;
  known_tags_ = settled_tags_ = cursor.tags;
  left_out_ = cursor.left_out;
}

void MlflowQueue::report(MlflowCursor& cursor) const {
  cursor.settled = settled_;
  cursor.job = job_;
  cursor.params = settled_params_;
  cursor.tags = settled_tags_;
  cursor.left_out = left_out_;
}

void MlflowQueue::keep_points_alone() {
  points_alone_ = true;
  params_.clear();
  tags_.clear();
  if (kind_ == Kind::points) { return; }
  todo_.clear();
  items_.clear();
  pairs_.clear();
  body_.clear();
}

void MlflowQueue::add_params(const std::map<std::string, std::string>& params) {
  if (points_alone_) { return; }
  for (const auto& [name, value] : params) {
    const auto [place, is_new] = known_params_.emplace(name, value);
    if (is_new) {
      params_.emplace_back(name, value);
      note_name(param_names_, name);
    } else if (place->second != value) {
      place->second = value;
      report_error("mlflow.param",
                   "the parameter \"" + name + "\" keeps its first value: MLflow does not change parameters");
    }
  }
}

void MlflowQueue::note_name(TrackerNames& names, const std::string& name) {
  const std::string& there = names.of(name);
  if (there != name) { renamed_.emplace_back(name, there); }
}

void MlflowQueue::add_tags(const std::map<std::string, std::string>& tags) {
  if (points_alone_) { return; }
  for (const auto& [name, value] : tags) {
    const auto [place, is_new] = known_tags_.emplace(name, value);
    if (!is_new && place->second == value) { continue; }
    if (is_new) { note_name(tag_names_, name); }
    place->second = value;
    tags_.emplace_back(name, value);
  }
}

void MlflowQueue::add_points(const std::vector<MetricPoint>& points) {
  std::copy_if(points.begin(), points.end(), std::back_inserter(points_), [this](const MetricPoint& point) {
    return point.index == MetricPoint::kNoIndex || !settled_[static_cast<std::size_t>(point.source)].has(point.index);
  });
  if (!failing_.empty()) { drop_failing(); }
  if (points_.size() <= max_) { return; }
  while (points_.size() > max_) {
    ++lost_;
    points_.pop_front();
  }
  report_error("mlflow.full", "MLflow is too slow: " + std::to_string(lost_) +
                                  " of the oldest points are dropped. Without a journal (TAKT_JOURNAL, TAKT_FILES) "
                                  "they cannot be sent later");
}

bool MlflowQueue::add_job(std::uint64_t ranks, std::vector<MetricPoint> points, const MetricPoints& names) {
  MlflowSettled& settled = settled_[static_cast<std::size_t>(MetricPoint::Source::job)];
  const std::uint64_t hash = hash_of(points, names);
  if (job_.ranks == 0 || job_.hash != hash) {
    const bool reported = job_.ranks >= ranks && settled.count() >= job_.count;
    if (reported) { return false; }
    constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
    const std::int64_t later = job_.time_ms == kLatest ? kLatest : job_.time_ms + 1;
    job_ = {ranks, points.size(), hash, std::max(points.front().timestamp_ms, later)};
    settled = MlflowSettled();
  }
  for (MetricPoint& each : points) { each.timestamp_ms = job_.time_ms; }
  add_points(points);
  return true;
}

std::size_t MlflowQueue::batch_points() const noexcept {
  std::size_t count = 0;
  for (const auto& [begin, end] : todo_) { count += kind_ == Kind::points ? end - begin : 0; }
  return count;
}

/// Returns the item as JSON, with the value truncated to the server's limit.
std::string MlflowQueue::item_of(const Pair& pair) {
  const auto& [name, value] = pair;
  TrackerNames& names = kind_ == Kind::params ? param_names_ : tag_names_;
  const std::size_t end = end_of(value, longest());
  return "{\"key\":" + json_text(names.of(name)) + ",\"value\":" + json_text(value.substr(0, end)) + "}";
}

void MlflowQueue::form_pairs(std::deque<Pair>& from) {
  for (std::size_t bytes = 0; !from.empty() && items_.size() < kMaxPairs; from.pop_front()) {
    std::string item = item_of(from.front());
    bytes += item.size() + 1;
    if (bytes > kMaxBody && !items_.empty()) { break; }
    items_.push_back(std::move(item));
    pairs_.push_back(from.front());
  }
}

void MlflowQueue::form_points(const MetricPoints& names) {
  for (std::size_t bytes = 0; !points_.empty() && items_.size() < kMaxPoints; points_.pop_front()) {
    const MetricPoint& point = points_.front();
    std::string item = "{\"key\":" + json_text(names.key(point.key)) + ",\"step\":" + std::to_string(point.step) +
                       ",\"timestamp\":" + std::to_string(point.timestamp_ms) + ",\"value\":" + number(point.value) +
                       "}";
    bytes += item.size() + 1;
    if (bytes > kMaxBody && !items_.empty()) { break; }
    items_.push_back(std::move(item));
    sent_.push_back(point);
  }
}

void MlflowQueue::form(const MetricPoints& names) {
  items_.clear();
  sent_.clear();
  pairs_.clear();
  halved_ = false;
  if (!params_.empty()) {
    kind_ = Kind::params;
    form_pairs(params_);
  } else if (!tags_.empty()) {
    kind_ = Kind::tags;
    form_pairs(tags_);
  } else {
    kind_ = Kind::points;
    form_points(names);
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
  // Keys are in alphabetical order, so a server that fails on a point has not read the run_id either. It then reports
  // an error instead of storing half of the request.
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

/// Warns about a truncated value, once the server's limit is known.
void MlflowQueue::report_cut(const Pair& pair) {
  if (end_of(pair.second, longest()) == pair.second.size()) { return; }
  report_error("mlflow.long", "the value of \"" + pair.first + "\" is longer than the " + std::to_string(longest()) +
                                  " characters that this MLflow server allows, and is truncated");
}

void MlflowQueue::accepted() {
  const auto [begin, end] = todo_.back();
  taken_ += kind_ == Kind::points ? end - begin : 0;
  for (std::size_t at = begin; at < end && kind_ != Kind::points; ++at) { report_cut(pairs_[at]); }
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
  std::size_t middle = begin;  // points that the server has move to the front
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

/// Splits the request in two.
void MlflowQueue::part(std::size_t middle) {
  const auto [begin, end] = todo_.back();
  todo_.pop_back();
  todo_.emplace_back(middle, end);
  todo_.emplace_back(begin, middle);
  body_.clear();
}

std::string MlflowQueue::refused(const MetricPoints& names) {
  const auto [begin, end] = todo_.back();
  if (end - begin != 1) {
    part(begin + (end - begin) / 2);
    return "";
  }
  const std::string what = kind_ == Kind::points   ? "a value of \"" + names.key(sent_[begin].key)
                           : kind_ == Kind::params ? "the parameter \"" + pairs_[begin].first
                                                   : "the tag \"" + pairs_[begin].first;
  ++left_out_;
  settle(begin, end);
  return what + '"';
}

std::string MlflowQueue::too_long(const MetricPoints& names) {
  const std::size_t min = kind_ == Kind::params ? kShortParam : kShortTag;
  if (kind_ == Kind::points || longest() == min) { return refused(names); }
  longest() = min;
  for (const auto& [begin, end] : todo_) {
    for (std::size_t at = begin; at < end; ++at) { items_[at] = item_of(pairs_[at]); }
  }
  body_.clear();
  return "";
}

bool MlflowQueue::halve() {
  const auto [begin, end] = todo_.back();
  if (end - begin == 1) { return false; }
  halved_ = true;
  part(begin + (end - begin) / 2);
  return true;
}

std::string MlflowQueue::give_up_one(const MetricPoints& names) {
  if (kind_ != Kind::points) {
    std::string name = pairs_[todo_.back().first].first;
    give_up();
    return name;
  }
  const std::uint32_t key = sent_[todo_.back().first].key;
  failing_.insert(key);
  give_up();
  drop_failing();
  return names.key(key);
}

/// Drops the points of metrics on which the server fails.
void MlflowQueue::drop_failing() {
  const auto fails = [&](const MetricPoint& point) { return failing_.count(point.key) != 0; };
  const auto end = std::remove_if(points_.begin(), points_.end(), fails);
  lost_ += static_cast<std::uint64_t>(points_.end() - end);
  points_.erase(end, points_.end());
  std::vector<std::pair<std::size_t, std::size_t>> rest;
  for (const auto& [begin, behind] : todo_) {
    std::size_t middle = begin;  // those that stay come to the front
    for (std::size_t at = begin; at < behind; ++at) {
      if (fails(sent_[at])) { continue; }
      std::swap(items_[middle], items_[at]);
      std::swap(sent_[middle++], sent_[at]);
    }
    lost_ += behind - middle;
    if (middle != begin) { rest.emplace_back(begin, middle); }
  }
  todo_ = std::move(rest);
  body_.clear();
}

bool MlflowQueue::is_lone_nan() const {
  if (todo_.empty() || kind_ != Kind::points) { return false; }
  const auto [begin, end] = todo_.back();
  return end - begin == 1 && std::isnan(sent_[begin].value);
}

void MlflowQueue::give_up() {
  const auto [begin, end] = todo_.back();
  lost_ += end - begin;
  todo_.pop_back();
  body_.clear();
}

void MlflowQueue::give_up_rest() {
  while (!todo_.empty()) { give_up(); }
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
