// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/metric_points.hpp"

#include <takt/snapshot.hpp>

#include "base/encoding.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "trackers/system_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

double seconds(double ns) { return ns / 1e9; }
double seconds(std::uint64_t ns) { return seconds(static_cast<double>(ns)); }

std::uint64_t natural(std::int64_t ns) { return ns < 0 ? 0 : static_cast<std::uint64_t>(ns); }

std::int64_t timestamp_ms(const Snapshot& snapshot, std::int64_t since_start_ns) {
  return wrapped_sum(snapshot.run.start_unix_ns, since_start_ns) / kMillisecondNs;
}

/// Returns "loss" unchanged, but prefixes a user's "time/x", which would mix with Takt's own names.
std::string name_of_user(const std::string& name) {
  const std::string first = name.substr(0, name.find('/'));
  const bool ours =
      first == "time" || first == "gpu" || first == "exposed" || first == "throughput" || first == "total";
  return ours ? "user/" + name : name;
}

std::string path_name(const Snapshot& snapshot, std::uint32_t path) {
  return path < snapshot.paths.size() ? snapshot.path_name(path) : std::string("other");
}

}  // namespace

void MetricPoints::take(const Snapshot& snapshot, std::vector<MetricPoint>& points) {
  out_ = &points;
  if (snapshot.finished && !totals_made_) { before_end_ = made_[static_cast<std::size_t>(MetricPoint::Source::row)]; }
  for (const Row& row : snapshot.rows) {
    if (rows_.is_new(row.sequence)) { add(snapshot, row); }
  }
  for (const Metric& metric : snapshot.metrics) {
    if (metrics_.is_new(metric.sequence)) { add_metric(metric); }
  }
  for (const Sample& sample : snapshot.samples) {
    if (samples_.is_new(sample.sequence)) { add_sample(snapshot, sample); }
  }
  if (snapshot.finished && !totals_made_) {
    totals_made_ = true;
    for (std::uint32_t series = 0; series < windows_.size(); ++series) {
      close_last(snapshot, series, windows_[series]);
    }
    add_totals(snapshot);
  }
  out_ = nullptr;
}

void MetricPoints::take_job(const Snapshot& snapshot, std::vector<MetricPoint>& points) {
  out_ = &points;
  made_[static_cast<std::size_t>(MetricPoint::Source::job)] = 0;
  const When when = {timestamp_ms(snapshot, snapshot.wall_ns), last_step_, MetricPoint::Source::job};
  for (const JobMetrics& each : job_metrics(*snapshot.job)) {
    const std::string stem = safe_stem(each.stem);
    for (const auto& [leaf, value] : each.values) { put(key_of(stem + leaf), value, when); }
  }
  out_ = nullptr;
}

void MetricPoints::begin_at(std::uint64_t row, std::uint64_t metric, std::uint64_t sample) noexcept {
  rows_ = {row, row, true, false};
  metrics_ = {metric, metric, true, false};
  samples_ = {sample, sample, true, false};
}

bool MetricPoints::Seen::is_new(std::uint64_t number) noexcept {
  if (number < next) { return false; }
  if (!std::exchange(started, true)) {
    first = number;
  } else if (number != next) {
    has_gap = true;
  }
  next = number + 1;
  return true;
}

bool MetricPoints::has_gap(MetricPoint::Source source) const noexcept {
  return (source == MetricPoint::Source::row && rows_.has_gap) ||
         (source == MetricPoint::Source::metric && metrics_.has_gap) ||
         (source == MetricPoint::Source::sample && samples_.has_gap);
}

