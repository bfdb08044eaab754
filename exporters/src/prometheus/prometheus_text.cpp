// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "prometheus/prometheus_text.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Upper bounds of the buckets of steps, in ns: 1, 2 and 5 of each decade from 100 us to 1 000 s.
constexpr std::size_t kBounds = 22;
constexpr std::uint64_t bound_ns(std::size_t index) {
  std::uint64_t decade = 100'000;
  for (; index >= 3; index -= 3) { decade *= 10; }
  return decade * (index == 0 ? 1 : index == 1 ? 2 : 5);
}

constexpr Kind kKinds[] = {Kind::compute, Kind::comm, Kind::io, Kind::wait, Kind::other};

// Besides the buckets: +Inf, sum and count; three states; ten families of one series; the kinds.
static_assert(kBounds + 3 + 3 + 10 + std::size(kKinds) + 2 * kMaxPrometheusRegions + kMaxPrometheusLosses <=
              kMaxPrometheusSeries);

constexpr std::size_t kLongestTag = 200;  // bytes of the value
constexpr std::size_t kLongestTagName = 64;

double prometheus_seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }
double prometheus_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

/// Marks paths that only contain others: Epochs, Batches and all that is around a Batch.
std::vector<bool> containers(const Snapshot& snapshot) {
  std::vector<bool> marked(snapshot.paths.size());
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const std::string& name = snapshot.paths[path].name;
    if (name == Epoch.name()) { marked[path] = true; }
    if (name != Batch.name()) { continue; }
    for (std::uint32_t at = path; at != kNoIndex; at = snapshot.paths[at].parent) { marked[at] = true; }
  }
  return marked;
}

}  // namespace

std::string prometheus_label(std::string_view value) {
  std::string out;
  for (const char each : valid_utf8(value)) {
    if (each == '\\' || each == '"') { out += '\\'; }
    out += each == '\n' ? std::string("\\n") : std::string(1, each);
  }
  return out;
}

std::string prometheus_number(double value) {
  if (std::isnan(value)) { return "NaN"; }
  if (std::isinf(value)) { return value > 0 ? "+Inf" : "-Inf"; }
  return format("{}", value);
}

std::map<std::string, std::string> prometheus_tags(const std::map<std::string, std::string>& tags) {
  std::map<std::string, std::string> labels;
  for (const auto& [name, value] : tags) {
    std::string label = "tag_";
    for (const char each : name.substr(0, kLongestTagName)) {
      const bool is_safe = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9');
      label += is_safe ? each : '_';
    }
    const std::string stem = label;
    for (std::uint32_t salt = 0; labels.count(label) != 0; ++salt) {
      label = format("{}_{:08x}", stem, short_hash(name, salt));
    }
    labels.emplace(std::move(label), value);
  }
  return labels;
}

/// Starts a family. `help` and `type` may never change: node_exporter drops the series of a second file, perhaps of
/// another version of Takt, if they differ.
void PrometheusText::family(const char* name, const char* type, const char* help) {
  name_ = name;
  text_ += format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void PrometheusText::sample(const std::string& labels, const std::string& value, const char* suffix) {
  text_ += format("{}{}{{{}{}}} {}\n", name_, suffix, labels_, labels, value);
  ++series_;
}

void PrometheusText::one(const char* name, const char* type, const char* help, double value) {
  family(name, type, help);
  sample("", prometheus_number(value));
}

void PrometheusText::see(const Row& row) {
  const std::int64_t end_ns = row.begin_ns + row.host_ns;
  if (has_step_ && end_ns < last_end_ns_) { return; }
  has_step_ = true;
  last_step_ = row.step;
  last_end_ns_ = end_ns;
}

std::string PrometheusText::take(const Snapshot& snapshot, std::int64_t now_ns) {
  for (const Row& row : snapshot.rows) {
    see(row);
    if (row.period_ns) { periods_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(*row.period_ns, 0))); }
  }
  for (const Row& row : snapshot.early) { see(row); }
  text_.clear();
  series_ = left_out_ = 0;
  add_labels(snapshot);
  add_state(snapshot, now_ns);
  add_steps(snapshot, now_ns);
  add_regions(snapshot);
  add_losses(snapshot);
  return std::exchange(text_, {});
}

void PrometheusText::add_labels(const Snapshot& snapshot) {
  labels_ = format("run=\"{}\",rank=\"{}\",host=\"{}\"", prometheus_label(snapshot.run.id), snapshot.run.rank,
                   prometheus_label(snapshot.run.host));
  std::size_t added = 0;
  for (const auto& [label, value] : prometheus_tags(snapshot.tags)) {
    if (++added > kMaxPrometheusTags) {
      ++left_out_;
      continue;
    }
    labels_ += format(",{}=\"{}\"", label, prometheus_label(std::string_view(value).substr(0, kLongestTag)));
  }
}

void PrometheusText::add_state(const Snapshot& snapshot, std::int64_t now_ns) {
  const char* const state = snapshot.failed ? "failed" : snapshot.finished ? "finished" : "running";
  family("takt_run_state", "gauge", "1 for the state that the run is in.");
  for (const char* const each : {"running", "finished", "failed"}) {
    sample(format(",state=\"{}\"", each), std::string_view(each) == state ? "1" : "0");
  }
  one("takt_start_timestamp_seconds", "gauge", "Start of the run, in seconds since 1970.",
      prometheus_seconds(snapshot.run.start_unix_ns));
  one("takt_update_timestamp_seconds", "gauge", "Time of these figures, in seconds since 1970.",
      prometheus_seconds(now_ns));
  if (snapshot.finished) {
    one("takt_expiry_timestamp_seconds", "gauge", "Time from which to ignore this ended run, in seconds since 1970.",
        prometheus_seconds(now_ns + kPrometheusExpiryNs));
  }
  one("takt_overhead_seconds", "gauge", "Estimated cost of Takt itself so far.",
      prometheus_seconds(snapshot.overhead_ns));
}

