// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_figures.hpp"

#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "compare/step_scatter.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// What the steps of one rank leave open, by path and by series of that rank.
struct RankScatter {
  std::map<std::uint32_t, detail::StepScatter> paths;
  std::map<std::uint32_t, detail::StepScatter> series;

  void add(const Snapshot& snapshot) {
    for (const Row& row : snapshot.rows) {
      if (row.warmup) { continue; }
      paths[snapshot.series[row.series].path].add(static_cast<double>(row.host_ns), 1);  // no column of its own
      if (row.period_ns >= 0) { series[row.series].add(static_cast<double>(row.period_ns), 1); }
      for (const Cell& cell : row.cells) {
        if (cell.path != Cell::kOther) { paths[cell.path].add(static_cast<double>(cell.host_ns), cell.calls); }
      }
    }
  }
};

/// Ranks wait for each other, so that their scatters do not average out: the largest is that of the run.
struct RunScatter {
  std::map<std::string, double> paths;  // by name
  double step = 0;

  void add(const RankScatter& rank, const Snapshot& snapshot, const std::string& step_path) {
    for (const auto& [path, scatter] : rank.paths) {
      if (path >= snapshot.paths.size()) { continue; }
      double& most = paths[snapshot.path_name(path)];
      most = std::max(most, scatter.standard_error());
    }
    for (const auto& [series, scatter] : rank.series) {
      if (series >= snapshot.series.size()) { continue; }
      if (snapshot.path_name(snapshot.series[series].path) == step_path) {
        step = std::max(step, scatter.standard_error());
      }
    }
  }
};

/// A time of 0 ns, which is shorter than the clock can tell, counts as 1 ns: 0 has no logarithm.
constexpr double kLeastNs = 1;

/// 0: too few calls tell it.
double percentile_of(const Summary& summary, double q) {
  return summary.measured_n() != 0 && has_percentile(summary, q)
             ? std::max(static_cast<double>(summary.percentile_ns(q)), kLeastNs)
             : 0;
}
double mean_of_calls(const Summary& summary) {
  return summary.measured_n() != 0 ? std::max(summary.mean_ns(), kLeastNs) : 0;
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

detail::RunRegion region_of(const NamedRegion& path, double steps) {
  detail::RunRegion region;
  region.paths = path.paths;
  region.mean.value = mean_of_calls(path.host);
  region.p50 = percentile_of(path.host, 0.5);
  region.p95 = percentile_of(path.host, 0.95);
  region.p99 = percentile_of(path.host, 0.99);
  region.device_mean = mean_of_calls(path.device);
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
  compared.step.calls_a_step = 1;
  compared.items_per_s = throughput.items > 0 ? throughput.items_per_s : 0;
  compared.items_a_step = static_cast<double>(throughput.items) / steps;
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
  std::map<std::string, RankScatter> ranks;  // by folder
  const RunReading reading = read_run(run, [&](const RankFolder& folder, const Snapshot& snapshot) {
    ranks[folder.path()].add(snapshot);
    if (also) { also(folder, snapshot); }
  });
  remarks.insert(remarks.end(), reading.not_read.begin(), reading.not_read.end());
  if (!reading.readable()) {
    throw Error(detail::printable(run.folder) + " has nothing that could be compared; takt check says why");
  }
  detail::ComparedRun compared = figures_of_run(reading);
  RunScatter scatter;
  const bool has_steps = reading.step_path != RunReading::kNoSteps;
  const std::string step_path = has_steps ? reading.sum.path_name(reading.step_path) : "";
  for (const Rank& rank : reading.ranks) { scatter.add(ranks[rank.folder.path()], rank.snapshot, step_path); }
  compared.step.mean.within = scatter.step;
  for (const auto& [path, within] : scatter.paths) { compared.regions[path].mean.within = within; }
  return compared;
}

}  // namespace cli
TAKT_END_NAMESPACE