void MetricPoints::add(const Snapshot& snapshot, const Row& row) {
  if (row.series >= snapshot.series.size()) { return; }
  if (row.series >= windows_.size()) { windows_.resize(row.series + 1); }
  Window& window = windows_[row.series];
  if (window.steps++ == 0) { window.begin_ns = row.begin_ns; }
  window.end_ns = row.begin_ns + row.host_ns;
  window.step = row.step;
  last_step_ = std::max(last_step_, row.step);
  if (row.period_ns) {
    window.items = bounded_sum(window.items, natural(row.items));
    window.period_ns = bounded_sum(window.period_ns, natural(*row.period_ns));
    ++window.periods;
  }
  const std::uint32_t batch = snapshot.series[row.series].path;
  window.columns[batch].host.add(natural(row.host_ns));
  for (const Cell& cell : row.cells) {
    if (cell.path == batch) { continue; }
    Column& column = window.columns[cell.path];
    column.host.add(natural(cell.host_ns));
    if (cell.device_ns != Cell::kAbsent) { column.device.add(natural(cell.device_ns)); }
  }
  const Exposed exposed = Exposed::of(snapshot, row);
  if (exposed.comm_ns) { window.exposed_comm.add(natural(*exposed.comm_ns)); }
  if (exposed.io_ns) { window.exposed_io.add(natural(*exposed.io_ns)); }
  if (every_step_ || window.end_ns - window.begin_ns >= window_ns_) { close(snapshot, row.series, window); }
}

void MetricPoints::add_metric(const Metric& metric) {
  if (std::isnan(metric.value) && !keeps_nans_) {
    ++nans_;
    return;
  }
  put(key_of_user(metric.name), metric.value,
      {metric.time_unix_ns / kMillisecondNs, metric.step, MetricPoint::Source::metric});
}

void MetricPoints::add_sample(const Snapshot& snapshot, const Sample& sample) {
  if (!system_.has_value()) { return; }
  for (const SystemMetrics::Value& each : system_->add(snapshot, sample)) {
    put(key_of(each.name), each.value, {timestamp_ms(snapshot, each.end_ns), each.window, MetricPoint::Source::sample});
  }
}

void MetricPoints::close(const Snapshot& snapshot, std::uint32_t series, Window& window) {
  if (window.steps == 0) { return; }
  const When when = {timestamp_ms(snapshot, window.end_ns), window.step, MetricPoint::Source::row};
  add_columns(snapshot, series, window, when);
  // The first series is the only one in most runs and needs no name.
  const std::string of = series == 0 ? "" : "/" + series_name(snapshot, series);
  add_exposed(series, of, window, when, snapshot.series[series].path);
  add_rate("throughput" + of, static_cast<double>(window.items), static_cast<double>(window.periods),
           static_cast<double>(window.period_ns), when);
  window = Window();
  window.follows = true;
}

/// Closes a series' last window, which the end of the run cuts short. Skips it if it is shorter than half a window,
/// because figures of a step or two would look like an event among those of whole windows.
void MetricPoints::close_last(const Snapshot& snapshot, std::uint32_t series, Window& window) {
  const bool is_short = window.end_ns - window.begin_ns < window_ns_ / 2;
  if (set_ == MetricSet::few && !every_step_ && window.follows && is_short) { return; }
  close(snapshot, series, window);
}

void MetricPoints::add_columns(const Snapshot& snapshot, std::uint32_t series, const Window& window, const When& when) {
  const std::uint32_t batch = snapshot.series[series].path;
  const std::uint64_t batch_ns = window.columns.at(batch).host.total_ns();
  for (const auto& [path, column] : window.columns) {
    const bool on_device = column.device.n() != 0;
    const Leaves& host = leaves(snapshot, series, path, false);
    if (set_ == MetricSet::few && !every_step_) {
      add_few(host, column, path == batch ? 0 : batch_ns, on_device ? &leaves(snapshot, series, path, true) : nullptr,
              when);
      continue;
    }
    add_summary(host, column.host, when);
    if (on_device) { add_summary(leaves(snapshot, series, path, true), column.device, when); }
  }
}

/// Adds up to three metrics of a region: mean, share of `of_ns` if it is not 0, and p95. A region timed on a stream
/// gets its mean there instead of p95, because its host times say little.
void MetricPoints::add_few(const Leaves& leaves, const Column& column, std::uint64_t of_ns, const Leaves* device,
                           const When& when) {
  put(leaves[kMean], seconds(column.host.mean_ns()), when);
  if (of_ns != 0) {
    put(leaves[kShare], static_cast<double>(column.host.total_ns()) / static_cast<double>(of_ns), when);
  }
  if (device != nullptr) {
    put((*device)[kMean], seconds(column.device.mean_ns()), when);
  } else if (has_percentile(column.host, 0.95)) {
    put(leaves[kP95], seconds(column.host.percentile_ns(0.95)), when);
  }
}

