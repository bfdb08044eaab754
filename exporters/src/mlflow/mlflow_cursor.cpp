// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_cursor.hpp"

#include "base/json.hpp"
#include "base/json_text.hpp"

#include <algorithm>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// The first schema had six metrics per region and no NaN, so its point numbers mean other points.
constexpr const char* kFirstSchema = "takt-mlflow/1";
constexpr const char* kSchema = "takt-mlflow/2";
constexpr const char* kSources[] = {"row", "metric", "total", "sample", "job"};

JsonText settled_of(const MlflowCursor& cursor) {
  JsonText settled = JsonText::object();
  for (std::size_t source = 0; source < std::size(kSources); ++source) {
    JsonText ranges = JsonText::array();
    for (const auto& [first, end] : cursor.settled[source].ranges()) { ranges.push_back(JsonText{first, end}); }
    settled.add(kSources[source], ranges);
  }
  return settled;
}

/// The members of a cursor's text, by path.
struct CursorText {
  std::map<std::string, std::map<std::string, std::string>> texts;
  std::map<std::string, std::uint64_t> numbers;  // and flags
  std::map<std::string, std::vector<std::uint64_t>> bounds;
  std::set<std::string> holders;  // objects and arrays

  void take(const JsonStop& stop) {
    const bool of_range = stop.inside.compare(0, 9, "/settled/") == 0;
    if (stop.kind == JsonStop::Kind::object || stop.kind == JsonStop::Kind::array) {
      holders.insert(stop.inside + "/" + stop.name);
    } else if (stop.is_text()) {
      texts[stop.inside][stop.name] = stop.text;
    } else if (of_range && stop.kind == JsonStop::Kind::integer) {
      bounds[stop.inside.substr(9, stop.inside.rfind('/') - 9)].push_back(static_cast<std::uint64_t>(stop.integer));
    } else if (stop.inside.empty() && stop.kind != JsonStop::Kind::end) {
      numbers[stop.name] = static_cast<std::uint64_t>(stop.integer);
    }
  }
  /// Copies the member to `to`. Sets `whole` to false if it is missing.
  template <class Value>
  void get(const std::map<std::string, Value>& from, const char* name, Value& to) {
    const auto found = from.find(name);
    if (found == from.end()) {
      whole = false;
    } else {
      to = found->second;
    }
  }
  void get(const char* name, std::string& to) { get(texts[""], name, to); }
  void get(const char* name, std::uint64_t& to) { get(numbers, name, to); }
  void get(const char* name, bool& to) {
    std::uint64_t number = 0;
    get(name, number);
    to = number != 0;
  }
  void get(const char* name, std::map<std::string, std::string>& to) {
    whole = whole && holders.count(std::string("/") + name) != 0;
    to = texts[std::string("/") + name];
  }
  void get(const char* source, MlflowSettled& to) {
    whole = whole && holders.count(std::string("/settled/") + source) != 0;
    const std::vector<std::uint64_t>& all = bounds[source];
    whole = whole && all.size() % 2 == 0;
    for (std::size_t at = 0; at + 1 < all.size(); at += 2) { to.add(all[at], all[at + 1]); }
  }

  bool whole = true;
};

}  // namespace

void MlflowSettled::add(std::uint64_t first, std::uint64_t end) {
  if (first >= end) { return; }
  auto at = ends_.upper_bound(first);
  if (at != ends_.begin() && std::prev(at)->second >= first) {
    --at;
    first = at->first;
    end = std::max(end, at->second);
  }
  while (at != ends_.end() && at->first <= end) {
    end = std::max(end, at->second);
    at = ends_.erase(at);
  }
  ends_.emplace(first, end);
}

bool MlflowSettled::has(std::uint64_t number) const {
  const auto after = ends_.upper_bound(number);
  return after != ends_.begin() && number < std::prev(after)->second;
}

void MlflowSettled::cut(std::uint64_t first) {
  ends_.erase(ends_.lower_bound(first), ends_.end());
  if (!ends_.empty()) { ends_.rbegin()->second = std::min(ends_.rbegin()->second, first); }
}

std::uint64_t MlflowSettled::count() const {
  std::uint64_t sum = 0;
  for (const auto& [first, end] : ends_) { sum += end - first; }
  return sum;
}

