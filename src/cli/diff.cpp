// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/comparison.hpp"
#include "cli/diff_document.hpp"
#include "cli/diff_page.hpp"
#include "cli/ls.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr int kRegression = 1;
constexpr int kInconclusive = 3;

/// Parses "2%" or "2 %" as a share.
/// \throws takt::Error for other texts.
double share_from(const std::string& text, const char* option) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string rest(end);
  rest.erase(std::remove(rest.begin(), rest.end(), ' '), rest.end());
  if (end == text.c_str() || rest != "%" || !std::isfinite(value) || value < 0 || value > 1000) {
    throw Error(
        detail::format("{} {} is not a percentage; write it as {} 2%", option, detail::printable(text), option));
  }
  return value / 100;
}

using RunNames = std::map<std::string, std::string>;  // directories, by the identity of the run

/// Reads the runs of one side, each once; a directory of runs adds all of them.
/// \param other the runs of the other side; this side's runs are added.
/// \param drawn receives the first rank of each run; nullptr: no page.
/// \throws takt::Error if a run is on both sides.
std::vector<detail::ComparedRun> read_side(const std::vector<std::string>& given, RunNames& other, DrawnRuns* drawn,
                                           bool is_new_side, std::vector<std::string>& warnings) {
  std::vector<detail::ComparedRun> runs;
  RunNames own;
  for (const std::string& each : given) {
    for (const RunDirectory& directory : all_runs(each, warnings)) {
      if (directory.ranks.empty()) {
        warnings.push_back(why_closed(directory.directory));
        continue;
      }
      for (RunOfSide& run : compared_runs(directory, warnings)) {
        if (const auto found = other.find(run.figures.identity); found != other.end()) {
          throw Error(
              detail::format("{} is on both sides: {} is the same run; a run can only be compared with other runs",
                             detail::printable(directory.directory), detail::printable(found->second)));
        }
        const auto [place, is_new] = own.emplace(run.figures.identity, directory.directory);
        if (!is_new) {
          warnings.push_back(detail::format("{} is the same run as {} and counts once",
                                            detail::printable(directory.directory), detail::printable(place->second)));
          continue;
        }
        if (drawn != nullptr) { drawn->add(run.figures.name, run.first, is_new_side); }
        runs.push_back(std::move(run.figures));
      }
    }
  }
  other.insert(own.begin(), own.end());
  return runs;
}