void PrometheusText::add_steps(const Snapshot& snapshot, std::int64_t now_ns) {
  std::set<std::uint32_t> batches;
  std::uint64_t steps = 0;
  for (const Series& series : snapshot.series) {
    if (series.path < snapshot.paths.size()) { batches.insert(series.path); }
    steps += series.steps;
  }
  Summary durations;
  std::uint64_t items = 0;
  for (const std::uint32_t path : batches) {
    durations.merge(snapshot.paths[path].host);
    items = bounded_sum(items, snapshot.paths[path].items);
  }
  std::uint64_t below[kBounds] = {};
  durations.histogram().each([&](unsigned bucket, std::uint64_t count) {
    for (std::size_t bound = 0; bound < kBounds; ++bound) {
      if (Histogram::middle_ns(bucket) <= bound_ns(bound)) { below[bound] += count; }
    }
  });
  const std::string count = std::to_string(durations.measured_n());
  family("takt_step_seconds", "histogram", "Durations of steps (Batch regions) after warm-up.");
  for (std::size_t bound = 0; bound < kBounds; ++bound) {
    sample(format(",le=\"{}\"", prometheus_number(prometheus_seconds(bound_ns(bound)))), std::to_string(below[bound]),
           "_bucket");
  }
  sample(",le=\"+Inf\"", count, "_bucket");
  sample("", prometheus_number(prometheus_seconds(durations.measured_total_ns())), "_sum");
  sample("", count, "_count");

  one("takt_steps_total", "counter", "Steps ended, warm-up included.", static_cast<double>(steps));
  one("takt_samples_total", "counter", "Samples (items of steps) processed.", static_cast<double>(items));
  if (periods_.total() != 0 || durations.measured_n() != 0) {
    one("takt_step_median_seconds", "gauge", "Median time from the end of a step to the end of the next.",
        prometheus_seconds(periods_.total() != 0 ? periods_.percentile_ns(0.5) : durations.percentile_ns(0.5)));
  }
  if (has_step_) {
    one("takt_last_step", "gauge", "Number of the step that ended last.", static_cast<double>(last_step_));
    one("takt_last_step_timestamp_seconds", "gauge", "End of the last step, in seconds since 1970.",
        prometheus_seconds(now_ns - (snapshot.wall_ns - last_end_ns_)));
  }
}

void PrometheusText::add_regions(const Snapshot& snapshot) {
  std::uint64_t by_kind[std::size(kKinds)] = {};
  for (const PathStats& path : snapshot.paths) {
    std::uint64_t& sum = by_kind[static_cast<std::size_t>(path.kind) % std::size(kKinds)];
    sum = bounded_sum(sum, path.self_ns);
  }
  family("takt_kind_seconds_total", "counter", "Host time in regions of a kind, without regions inside them.");
  for (const Kind kind : kKinds) {
    sample(format(",kind=\"{}\"", to_string(kind)),
           prometheus_number(prometheus_seconds(by_kind[static_cast<std::size_t>(kind)])));
  }

  const std::vector<bool> contains = containers(snapshot);
  std::vector<std::pair<std::string, double>> regions;  // labels and seconds
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& here = snapshot.paths[path];
    if (contains[path] || (here.parent != kNoIndex && !contains[here.parent])) { continue; }
    if (regions.size() == kMaxPrometheusRegions) {
      ++left_out_;
      continue;
    }
    regions.emplace_back(format(",region=\"{}\",kind=\"{}\"", prometheus_label(regions_.of(snapshot.path_name(path))),
                                to_string(here.kind)),
                         prometheus_seconds(here.host.total_ns()));
  }
  if (regions.empty()) { return; }
  family("takt_region_seconds_total", "counter", "Host time in the regions of a step, and outside of steps.");
  for (const auto& [labels, seconds] : regions) { sample(labels, prometheus_number(seconds)); }
  family("takt_region_share", "gauge", "Host time in a region as a share of the run so far.");
  const double wall_s = prometheus_seconds(snapshot.wall_ns);
  for (const auto& [labels, seconds] : regions) {
    sample(labels, prometheus_number(wall_s > 0 ? seconds / wall_s : 0));
  }
}

void PrometheusText::add_losses(const Snapshot& snapshot) {
  std::map<std::string, std::uint64_t> losses;
  for (const Loss& loss : snapshot.losses) {
    if (losses.count(loss.what) == 0 && losses.size() == kMaxPrometheusLosses) {
      ++left_out_;
      continue;
    }
    losses[loss.what] += loss.count;
  }
  if (!losses.empty()) {
    family("takt_losses_total", "counter", "Dropped data and misuse of the API.");
    for (const auto& [what, count] : losses) {
      sample(format(",what=\"{}\"", prometheus_label(what)), std::to_string(count));
    }
  }
  one("takt_left_out", "gauge", "Regions, tags and kinds of dropped data without series, because there are too many.",
      static_cast<double>(left_out_));
}

}  // namespace detail
TAKT_END_NAMESPACE
