// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_rows.hpp"

#include "base/json_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kOldestReader = "0.70.0";

// Fields of Record.
enum : std::uint32_t {
  kNumber = 1,
  kHistory,
  kSummary,
  kConfig = 5,
  kFiles,
  kSystem,
  kMetric = 12,
  kRun = 17,
  kExit,
  kHeader = 21,
  kEnvironment = 26
};

/// Adds `field` repeatedly, with a key and a value each.
void add_items(Protobuf& to, std::uint32_t field, const WandbItems& items) {
  for (const WandbItem& item : items) { to.message(field, Protobuf().text(1, item.key).text(16, item.json)); }
}

}  // namespace

std::string wandb_json(double value) {
  if (std::isnan(value)) { return "NaN"; }
  if (std::isinf(value)) { return value > 0 ? "Infinity" : "-Infinity"; }
  return JsonText(value).text();
}

std::string wandb_json(std::string_view text) { return JsonText(text).text(); }

std::string wandb_producer() { return "takt-" + version_text(); }

Protobuf wandb_time(std::int64_t unix_ns) {
  return Protobuf().number(1, unix_ns / kSecondNs).number(2, unix_ns % kSecondNs);
}

std::string WandbRecords::next(std::uint32_t field, const Protobuf& content) {
  return Protobuf().number(kNumber, ++number_).message(field, content).bytes();
}

std::string WandbRecords::header(std::string_view producer) {
  return next(kHeader, Protobuf().message(1, Protobuf().text(1, producer).text(2, kOldestReader)));
}

std::string WandbRecords::run(const WandbIdentity& identity, const WandbItems& config) {
  Protobuf items;
  add_items(items, 1, config);
  Protobuf run;
  run.text(1, identity.id).text(2, identity.entity).text(3, identity.project).message(4, items);
  run.text(6, identity.group).text(7, identity.job_type).text(8, identity.name).text(9, identity.notes);
  for (const std::string& tag : identity.tags) { run.text(10, tag); }
  run.text(12, identity.sweep_id).text(13, identity.host);
  run.message(17, wandb_time(identity.start_unix_ns));
  if (!identity.commit.empty() || !identity.remote.empty()) {
    run.message(21, Protobuf().text(1, identity.remote).text(2, identity.commit));
  }
  if (identity.resume) { run.number(24, 1); }
  return next(kRun, run);
}

std::string WandbRecords::environment(const Protobuf& message) { return next(kEnvironment, message); }

std::string WandbRecords::axis(const std::string& name) {
  return next(kMetric, Protobuf().text(1, name).message(6, Protobuf().number(3, 1)));
}

std::string WandbRecords::drawn_over(const std::string& glob, const std::string& axis) {
  return next(kMetric, Protobuf().text(2, glob).text(4, axis).message(6, Protobuf().number(1, 1).number(3, 1)));
}

std::string WandbRecords::config(const WandbItems& changed) {
  Protobuf items;
  add_items(items, 1, changed);
  return next(kConfig, items);
}

std::string WandbRecords::history(const WandbItems& row, std::int64_t step) {
  Protobuf history;
  add_items(history, 1, row);
  return next(kHistory, history.message(2, Protobuf().number(1, step)));
}

std::string WandbRecords::system(const WandbItems& metrics, std::int64_t unix_ns) {
  Protobuf system;
  system.message(2, wandb_time(unix_ns));
  add_items(system, 3, metrics);
  return next(kSystem, system);
}

std::string WandbRecords::summary(const WandbItems& changed) {
  Protobuf items;
  add_items(items, 1, changed);
  return next(kSummary, items);
}

std::string WandbRecords::file(const std::string& path) {
  return next(kFiles, Protobuf().message(1, Protobuf().text(1, path)));  // policy and type 0: upload now, any type
}

std::string WandbRecords::exit(int code, std::int64_t runtime_s) {
  return next(kExit, Protobuf().number(1, code).number(2, runtime_s));
}

namespace {

constexpr std::size_t kMaxEpochs = 1024;

bool is_epoch(const PathStats& path) { return path.name == "Epoch"; }

bool is_in_epoch(const Snapshot& snapshot, std::uint32_t path) {
  while (path < snapshot.paths.size()) {
    if (is_epoch(snapshot.paths[path])) { return true; }
    path = snapshot.paths[path].parent;
  }
  return false;
}

}  // namespace

