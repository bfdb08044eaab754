// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_figures.hpp"

#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Step times of one rank after warm-up, from its rows.
struct RankSteps {
  std::map<std::uint32_t, Summary> periods;  // by series of that rank
  std::map<std::uint32_t, Summary> regions;  // by path: the time of each step that has it

  void add(const Snapshot& snapshot) {
    for (const Row& row : snapshot.rows) {
      if (row.warmup) { continue; }
      if (row.period_ns >= 0) { periods[row.series].add(static_cast<std::uint64_t>(row.period_ns)); }
      regions[snapshot.series[row.series].path].add(static_cast<std::uint64_t>(row.host_ns));  // no column of its own
      for (const Cell& cell : row.cells) {
        if (cell.path != Cell::kOther) { regions[cell.path].add(static_cast<std::uint64_t>(cell.host_ns)); }
      }
    }
  }
};

/// A time of 0 ns, which is shorter than the clock can tell, counts as 1 ns: 0 has no logarithm.
constexpr double kLeastNs = 1;

/// A percentile of what was measured; 0 where that is too little. A bucket of the histogram counts as evenly filled.
/// What that leaves open grows with the share that is in the bucket, and is the resolution.
detail::RunFigure percentile_of(const Summary& summary, double q) {
  detail::RunFigure figure;
  if (summary.measured_n() == 0 || !has_percentile(summary, q)) { return figure; }
  const auto n = static_cast<double>(summary.histogram().total());
  double before = 0;
  summary.histogram().each([&](unsigned bucket, std::uint64_t count) {
    const auto here = static_cast<double>(count);
    if (figure.value == 0 && before + here >= q * n) {
      const auto low = static_cast<double>(Histogram::lowest_ns(bucket));
      const double width = static_cast<double>(Histogram::lowest_ns(bucket + 1)) - low;
      const double value = low + width * (q * n - before) / here;
      figure.value = std::max(
          std::clamp(value, static_cast<double>(summary.min_ns()), static_cast<double>(summary.max_ns())), kLeastNs);
      figure.resolution = width / figure.value / std::sqrt(12.0) * here / n;
    }
    before += here;
  });
  return figure;
}
detail::RunFigure mean_of(const Summary& summary) {
  return {summary.measured_n() != 0 ? std::max(summary.mean_ns(), kLeastNs) : 0};
}

/// What paths that read the same have done together.
struct NamedRegion {
  Summary host;
  Summary device;
  std::uint64_t skipped = 0;
  std::size_t paths = 0;

  void add(const PathStats& path) {
    host.merge(path.host);
    device.merge(path.device);
    skipped += path.skipped;
    ++paths;
  }
};

void set_figures(const Summary& summary, double steps, detail::RunRegion& region) {
  region.mean = mean_of(summary);
  region.p25 = percentile_of(summary, 0.25);
  region.p50 = percentile_of(summary, 0.5);
  region.p95 = percentile_of(summary, 0.95);
  region.p99 = percentile_of(summary, 0.99);
  region.times_a_step = steps > 0 ? static_cast<double>(summary.measured_n()) / steps : 0;
}

detail::RunRegion region_of(const NamedRegion& path, double steps) {
  detail::RunRegion region;
  region.paths = path.paths;
  set_figures(path.host, steps, region);
  region.device_mean = mean_of(path.device);
  region.calls_a_step = steps > 0 ? static_cast<double>(path.host.n() + path.skipped) / steps : 0;
  return region;
}

std::map<std::string, std::string> facts_of(const RunReading& run) {
  std::map<std::string, std::string> facts;
  std::set<std::string> hosts;
  std::set<std::string> versions;
  for (const Rank& rank : run.ranks) {
    hosts.insert(rank.snapshot.run.host);
    const std::string& version = rank.snapshot.run.takt_version;
    versions.insert(version.empty() ? "not known" : version);
  }
  facts["machine"] = detail::join(hosts, " ");
  facts["Takt's version"] = detail::join(versions, " ");
  facts["clock"] = run.sum.clock.name;
  for (const DeviceInfo& each : run.sum.devices) { facts["device " + each.name] = "used"; }
  for (const auto& [key, value] : run.sum.params) { facts["parameter " + key] = value; }
  for (const auto& [key, value] : run.sum.tags) { facts["tag " + key] = value; }
  return facts;
}

/// Copies of a folder are one run: they have its id, which a user may give again, and its beginning.
std::string identity_of(const RunReading& run) {
  if (!run.sum.run.id.empty()) { return detail::format("{} {}", run.sum.run.id, run.sum.run.start_unix_ns); }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(run.folder, error);
  return error ? run.folder : path.string();
}

