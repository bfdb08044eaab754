// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_rows.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Names that a row, or W&B, gives a meaning of its own.
bool is_reserved(const std::string& name) {
  return name == "_step" || name == "_timestamp" || name == "_runtime" || name == "_wandb" || name == kWandbStep ||
         name == kWandbEpoch;
}

bool is_total(const MetricPoint& point) {
  return point.source == MetricPoint::Source::total || point.source == MetricPoint::Source::job;
}

}  // namespace

const std::string& WandbRows::key(std::uint32_t number, const MetricPoints& names) {
  const auto [place, is_new] = keys_.emplace(number, "");
  if (is_new) {
    const std::string& name = names.key(number);
    place->second = is_reserved(name) ? "user/" + name : name;
    if (place->second != name) { renamed_.emplace_back(name, place->second); }
  }
  return place->second;
}

std::vector<WandbRows::Row> WandbRows::take(const std::vector<MetricPoint>& points, const MetricPoints& names,
                                            const WandbEpochs& epochs) {
  std::vector<Row> rows;
  std::set<std::uint32_t> in_row;
  std::size_t bytes = 0;
  const MetricPoint* last = nullptr;
  for (const MetricPoint& point : points) {
    WandbItem item{key(point.key, names), wandb_json(point.value)};
    const std::size_t more = item.key.size() + item.json.size();
    const bool same = last != nullptr && last->step == point.step && is_total(*last) == is_total(point) &&
                      in_row.count(point.key) == 0 && bytes + more <= most_bytes_;
    if (!same) {
      if (last != nullptr) { end(rows.back(), *last, epochs); }
      rows.emplace_back();
      in_row.clear();
      bytes = 0;
    }
    rows.back().items.push_back(std::move(item));
    in_row.insert(point.key);
    bytes += more;
    last = &point;
  }
  if (last != nullptr) { end(rows.back(), *last, epochs); }
  return rows;
}

void WandbRows::end(Row& row, const MetricPoint& last, const WandbEpochs& epochs) {
  const std::int64_t epoch = epochs.ended_at(last.timestamp_ms);
  row.number = next_++;
  row.items.push_back({kWandbStep, std::to_string(last.step)});
  if (epoch >= 0) { row.items.push_back({kWandbEpoch, std::to_string(epoch)}); }
  const double since_start_s = static_cast<double>(last.timestamp_ms * 1'000'000 - start_unix_ns_) / 1e9;
  row.items.push_back({"_timestamp", wandb_json(static_cast<double>(last.timestamp_ms) / 1e3)});
  row.items.push_back({"_runtime", wandb_json(std::max(since_start_s, 0.0))});
  row.items.push_back({"_step", std::to_string(row.number)});
}

void WandbSummary::add(const WandbRows::Row& row) {
  for (const WandbItem& item : row.items) { changed_[item.key] = item.json; }
}

WandbItems WandbSummary::changed() {
  WandbItems items;
  for (const auto& [key, json] : std::exchange(changed_, {})) { items.push_back({key, json}); }
  return items;
}

}  // namespace detail
TAKT_END_NAMESPACE