void WandbEpochs::take(const Snapshot& snapshot) {
  const auto found = std::find_if(snapshot.paths.begin(), snapshot.paths.end(), is_epoch);
  if (found == snapshot.paths.end()) { return; }
  const auto ended = static_cast<std::int64_t>(found->host.n() + found->skipped);
  known_ = true;
  for (const Row& row : snapshot.rows) { add_row(snapshot, row, ended); }
  if (ended > counted_) { note((snapshot.run.start_unix_ns + snapshot.wall_ns) / kMillisecondNs, ended); }
  counted_ = std::max(counted_, ended);
}

/// \param ended number of ended Epochs in the row's snapshot.
void WandbEpochs::add_row(const Snapshot& snapshot, const Row& row, std::int64_t ended) {
  if (row.series >= snapshot.series.size()) { return; }
  const bool is_first = series_ < 0;
  if (is_first && is_in_epoch(snapshot, snapshot.series[row.series].path)) {
    series_ = row.series;
    by_steps_ = ended_at((snapshot.run.start_unix_ns + row.begin_ns) / kMillisecondNs);
    return;
  }
  if (row.series != series_) {
    other_between_ = other_between_ || is_first ||
                     snapshot.series[row.series].path != snapshot.series[static_cast<std::size_t>(series_)].path;
    return;
  }
  const bool was_other = other_between_;
  other_between_ = false;
  if (row.period_ns) { return; }
  // A Batch of another path looks like the end of an Epoch: then the snapshot's count decides.
  if (was_other && by_steps_ >= ended) { return; }
  note((snapshot.run.start_unix_ns + row.begin_ns) / kMillisecondNs, ++by_steps_);
}

void WandbEpochs::note(std::int64_t timestamp_ms, std::int64_t ended) {
  const auto place = ended_.emplace(timestamp_ms, std::max(ended, ended_at(timestamp_ms))).first;
  for (auto at = place; at != ended_.end() && at->second < ended; ++at) { at->second = ended; }
  if (ended_.size() > kMaxEpochs) {
    before_ = ended_.begin()->second;
    ended_.erase(ended_.begin());
  }
}

std::int64_t WandbEpochs::ended_at(std::int64_t timestamp_ms) const {
  if (!known_) { return -1; }
  const auto later = ended_.upper_bound(timestamp_ms);
  return later == ended_.begin() ? before_ : std::prev(later)->second;
}

namespace {

/// Returns whether a row or W&B itself uses the name.
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
                      in_row.count(point.key) == 0 && bytes + more <= max_bytes_;
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

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// Adds memory metrics. For NVIDIA, the driver's reserved memory is subtracted.
void add_wandb_memory_of_gpu(const Sensor& sensor, std::vector<SystemMetric>& metrics) {
  const std::string gpu = "gpu." + std::to_string(sensor.number);
  const bool nvidia = is_nvidia(sensor);
  if (is_slice(sensor) || (nvidia && !sensor.reserved_bytes)) { return; }
  const double less = nvidia ? static_cast<double>(*sensor.reserved_bytes) : 0;
  if (nvidia) { metrics.push_back({gpu + ".memoryAllocatedBytes", Quantity::memory, 1, less}); }
  if (!sensor.memory_bytes) { return; }
  metrics.push_back(
      {gpu + ".memoryAllocated", Quantity::memory, 100.0 / static_cast<double>(*sensor.memory_bytes), less});
}

/// Names GPUs as W&B's client does with NVML and rocm-smi: by their number in the machine.
std::vector<SystemMetric> wandb_metrics_of_gpu(const Sensor& sensor) {
  const std::string gpu = "gpu." + std::to_string(sensor.number);
  std::vector<SystemMetric> metrics = {{gpu + ".gpu", Quantity::utilization, 1e-1},
                                       {gpu + ".powerWatts", Quantity::power, 1e-3}};
  if (sensor.power_limit_mw) {
    metrics.push_back({gpu + ".powerPercent", Quantity::power, 100.0 / static_cast<double>(*sensor.power_limit_mw)});
  }
  if (is_nvidia(sensor)) {  // for AMD the client reports the memory's temperature, which is not sampled
    metrics.push_back({gpu + ".temp", Quantity::temperature, 1e-3});
    metrics.push_back({gpu + ".smClock", Quantity::clock, 1});
  }
  add_wandb_memory_of_gpu(sensor, metrics);
  return metrics;
}

}  // namespace

/// Omits W&B's shares of memory and CPU: they are relative to the container's limits, which are not sampled.
std::vector<SystemMetric> wandb_system_metrics(const Sensor& sensor) {
  switch (sensor.kind) {
    case Sensor::Kind::device:
      return wandb_metrics_of_gpu(sensor);
    case Sensor::Kind::process:
      return {{"proc.memory.rssMB", Quantity::memory, 1 / kMiB}};
    default:
      return {};
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
