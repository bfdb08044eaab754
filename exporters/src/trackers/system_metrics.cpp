// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/system_metrics.hpp"

#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool is_nvidia(const Meter& meter) { return meter.name.compare(0, 5, "cuda ") == 0; }

bool is_slice(const Meter& meter) { return !meter.caveat.empty(); }

std::vector<SystemMetrics::Value> SystemMetrics::add(const Snapshot& snapshot, const Sample& sample) {
  const bool in_run = sample.time_ns >= 0 && sample.time_ns < std::numeric_limits<std::int64_t>::max() - window_ns_;
  if (sample.meter >= snapshot.meters.size() || !in_run) { return {}; }
  const Meter& meter = snapshot.meters[sample.meter];
  if (sample.values.size() != meter.quantities.size()) { return {}; }
  if (sample.meter >= windows_.size()) { windows_.resize(sample.meter + 1); }
  Window& window = windows_[sample.meter];
  if (!std::exchange(window.known, true)) { learn(meter, window); }
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
    if (std::exchange(column.begun, true)) { continue; }
    column.from = value;
    column.from_ns = sample.time_ns;
  }
  return closed;
}

/// Of two meters of one device, such as two slices of it, the first one has the device's names.
void SystemMetrics::learn(const Meter& meter, Window& window) {
  for (SystemMetric& metric : naming_(meter)) {
    const std::size_t place = meter.place_of(metric.quantity);
    if (place == meter.quantities.size() || !names_.insert(metric.name).second) { continue; }
    Column column;
    column.metric = std::move(metric);
    column.place = place;
    window.columns.push_back(std::move(column));
  }
}

/// Opens the window `next`.
std::vector<SystemMetrics::Value> SystemMetrics::close(Window& window, std::int64_t next) const {
  std::vector<Value> values;
  for (Column& column : window.columns) {
    const bool counts = form_of(column.metric.quantity).counts;
    const double grown = static_cast<double>(column.last) - static_cast<double>(column.from);
    const std::int64_t ns = column.last_ns - column.from_ns;
    const bool told = column.count != 0 && (!counts || (ns > 0 && grown >= 0));
    if (told) {
      const double mean = counts ? grown / static_cast<double>(ns) : column.sum / static_cast<double>(column.count);
      values.push_back({column.metric.name, (mean - column.metric.less) * column.metric.scale, window.number,
                        (window.number + 1) * window_ns_});
    }
    // Behind a window without values nobody knows when it grew.
    column.begun = column.count != 0 && next == window.number + 1;
    column.from = column.last;
    column.from_ns = column.last_ns;
    column.sum = 0;
    column.count = 0;
  }
  window.number = next;
  return values;
}

}  // namespace detail
TAKT_END_NAMESPACE
