// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/system_metrics.hpp"

#include "base/environment.hpp"
#include "trackers/tracker_names.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool is_nvidia(const Sensor& sensor) { return sensor.name.compare(0, 5, "cuda ") == 0; }

bool is_slice(const Sensor& sensor) { return !sensor.caveat.empty(); }

std::vector<SystemMetrics::Value> SystemMetrics::add(const Snapshot& snapshot, const Sample& sample) {
  const bool in_run = sample.time_ns >= 0 && sample.time_ns < std::numeric_limits<std::int64_t>::max() - window_ns_;
  if (sample.sensor >= snapshot.sensors.size() || !in_run) { return {}; }
  const Sensor& sensor = snapshot.sensors[sample.sensor];
  if (sample.values.size() != sensor.quantities.size()) { return {}; }
  if (sample.sensor >= windows_.size()) { windows_.resize(sample.sensor + 1); }
  Window& window = windows_[sample.sensor];
  if (!std::exchange(window.known, true)) { learn(sensor, window); }
  const std::int64_t number = sample.time_ns / window_ns_;
  if (number < window.number) { return {}; }
  std::vector<Value> closed;
  if (number > window.number) { closed = close(window, number); }
  for (Column& column : window.columns) {
    const std::int64_t value = column.place < sample.values.size() ? sample.values[column.place] : Sample::kAbsent;
    if (value == Sample::kAbsent) { continue; }
    column.sum += static_cast<double>(value);
    ++column.count;
    column.last = value;
    column.last_ns = sample.time_ns;
    if (std::exchange(column.started, true)) { continue; }
    column.from = value;
    column.from_ns = sample.time_ns;
  }
  return closed;
}

/// Maps a sensor's quantities to metrics. If two sensors share a device, such as two slices of it, the first one gets
/// the device's names.
void SystemMetrics::learn(const Sensor& sensor, Window& window) {
  for (SystemMetric& metric : naming_(sensor)) {
    const std::size_t place = sensor.place_of(metric.quantity);
    if (place == sensor.quantities.size() || !names_.insert(metric.name).second) { continue; }
    Column column;
    column.metric = std::move(metric);
    column.place = place;
    window.columns.push_back(std::move(column));
  }
}

/// Closes the window, and opens the window `next`.
std::vector<SystemMetrics::Value> SystemMetrics::close(Window& window, std::int64_t next) const {
  std::vector<Value> values;
  for (Column& column : window.columns) {
    const bool counts = form_of(column.metric.quantity).counts;
    const double grown = static_cast<double>(column.last) - static_cast<double>(column.from);
    const std::int64_t ns = column.last_ns - column.from_ns;
    const bool reported = column.count != 0 && (!counts || (ns > 0 && grown >= 0));
    if (reported) {
      const double mean = counts ? grown / static_cast<double>(ns) : column.sum / static_cast<double>(column.count);
      values.push_back({column.metric.name, (mean - column.metric.less) * column.metric.scale, window.number,
                        (window.number + 1) * window_ns_});
    }
    // After a window without values it is unknown when the counter grew.
    column.started = column.count != 0 && next == window.number + 1;
    column.from = column.last;
    column.from_ns = column.last_ns;
    column.sum = 0;
    column.count = 0;
  }
  window.number = next;
  return values;
}

namespace {

double seconds_of(double ns) { return ns / 1e9; }
double seconds_of(std::uint64_t ns) { return seconds_of(static_cast<double>(ns)); }

double total_of(const OverRanks& over) { return over.mean_ns * static_cast<double>(over.ranks); }

/// Returns the paths in which ranks spent the most time, on the host or on streams, longest first.
std::vector<std::uint32_t> longest_paths(const Job& job) {
  std::vector<std::uint32_t> order(job.paths.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto spent = [&](std::uint32_t path) {
    return std::max(total_of(job.paths[path].host_total), total_of(job.paths[path].device_total));
  };
  const auto is_longer = [&](std::uint32_t a, std::uint32_t b) {
    return spent(a) != spent(b) ? spent(a) > spent(b) : a < b;
  };
  const std::size_t count = std::min(order.size(), kMaxJobPaths);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), is_longer);
  order.resize(count);
  return order;
}

JobMetrics metrics_of(std::string stem, const OverRanks& over) {
  return {std::move(stem),
          {{"/mean_s", seconds_of(over.mean_ns)},
           {"/min_s", seconds_of(over.min_ns)},
           {"/max_s", seconds_of(over.max_ns)},
           {"/imbalance", over.imbalance},
           {"/slowest_rank", over.max_rank},
           {"/ranks", static_cast<double>(over.ranks)}}};
}

}  // namespace

std::vector<JobMetrics> job_metrics(const Job& job) {
  std::vector<JobMetrics> all = {
      {"total/job", {{"/world_size", job.world_size}, {"/missing_ranks", static_cast<double>(job.missing.size())}}}};
  std::set<std::string> stems;
  const auto add = [&](std::string stem, const OverRanks& over) {
    if (over.ranks == 0) { return; }
    while (!stems.insert(stem).second) { stem += '_'; }  // same name, different kinds
    all.push_back(metrics_of(std::move(stem), over));
  };
  for (const std::uint32_t path : longest_paths(job)) {
    const std::string name = job.path_name(path);
    add("total/ranks/time/" + name, job.paths[path].host_total);
    add("total/ranks/gpu/" + name, job.paths[path].device_total);
  }
  return all;
}

std::string job_text(const Job& job) {
  std::string text = std::to_string(job.wall.ranks) + " of " + std::to_string(job.world_size);
  if (!job.missing.empty()) { text += "; missing: " + rank_list(job.missing); }
  if (job.paths.size() > kMaxJobPaths) {
    text += "; the longest " + std::to_string(kMaxJobPaths) + " of " + std::to_string(job.paths.size()) + " paths";
  }
  const std::string findings = findings_text(job.comparison.findings, "takt report --json");
  return findings.empty() ? text : text + "\n" + findings;
}

}  // namespace detail
TAKT_END_NAMESPACE