/// Adds the totals of the whole run. Warm-up is excluded from all but `total_s` and `count`.
void MetricPoints::add_totals(const Snapshot& snapshot) {
  const When when = {timestamp_ms(snapshot, snapshot.wall_ns), last_step_, MetricPoint::Source::total};
  add_totals_of_paths(snapshot, when);
  for (std::uint32_t series = 0; series < snapshot.series.size(); ++series) {
    const Throughput& of = snapshot.series[series].throughput;
    const std::string stem = series == 0 ? "total/throughput" : "total/throughput/" + series_name(snapshot, series);
    add_rate(stem, static_cast<double>(of.items), static_cast<double>(of.steps), static_cast<double>(of.period_ns),
             when);
  }
  if (set_ == MetricSet::few) { return; }
  const Exposed exposed = Exposed::of(snapshot);
  if (exposed.comm_ns) { put(key_of("total/exposed/comm/total_s"), seconds(natural(*exposed.comm_ns)), when); }
  if (exposed.io_ns) { put(key_of("total/exposed/io/total_s"), seconds(natural(*exposed.io_ns)), when); }
  put(key_of("total/wall_s"), seconds(natural(snapshot.wall_ns)), when);
  put(key_of("total/uncovered_s"), seconds(natural(snapshot.uncovered_ns)), when);
  put(key_of("total/overhead_s"), seconds(natural(snapshot.overhead_ns)), when);
}

/// Adds totals per path. With MetricSet::few only a run without steps has them, as it has no windows: a chart of one
/// point is worse than a table. If the run died, the time in an open region is included in its total.
void MetricPoints::add_totals_of_paths(const Snapshot& snapshot, const When& when) {
  const bool few = set_ == MetricSet::few;
  if (few && !snapshot.series.empty()) { return; }
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& stats = snapshot.paths[path];
    const std::string name = snapshot.path_name(path);
    const std::uint64_t so_far_ns = snapshot.time_so_far_ns(path);
    if (stats.host.n() != 0 || so_far_ns != 0) {
      const Leaves made = make_leaves("total/time/" + name);
      if (!few) {
        add_measured(made, stats.host, when);
        put(made[kCount], static_cast<double>(stats.host.n()), when);
      } else if (stats.host.measured_n() != 0) {
        put(made[kMean], seconds(stats.host.mean_ns()), when);
      }
      put(made[kTotal], seconds(so_far_ns), when);
    }
    if (stats.device.n() == 0) { continue; }
    const Leaves made = make_leaves("total/gpu/" + name);
    if (few) {
      put(made[kTotal], seconds(stats.device.total_ns()), when);
    } else {
      add_summary(made, stats.device, when);
    }
  }
}

void MetricPoints::add_exposed(std::uint32_t series, const std::string& of, const Window& window, const When& when,
                               std::uint32_t batch) {
  for (const bool io : {false, true}) {
    const Summary& summary = io ? window.exposed_io : window.exposed_comm;
    if (summary.n() == 0) { continue; }
    auto found = exposed_leaves_.find({series, io});
    if (found == exposed_leaves_.end()) {
      const Leaves made = make_leaves("exposed" + of + (io ? "/io" : "/comm"));
      found = exposed_leaves_.emplace(std::make_pair(series, io), made).first;
    }
    if (set_ == MetricSet::full || every_step_) {
      add_summary(found->second, summary, when);
      continue;
    }
    put(found->second[kMean], seconds(summary.mean_ns()), when);
    const std::uint64_t batch_ns = window.columns.at(batch).host.total_ns();
    if (batch_ns != 0) {
      put(found->second[kShare], static_cast<double>(summary.total_ns()) / static_cast<double>(batch_ns), when);
    }
  }
}

void MetricPoints::add_rate(const std::string& stem, double items, double steps, double period_ns, const When& when) {
  if (period_ns <= 0) { return; }
  if (items > 0) { put(key_of(stem + "/items_per_s"), items / seconds(period_ns), when); }
  put(key_of(stem + "/steps_per_s"), steps / seconds(period_ns), when);
}

void MetricPoints::add_summary(const Leaves& leaves, const Summary& summary, const When& when) {
  if (every_step_ && when.source == MetricPoint::Source::row) {
    put(leaves[kStep], seconds(summary.total_ns()), when);
    return;
  }
  add_measured(leaves, summary, when);
  put(leaves[kTotal], seconds(summary.total_ns()), when);
  put(leaves[kCount], static_cast<double>(summary.n()), when);
}