void forget_end(MlflowCursor& cursor) {
  cursor.settled[0].cut(cursor.killed_rows);
  for (const auto source : {MetricPoint::Source::total, MetricPoint::Source::job}) {
    cursor.settled[static_cast<std::size_t>(source)] = MlflowSettled();
  }
  cursor.attached.clear();
  cursor.missing.clear();
  cursor.killed_bytes = 0;
  cursor.killed_rows = 0;
}

std::string mlflow_cursor_owner(const RunInfo& run) {
  return run.id + " rank " + std::to_string(run.rank) + " attempt " + std::to_string(run.attempt) + " pid " +
         std::to_string(run.pid) + " on " + run.host;
}

std::string format_cursor(const MlflowCursor& cursor) {
  JsonText attached = JsonText::array();
  for (const std::string& each : cursor.attached) { attached.push_back(each); }
  JsonText missing = JsonText::array();
  for (const std::string& each : cursor.missing) { missing.push_back(each); }
  const JsonText document = {
      {"schema", cursor.first_schema ? kFirstSchema : kSchema},
      {"of", cursor.of},
      {"server", cursor.server},
      {"run_id", cursor.run_id},
      {"nonce", cursor.nonce},
      {"source", cursor.source},
      {"experiment_name", cursor.experiment_name},
      {"experiment_id", cursor.experiment_id},
      {"joined_run", cursor.joined_run},
      {"every_step", cursor.every_step},
      {"all_ranks", cursor.all_ranks},
      {"artifacts", cursor.artifacts},
      {"first_row", cursor.first_row},
      {"first_metric", cursor.first_metric},
      {"first_sample", cursor.first_sample},
      {"params", cursor.params},
      {"tags", cursor.tags},
      {"settled", settled_of(cursor)},
      {"job_ranks", cursor.job.ranks},
      {"job_points", cursor.job.count},
      {"job_hash", cursor.job.hash},
      {"job_time_ms", cursor.job.time_ms},
      {"status", cursor.status},
      {"attached", attached},
      {"missing", missing},
      {"left_out", cursor.left_out},
      {"killed_bytes", cursor.killed_bytes},
      {"killed_rows", cursor.killed_rows},
  };
  return document.text() + "\n";
}

bool parse_cursor(const std::string& text, MlflowCursor& cursor) {
  CursorText all;
  if (!walk_json(text, [&](const JsonStop& stop) { all.take(stop); })) { return false; }
  std::map<std::string, std::string>& texts = all.texts[""];
  cursor.first_schema = texts["schema"] == kFirstSchema;
  if (!cursor.first_schema && texts["schema"] != kSchema) { return false; }
  cursor.of = texts["of"];
  cursor.killed_bytes = all.numbers["killed_bytes"];
  cursor.killed_rows = all.numbers["killed_rows"];
  all.get("server", cursor.server);
  all.get("run_id", cursor.run_id);
  all.get("nonce", cursor.nonce);
  all.get("source", cursor.source);
  all.get("experiment_name", cursor.experiment_name);
  all.get("experiment_id", cursor.experiment_id);
  all.get("joined_run", cursor.joined_run);
  all.get("every_step", cursor.every_step);
  all.get("all_ranks", cursor.all_ranks);
  all.get("artifacts", cursor.artifacts);
  all.get("first_row", cursor.first_row);
  all.get("first_metric", cursor.first_metric);
  cursor.first_sample = all.numbers["first_sample"];
  all.get("params", cursor.params);
  all.get("tags", cursor.tags);
  for (std::size_t source = 0; source < std::size(kSources); ++source) {
    const std::string name = kSources[source];
    const bool is_newer = name == "sample" || name == "job";  // absent in older versions
    const bool is_old = is_newer && all.holders.count("/settled/" + name) == 0;
    if (!is_old) { all.get(kSources[source], cursor.settled[source]); }
  }
  cursor.job = {all.numbers["job_ranks"], all.numbers["job_points"], all.numbers["job_hash"],
                static_cast<std::int64_t>(all.numbers["job_time_ms"])};
  all.get("status", cursor.status);
  std::map<std::string, std::string> attached;  // by number
  all.get("attached", attached);
  for (const auto& [number, name] : attached) { cursor.attached.insert(name); }
  for (const auto& [number, name] : all.texts["/missing"]) { cursor.missing.insert(name); }  // absent in older versions
  all.get("left_out", cursor.left_out);
  return all.whole;
}

}  // namespace detail
TAKT_END_NAMESPACE