bool ends_with(const std::string& path, const std::string& end) {
  return path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

/// Returns the path of the one region with this path or ending.
/// \throws takt::Error if there is none, or more than one.
std::string region_path(const std::string& wanted, const std::set<std::string>& paths) {
  if (wanted == detail::kStepRegion || paths.count(wanted) != 0) { return wanted; }
  if (wanted == "step") { return detail::kStepRegion; }
  std::vector<std::string> found;
  std::string as_key;  // "conv1/relu" may be a key
  detail::append_key(as_key, wanted);
  if (paths.count(as_key) != 0) { return as_key; }
  for (const std::string& path : paths) {
    if (ends_with(path, "/" + wanted) || ends_with(path, "/" + as_key)) { found.push_back(path); }
  }
  if (found.size() == 1) { return found.front(); }
  const std::string shown = detail::fit(detail::printable(wanted), 80);
  if (found.size() > 1) {
    throw Error(detail::format("several regions match {}: {}; use the full path", shown,
                               detail::printable(detail::join(found, ", "))));
  }
  std::vector<std::string_view> known;  // paths, and their last keys
  for (const std::string_view path : paths) {
    known.push_back(path);
    known.push_back(path.substr(path.rfind('/') + 1));
  }
  const std::string nearest(detail::nearest(wanted, known.data(), known.size()));
  throw Error(detail::format("no region {}{}", shown,
                             nearest.empty() ? "" : "; did you mean " + detail::printable(nearest) + "?"));
}

/// REQUIRES: one of the words of --on, or an empty text.
detail::Statistic statistic_from(const std::string& word) {
  using detail::Statistic;
  for (const Statistic each : {Statistic::p50, Statistic::mean, Statistic::p95, Statistic::throughput}) {
    if (word == detail::statistic_word(each)) { return each; }
  }
  return Statistic::p25;
}

detail::ComparisonOptions gate_of(const DiffOptions& options, const std::vector<detail::ComparedRun>& base,
                                  const std::vector<detail::ComparedRun>& now) {
  detail::ComparisonOptions gate;
  gate.has_gate = !options.fail_on.empty();
  if (gate.has_gate) { gate.threshold = share_from(options.fail_on, "--fail-on"); }
  if (gate.has_gate && gate.threshold <= 0) {
    throw Error("--fail-on must be above 0 %: no number of runs can show a change of 0");
  }
  if (!options.noise.empty()) { gate.noise = share_from(options.noise, "--noise"); }
  gate.statistic = statistic_from(options.statistic);
  if (gate.statistic == detail::Statistic::throughput && !options.regions.empty()) {
    throw Error("--on throughput applies to the step; leave out --region, or use --on mean");
  }
  if (!gate.has_gate && !options.regions.empty()) { throw Error("--region needs --fail-on; give both"); }
  std::set<std::string> paths;
  for (const auto* side : {&base, &now}) {
    for (const detail::ComparedRun& run : *side) {
      for (const auto& [path, region] : run.regions) { paths.insert(path); }
    }
  }
  for (const std::string& each : options.regions) {
    const std::string path = region_path(each, paths);
    if (std::find(gate.regions.begin(), gate.regions.end(), path) == gate.regions.end()) {
      gate.regions.push_back(path);
    }
  }
  return gate;
}

int compare_sides(const std::vector<std::string>& base, const DiffOptions& options) {
  if (base.empty() || options.now.empty()) { throw Error("name the runs of both sides: takt diff BASE... -- NEW..."); }
  std::vector<std::string> warnings;
  RunNames seen;
  DrawnRuns drawn;
  DrawnRuns* const page = options.html.empty() ? nullptr : &drawn;
  std::vector<detail::ComparedRun> before = read_side(base, seen, page, false, warnings);
  std::vector<detail::ComparedRun> after = read_side(options.now, seen, page, true, warnings);
  report_warnings(warnings);
  const detail::ComparisonOptions gate = gate_of(options, before, after);
  const detail::Comparison comparison = compare_runs(std::move(before), std::move(after), gate);
  if (!comparison.obstacles.empty() && options.reason.empty()) {
    std::string why;
    for (const Finding& each : comparison.obstacles) { why += "\n  " + each.sentence; }
    throw Error("these runs cannot be compared:" + why + "\n  To compare them anyway, give a reason: --reason '...'");
  }
  const std::string text = options.json ? diff_json(comparison, options.reason)
                           : options.markdown
                               ? diff_markdown(comparison, options.reason)
                               : diff_text(comparison, options.reason, detail::page_on_stdout(options.drawn));
  detail::print(stdout, "{}", text);
  if (!options.html.empty()) { write_page_file(options.html, diff_page(comparison, options.reason, drawn)); }
  if (!comparison.has_gate || comparison.answer == detail::Answer::no_regression) { return 0; }
  return comparison.answer == detail::Answer::regression ? kRegression : kInconclusive;
}

}  // namespace

int diff(const std::vector<std::string>& base, const DiffOptions& options) {
  try {
    return compare_sides(base, options);
  } catch (const std::exception& error) {  // status 1 would mean a regression
    std::fprintf(stderr, "takt: %s\n", detail::printable_lines(failure_text(error)).c_str());
    return kUsage;
  }
}

namespace {

/// Step times of one rank after warm-up, from its rows.
struct RankSteps {
  std::map<std::uint32_t, Summary> periods;  // by series of that rank
  std::map<std::uint32_t, Summary> regions;  // by path: time of each step that has the path

  void add(const Snapshot& snapshot) {
    for (const Row& row : snapshot.rows) {
      if (row.warmup) { continue; }
      if (row.period_ns) { periods[row.series].add(static_cast<std::uint64_t>(*row.period_ns)); }
      regions[snapshot.series[row.series].path].add(static_cast<std::uint64_t>(row.host_ns));  // has no column
      for (const Cell& cell : row.cells) {
        if (cell.path != kNoIndex) { regions[cell.path].add(static_cast<std::uint64_t>(cell.host_ns)); }
      }
    }
  }
};

/// Minimum time: 0 ns, which is below the clock's resolution, counts as 1 ns, as 0 has no logarithm.
constexpr double kMinNs = 1;

/// Returns a percentile; 0 if there is too little data. A bucket of the histogram is taken as evenly filled. The
/// resolution grows with the bucket's share of the data.
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
          std::clamp(value, static_cast<double>(summary.min_ns()), static_cast<double>(summary.max_ns())), kMinNs);
      figure.resolution = width / figure.value / std::sqrt(12.0) * here / n;
    }
    before += here;
  });
  return figure;
}
detail::RunFigure mean_of(const Summary& summary) {
  return {summary.measured_n() != 0 ? std::max(summary.mean_ns(), kMinNs) : 0};
}