/// Adds the metrics that exclude warm-up.
void MetricPoints::add_measured(const Leaves& leaves, const Summary& summary, const When& when) {
  if (summary.measured_n() == 0) { return; }
  put(leaves[kMean], seconds(summary.mean_ns()), when);
  put(leaves[kP50], seconds(summary.percentile_ns(0.5)), when);
  if (has_percentile(summary, 0.95)) { put(leaves[kP95], seconds(summary.percentile_ns(0.95)), when); }
  put(leaves[kMax], seconds(summary.max_ns()), when);
}

void MetricPoints::put(std::uint32_t key, double value, const When& when) {
  const std::uint64_t index =
      has_gap(when.source) ? MetricPoint::kNoIndex : made_[static_cast<std::size_t>(when.source)]++;
  out_->push_back({value, when.timestamp_ms, when.step, index, key, when.source});
}

/// Returns "Epoch/Batch". A further series of the same Batch path is "thread-3/Epoch/Batch", with its own step numbers.
std::string MetricPoints::series_name(const Snapshot& snapshot, std::uint32_t series) const {
  const Series& one = snapshot.series[series];
  const bool first = std::none_of(snapshot.series.begin(), snapshot.series.begin() + series,
                                  [&](const Series& other) { return other.path == one.path; });
  const std::string name = path_name(snapshot, one.path);
  return first ? name : "thread-" + std::to_string(one.thread) + "/" + name;
}

const MetricPoints::Leaves& MetricPoints::leaves(const Snapshot& snapshot, std::uint32_t series, std::uint32_t path,
                                                 bool device) {
  const std::pair<std::uint64_t, bool> place((std::uint64_t{series} << 32U) | path, device);
  const auto found = leaves_.find(place);
  if (found != leaves_.end()) { return found->second; }
  const std::string whole = series_name(snapshot, series);
  const std::string batch = path_name(snapshot, snapshot.series[series].path);
  std::string stem = (device ? "gpu/" : "time/") + whole.substr(0, whole.size() - batch.size());
  // Regions beyond a row's columns belong to its Batch.
  stem += path < snapshot.paths.size() ? path_name(snapshot, path) : batch + "/other";
  return leaves_.emplace(place, make_leaves(stem)).first->second;
}

MetricPoints::Leaves MetricPoints::make_leaves(const std::string& stem) {
  static const char* const kNames[kLeaves] = {"/mean_s",  "/p50_s", "/p95_s",  "/max_s",
                                              "/total_s", "/count", "/step_s", "/share"};
  Leaves leaves;
  const std::string safe = safe_stem(stem);
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) { leaves[leaf] = key_of(safe + kNames[leaf]); }
  return leaves;
}

/// Truncates before the leaf is added: columns differ in the end of a long name.
std::string MetricPoints::safe_stem(const std::string& stem) {
  std::string safe = names_.stem(stem, 16);
  if (safe != stem) { renamed_.emplace_back(stem, safe); }
  return safe;
}

std::uint32_t MetricPoints::key_of(const std::string& name) {
  const auto [place, is_new] = key_numbers_.emplace(name, static_cast<std::uint32_t>(keys_.size()));
  if (is_new) { keys_.push_back(names_.of(name)); }
  return place->second;
}

std::uint32_t MetricPoints::key_of_user(const std::string& name) {
  const std::size_t known = keys_.size();
  const std::uint32_t key = key_of(name_of_user(name));
  if (key == known && keys_[key] != name) { renamed_.emplace_back(name, keys_[key]); }
  return key;
}

void report_renamed(const std::string& cause, const std::string& takes, const MetricPoints::Renamed& renamed,
                    int number) {
  constexpr int kMaxLines = 4;
  std::string line = takes + ", and Takt reserves some. Renamed: ";
  for (std::size_t at = 0; at < renamed.size(); ++at) {
    line += (at == 0 ? "\"" : ", \"") + renamed[at].first + "\" to \"" + renamed[at].second + "\"";
  }
  report_error(cause + std::to_string(std::min(number, kMaxLines)), line);
}

}  // namespace detail
TAKT_END_NAMESPACE
