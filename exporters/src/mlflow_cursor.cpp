// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow_cursor.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kSchema = "takt-mlflow/1";

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
  cursor.settled[2] = MlflowSettled();
  cursor.attached.clear();
  cursor.killed_bytes = 0;
  cursor.killed_rows = 0;
}

std::string mlflow_cursor_file(const std::string& folder) { return folder + "/mlflow.json"; }
std::string mlflow_lease_file(const std::string& folder) { return folder + "/mlflow.lease"; }

std::string mlflow_cursor_owner(const RunInfo& run) {
  return run.id + " rank " + std::to_string(run.rank) + " attempt " + std::to_string(run.attempt) + " pid " +
         std::to_string(run.pid) + " on " + run.host;
}

std::string format_cursor(const MlflowCursor& cursor) {
  const auto ranges = [&](std::size_t source) { return cursor.settled[source].ranges(); };
  const OrderedJson document = {
      {"schema", kSchema},
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
      {"params", cursor.params},
      {"tags", cursor.tags},
      {"settled", {{"row", ranges(0)}, {"metric", ranges(1)}, {"total", ranges(2)}}},
      {"status", cursor.status},
      {"attached", cursor.attached},
      {"left_out", cursor.left_out},
      {"killed_bytes", cursor.killed_bytes},
      {"killed_rows", cursor.killed_rows},
  };
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

bool parse_cursor(const std::string& text, MlflowCursor& cursor) {
  try {
    const OrderedJson document = OrderedJson::parse(text);
    if (document.at("schema") != kSchema) { return false; }
    cursor.of = document.value("of", "");
    document.at("server").get_to(cursor.server);
    document.at("run_id").get_to(cursor.run_id);
    document.at("nonce").get_to(cursor.nonce);
    document.at("source").get_to(cursor.source);
    document.at("experiment_name").get_to(cursor.experiment_name);
    document.at("experiment_id").get_to(cursor.experiment_id);
    document.at("joined_run").get_to(cursor.joined_run);
    document.at("every_step").get_to(cursor.every_step);
    document.at("all_ranks").get_to(cursor.all_ranks);
    document.at("artifacts").get_to(cursor.artifacts);
    document.at("first_row").get_to(cursor.first_row);
    document.at("first_metric").get_to(cursor.first_metric);
    document.at("params").get_to(cursor.params);
    document.at("tags").get_to(cursor.tags);
    const char* const kSources[] = {"row", "metric", "total"};
    for (std::size_t source = 0; source < cursor.settled.size(); ++source) {
      for (const auto& range : document.at("settled").at(kSources[source]).get<std::vector<MlflowSettled::Range>>()) {
        cursor.settled[source].add(range.first, range.second);
      }
    }
    document.at("status").get_to(cursor.status);
    document.at("attached").get_to(cursor.attached);
    document.at("left_out").get_to(cursor.left_out);
    cursor.killed_bytes = document.value("killed_bytes", cursor.killed_bytes);
    cursor.killed_rows = document.value("killed_rows", cursor.killed_rows);
    return true;
  } catch (const OrderedJson::exception&) { return false; }
}

}  // namespace detail
TAKT_END_NAMESPACE