/// Sum of paths with equal names.
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
    versions.insert(version.empty() ? "unknown" : version);
  }
  facts["machine"] = detail::join(hosts, " ");
  facts["Takt's version"] = detail::join(versions, " ");
  facts["clock"] = run.sum.clock.name;
  for (const DeviceInfo& each : run.sum.devices) { facts["device " + each.name] = "used"; }
  for (const auto& [key, value] : run.sum.params) { facts["parameter " + key] = value; }
  for (const auto& [key, value] : run.sum.tags) { facts["tag " + key] = value; }
  return facts;
}

/// Returns an identity that copies of a directory share: the run's id, which may be reused, and its start.
std::string identity_of(const RunReading& run, const std::string& directory) {
  if (!run.sum.run.id.empty()) { return detail::format("{} {}", run.sum.run.id, run.sum.run.start_unix_ns); }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(directory, error);
  return error ? directory : path.string();
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

/// Sets percentiles of the step period to the maximum over ranks, as ranks wait for each other.
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

/// Returns the times in a step, of all ranks together, by name of the region. Excludes regions whose calls every()
/// skips: their steps lack the time of skipped calls.
std::map<std::string, Summary> regions_of_steps(const RunReading& run, const std::vector<RankSteps>& ranks) {
  std::map<std::string, Summary> regions;
  std::set<std::string> with_skipped;
  for (const Rank& rank : run.ranks) {
    for (const auto& [path, times] : ranks[rank.place].regions) {
      if (path >= rank.snapshot.paths.size()) { continue; }
      const std::string name = rank.snapshot.path_name(path);
      if (rank.snapshot.paths[path].skipped != 0) { with_skipped.insert(name); }
      regions[name].merge(times);
    }
  }
  for (const std::string& name : with_skipped) { regions.erase(name); }
  return regions;
}

detail::ComparedRun figures_of_run(const RunReading& run, const std::string& directory) {
  detail::ComparedRun compared;
  compared.name = std::filesystem::path(directory).filename().string();
  compared.identity = identity_of(run, directory);
  compared.start_unix_ns = run.sum.run.start_unix_ns;
  compared.ranks = run.ranks.size();
  compared.world_size = run.world_size;
  compared.state = state_word(run.state);
  if (run.sum.process.waited_ns && run.sum.wall_ns > 0) {
    compared.waited = static_cast<double>(*run.sum.process.waited_ns) / static_cast<double>(run.sum.wall_ns);
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

/// \param ranks by place.
detail::ComparedRun with_steps(const RunReading& run, const std::string& directory,
                               const std::vector<RankSteps>& ranks) {
  detail::ComparedRun compared = figures_of_run(run, directory);
  const double steps = static_cast<double>(run.steps) * static_cast<double>(run.ranks.size());
  for (const auto& [name, times] : regions_of_steps(run, ranks)) {
    detail::RunRegion& region = compared.regions[name];
    region.of_steps = true;
    set_figures(times, steps, region);
  }
  for (const Rank& rank : run.ranks) {
    add_slower_steps(ranks[rank.place], rank.snapshot, compared.step_path, compared.step);
  }
  return compared;
}

}  // namespace

std::vector<RunOfSide> compared_runs(const RunDirectory& directory, std::vector<std::string>& warnings) {
  RunReader reader(directory.ranks);
  std::vector<RankSteps> ranks(directory.ranks.size());  // by place
  std::vector<RunOfSide> runs;
  for (const RunProcesses& each : reader.runs()) {
    const RunReading run = read_run(reader, each, [&](const RunProcess& process) {
      return read_rank(process.directory, [&](const Snapshot& snapshot) { ranks[process.place].add(snapshot); });
    });
    if (run.readable()) { runs.push_back({with_steps(run, directory.directory, ranks), run.ranks.front().directory}); }
  }
  const std::vector<std::string> not_read = reader.not_read();
  warnings.insert(warnings.end(), not_read.begin(), not_read.end());
  if (runs.empty()) {
    throw Error(detail::printable(directory.directory) + " has no data to compare; run takt check for the reason");
  }
  return runs;
}

}  // namespace cli
TAKT_END_NAMESPACE