void add_step(const RunReading& run, detail::ComparedRun& compared) {
  const Throughput& throughput = run.throughput;
  if (run.step_path == RunReading::kNoSteps || throughput.steps == 0) { return; }
  compared.step_path = run.sum.path_name(run.step_path);
  const auto steps = static_cast<double>(throughput.steps);
  compared.step.mean.value = static_cast<double>(throughput.period_ns) / steps;
  compared.step.calls_a_step = compared.step.times_a_step = 1;
  compared.items_per_s = throughput.items > 0 ? throughput.items_per_s : 0;
  compared.items_a_step = static_cast<double>(throughput.items) / steps;
}

/// Percentiles of the step period: the largest of all ranks, as ranks wait for each other.
void add_slower_steps(const RankSteps& steps, const Snapshot& rank, const std::string& step_path,
                      detail::RunRegion& step) {
  Summary all;
  for (const auto& [series, periods] : steps.periods) {
    if (series >= rank.series.size() || rank.path_name(rank.series[series].path) != step_path) { continue; }
    all.merge(periods);
  }
  const auto slower = [](const detail::RunFigure& a, const detail::RunFigure& b) { return a.value < b.value; };
  step.p25 = std::max(step.p25, percentile_of(all, 0.25), slower);
  step.p50 = std::max(step.p50, percentile_of(all, 0.5), slower);
  step.p95 = std::max(step.p95, percentile_of(all, 0.95), slower);
  step.p99 = std::max(step.p99, percentile_of(all, 0.99), slower);
}

/// Times in a step of all ranks together, by the name of the region. Not of regions of which every() leaves calls out:
/// a step then has the time of the others alone.
std::map<std::string, Summary> regions_of_steps(const RunReading& run, const std::map<std::string, RankSteps>& ranks) {
  std::map<std::string, Summary> regions;
  std::set<std::string> with_skipped;
  for (const Rank& rank : run.ranks) {
    const auto found = ranks.find(rank.folder.path());
    if (found == ranks.end()) { continue; }
    for (const auto& [path, times] : found->second.regions) {
      if (path >= rank.snapshot.paths.size()) { continue; }
      const std::string name = rank.snapshot.path_name(path);
      if (rank.snapshot.paths[path].skipped != 0) { with_skipped.insert(name); }
      regions[name].merge(times);
    }
  }
  for (const std::string& name : with_skipped) { regions.erase(name); }
  return regions;
}

detail::ComparedRun figures_of_run(const RunReading& run) {
  detail::ComparedRun compared;
  compared.name = std::filesystem::path(run.folder).filename().string();
  compared.identity = identity_of(run);
  compared.start_unix_ns = run.sum.run.start_unix_ns;
  compared.ranks = run.ranks.size();
  compared.world_size = run.world_size;
  compared.state = state_word(run.state);
  if (run.sum.process.waited_ns != ProcessTimes::kUnknown && run.sum.wall_ns > 0) {
    compared.waited = static_cast<double>(run.sum.process.waited_ns) / static_cast<double>(run.sum.wall_ns);
  }
  compared.facts = facts_of(run);
  for (const Loss& each : run.sum.losses) { compared.losses[each.what] += each.count; }
  add_step(run, compared);
  const double steps = static_cast<double>(run.steps) * static_cast<double>(run.ranks.size());
  std::map<std::string, NamedRegion> regions;
  for (std::uint32_t path = 0; path < run.sum.paths.size(); ++path) {
    regions[run.sum.path_name(path)].add(run.sum.paths[path]);
  }
  for (const auto& [path, region] : regions) { compared.regions[path] = region_of(region, steps); }
  return compared;
}

}  // namespace

detail::ComparedRun compared_run(const RunFolder& run, std::vector<std::string>& remarks, const RunTaker& also) {
  std::map<std::string, RankSteps> ranks;  // by folder
  const RunReading reading = read_run(run, [&](const RankFolder& folder, const Snapshot& snapshot) {
    ranks[folder.path()].add(snapshot);
    if (also) { also(folder, snapshot); }
  });
  remarks.insert(remarks.end(), reading.not_read.begin(), reading.not_read.end());
  if (!reading.readable()) {
    throw Error(detail::printable(run.folder) + " has nothing that could be compared; takt check says why");
  }
  detail::ComparedRun compared = figures_of_run(reading);
  const double steps = static_cast<double>(reading.steps) * static_cast<double>(reading.ranks.size());
  for (const auto& [name, times] : regions_of_steps(reading, ranks)) {
    detail::RunRegion& region = compared.regions[name];
    region.of_steps = true;
    set_figures(times, steps, region);
  }
  for (const Rank& rank : reading.ranks) {
    add_slower_steps(ranks[rank.folder.path()], rank.snapshot, compared.step_path, compared.step);
  }
  return compared;
}

}  // namespace cli
TAKT_END_NAMESPACE
