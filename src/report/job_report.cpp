// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_report.hpp"

#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "report/console.hpp"
#include "report/notes.hpp"
#include "report/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// An interval in which series of a process ran side by side.
struct Stretch {
  std::uint64_t end_ns = 0;
  double covered_ns = 0;  // time in which any of them ran, including time between their periods
  double extents_ns = 0;  // sum of their extents
  double counted_ns = 0;  // sum of their periods

  /// Returns the time in which any of them counted. Excluded periods within a series reduce the time in proportion; for
  /// several series by their common share.
  double time_ns() const noexcept { return extents_ns > 0 ? covered_ns * (counted_ns / extents_ns) : 0; }
};

std::uint64_t last_end_of(const Throughput& each) noexcept {
  return std::max(each.last_ns, bounded_sum(each.first_ns, each.period_ns));
}

/// Returns the time in which any series counted: consecutive series add up, parallel ones do not.
/// \param all sorted by first_ns.
std::uint64_t time_of(const std::vector<const Throughput*>& all) {
  double sum_ns = 0;
  Stretch stretch;
  for (const Throughput* each : all) {
    const std::uint64_t end_ns = last_end_of(*each);
    if (each->first_ns >= stretch.end_ns) {
      sum_ns += stretch.time_ns();
      stretch = Stretch();
      stretch.end_ns = each->first_ns;
    }
    const double length = static_cast<double>(end_ns - each->first_ns);
    stretch.extents_ns += length;
    stretch.counted_ns += static_cast<double>(each->period_ns);
    if (end_ns > stretch.end_ns) { stretch.covered_ns += static_cast<double>(end_ns - stretch.end_ns); }
    stretch.end_ns = std::max(stretch.end_ns, end_ns);
  }
  return static_cast<std::uint64_t>(sum_ns + stretch.time_ns());
}

/// Sets the interval as if all errors had the same direction, because their dependence is unknown.
void set_interval(const std::vector<const Throughput*>& all, Throughput& sum) {
  double counted_ns = 0;
  double error = 0;  // of the logarithm of the rate, weighted by time
  for (const Throughput* each : all) {
    if (each->no_interval != NoInterval::none || each->items_per_s <= 0) {
      sum.no_interval = each->no_interval == NoInterval::none ? NoInterval::few_steps : each->no_interval;
      sum.stalls = each->stalls;
      return;
    }
    const auto ns = static_cast<double>(each->period_ns);
    counted_ns += ns;
    error += ns * std::log(each->items_high / each->items_per_s);
  }
  const double half = std::exp(error / counted_ns);
  sum.no_interval = NoInterval::none;
  sum.items_low = sum.items_per_s / half;
  sum.items_high = sum.items_per_s * half;
}

/// Combines the series of one process at one path.
Throughput together(std::vector<const Throughput*> all) {
  if (all.size() == 1) { return *all.front(); }
  std::sort(all.begin(), all.end(), [](const Throughput* a, const Throughput* b) { return a->first_ns < b->first_ns; });
  Throughput sum;
  sum.first_ns = all.front()->first_ns;
  for (const Throughput* each : all) {
    sum.steps += each->steps;
    sum.items = bounded_sum(sum.items, each->items);
    sum.excluded_steps += each->excluded_steps;
    sum.excluded_ns = bounded_sum(sum.excluded_ns, each->excluded_ns);
    sum.windows += each->windows;
    sum.last_ns = std::max(sum.last_ns, each->last_ns);
  }
  sum.period_ns = time_of(all);
  if (sum.period_ns == 0) { return sum; }
  const double seconds = static_cast<double>(sum.period_ns) * 1e-9;
  sum.items_per_s = static_cast<double>(sum.items) / seconds;
  sum.steps_per_s = static_cast<double>(sum.steps) / seconds;
  set_interval(all, sum);
  return sum;
}

/// Series of one process at one path.
struct OfProcess {
  std::vector<const Throughput*> series;
  const Series* longest = nullptr;

  void add(const Series& each) {
    series.push_back(&each.throughput);
    if (longest == nullptr || each.throughput.period_ns > longest->throughput.period_ns) { longest = &each; }
  }
};

/// Sets the rate of all from the time of the slowest; its relative interval carries over.
void rate(const Throughput& slowest, Throughput& all) {
  const double factor = slowest.items == 0 ? 0 : static_cast<double>(all.items) / static_cast<double>(slowest.items);
  all.items_per_s =
      slowest.period_ns == 0 ? 0 : static_cast<double>(all.items) * 1e9 / static_cast<double>(slowest.period_ns);
  all.items_low = slowest.items_low * factor;
  all.items_high = slowest.items_high * factor;
  // The slowest one's step rate has no interval.
  if (slowest.items == 0 && all.items != 0) { all.no_interval = NoInterval::few_steps; }
}

JobThroughput job_throughput(const Snapshot& sum, std::uint32_t path,
                             const std::map<std::uint32_t, OfProcess>& processes) {
  JobThroughput job;
  job.path = path;
  Throughput slowest;
  std::uint64_t items = 0;
  for (const auto& [process, of] : processes) {
    const Throughput here = together(of.series);
    items = bounded_sum(items, here.items);
    if (job.series == 0 || here.period_ns > slowest.period_ns) {
      slowest = here;
      job.slowest = of.longest->thread < sum.threads.size() ? sum.threads[of.longest->thread].name : "";
    }
    job.series += of.series.size();
  }
  job.throughput = slowest;
  job.throughput.items = items;
  rate(slowest, job.throughput);
  return job;
}

}  // namespace

std::vector<JobThroughput> job_throughputs(const Snapshot& sum) {
  std::vector<std::uint32_t> paths;  // in order of appearance
  std::map<std::uint32_t, std::map<std::uint32_t, OfProcess>> by_path;
  for (const Series& each : sum.series) {
    if (each.throughput.steps == 0) { continue; }
    auto& processes = by_path[each.path];
    if (processes.empty()) { paths.push_back(each.path); }
    processes[each.process].add(each);
  }
  std::vector<JobThroughput> jobs;
  jobs.reserve(paths.size());
  for (const std::uint32_t path : paths) { jobs.push_back(job_throughput(sum, path, by_path[path])); }
  return jobs;
}

namespace {

// Maximum numbers that are printed.
constexpr std::size_t kMaxStages = 16;
constexpr std::size_t kMaxFindingGroups = 8;

/// A region, or the run, and how its total is spread over ranks.
struct JobLine {
  std::string n;
  const RankSpread* spread;  ///< nullptr: unknown
  std::string share;
  std::uint64_t ranks;  ///< of the job
};

struct JobColumn {
  const char* name;
  unsigned priority;  ///< as in TextColumn
  std::string (*cell)(const JobLine& line);
};

std::string min_rank_of(const JobLine& line) { return detail::format("{}", line.spread->min.rank); }

constexpr unsigned kOnlyIfNamed = 9;
constexpr const char* kOnRanks = "on ranks";
constexpr JobColumn kJobTable[] = {
    {"n", 0, [](const JobLine& line) { return line.n; }},
    {"mean", 0, [](const JobLine& line) { return human_time(line.spread->mean_ns()); }},
    {"stdev", kOnlyIfNamed, [](const JobLine& line) { return human_time(line.spread->stdev_ns()); }},
    {"min", 3, [](const JobLine& line) { return human_ns(line.spread->min.ns); }},
    {"min rank", kOnlyIfNamed, min_rank_of},
    {"max", 0, [](const JobLine& line) { return human_ns(line.spread->max.ns); }},
    {"rank", 0, [](const JobLine& line) { return detail::format("{}", line.spread->max.rank); }},
    {"imbalance", 1, [](const JobLine& line) { return percent(line.spread->imbalance(), 1); }},
    {"share", 2, [](const JobLine& line) { return line.share; }},
    {kOnRanks, 1, [](const JobLine& line) { return detail::format("{} of {}", line.spread->ranks, line.ranks); }},
};

TextTable job_table_of(const JobReport& job, const TableForm& form, std::size_t width) {
  const auto ranks = job.record.wall.ranks;
  std::vector<const JobColumn*> chosen;
  for (const std::string& name : names_in(form.columns)) {
    for (const JobColumn& each : kJobTable) {
      if (each.name == name) { chosen.push_back(&each); }
    }
  }
  const bool usual = chosen.empty();
  const auto& paths = job.record.paths;
  const bool some_lack_paths =
      std::any_of(paths.begin(), paths.end(), [&](const auto& each) { return each.second.host_totals.ranks != ranks; });
  for (const JobColumn& each : kJobTable) {
    if (usual && each.priority != kOnlyIfNamed && (some_lack_paths || each.name != kOnRanks)) {
      chosen.push_back(&each);
    }
  }
  const auto cells_of = [&](const JobLine& line) {
    std::vector<std::string> cells;
    for (const JobColumn* each : chosen) {
      const bool known = line.spread != nullptr || std::string_view(each->name) == "n";
      cells.push_back(known ? each->cell(line) : "-");
    }
    return cells;
  };
  std::vector<TextTable::Line> lines = {{"run", 0, cells_of({"", &job.record.wall, "", ranks})}};
  for (const std::uint32_t index : paths_by_name(job.sum)) {
    const PathStats& path = job.sum.paths[index];
    const RankPath* const over_ranks = find_path(job.record, job.sum, index);
    JobLine line{human_count(over_ranks == nullptr ? path.host.n() : over_ranks->host.n()), nullptr, "", ranks};
    if (over_ranks != nullptr && over_ranks->host_totals.ranks != 0) {
      line.spread = &over_ranks->host_totals;
      line.share = percent(share_of_job(job.record, *over_ranks), 1);
    }
    lines.push_back({printable(path.name), path.depth, cells_of(line)});
  }
  std::vector<TextColumn> columns;
  columns.reserve(chosen.size());
  for (const JobColumn* each : chosen) { columns.push_back({each->name, usual ? each->priority : 0}); }
  return {columns, std::move(lines), width};
}

std::vector<std::string> verdict_lines(const RankComparison& comparison, std::size_t max) {
  std::vector<std::string> lines;
  const std::vector<Finding>& findings = comparison.findings;
  for (std::size_t at = 0; at < std::min(findings.size(), max); ++at) { lines.push_back(findings[at].sentence); }
  if (findings.size() > max) {
    lines.push_back(detail::format("findings on {} more groups of ranks: takt report", findings.size() - max));
  }
  return lines;
}

/// Returns the limitations of the findings.
std::vector<std::string> bounds_of(const JobReport& job) {
  const RankComparison& comparison = job.comparison;
  std::vector<std::string> lines;
  if (comparison.one_step_in > 1) {
    lines.push_back(detail::format("compared: about one step in {}, {} steps{}", human_count(comparison.one_step_in),
                                   human_count(comparison.steps),
                                   comparison.findings.empty() ? "" : "; the times above are from these"));
  }
  if (comparison.left_out != 0) {
    lines.push_back(detail::format("not compared: {} of {} ranks, which have no steps at the path of most ranks",
                                   human_count(comparison.left_out), human_count(job.record.wall.ranks)));
  }
  if (comparison.unexposed != 0) {
    lines.push_back(
        detail::format("in {} of {} steps not all ranks report stream waits (use a region of "
                       "CommWait): only host waits count there",
                       human_count(comparison.unexposed), human_count(comparison.steps)));
  }
  return lines;
}

std::vector<std::string> efficiency_line(const RankComparison& comparison) {
  const std::optional<JobEfficiency>& efficiency = comparison.efficiency;
  if (!efficiency) { return {}; }
  return {detail::format("parallel efficiency {}: load balance {}, communication efficiency {}, over {} steps",
                         percent(efficiency->parallel, 1), percent(efficiency->load_balance, 1),
                         percent(efficiency->communication, 1), human_count(comparison.steps))};
}

/// Returns the wait of each stage and the ideal.
std::vector<std::string> pipeline_line(const Pipeline& pipeline) {
  if (pipeline.stages.empty()) { return {}; }
  std::string waits;
  for (std::size_t at = 0; at < std::min(pipeline.stages.size(), kMaxStages); ++at) {
    const StageWait& each = pipeline.stages[at];
    waits += detail::format("{}{} (stage {})", at == 0 ? "" : ", ", percent(each.share, 1), each.stage);
  }
  if (pipeline.stages.size() > kMaxStages) { waits += ", ..."; }
  const std::string ideal =
      pipeline.micro_batches && pipeline.ideal
          ? detail::format("ideal is {}, with {} micro-batches", percent(*pipeline.ideal, 1), *pipeline.micro_batches)
          : "set the parameter micro_batches, the same on all ranks, to see the ideal";
  return {detail::format("pipeline of {} stages, which wait for {} of their steps; {}", pipeline.stages.size(), waits,
                         ideal)};
}

}  // namespace

std::vector<std::string> job_lines(const JobReport& job) {
  std::vector<std::string> lines;
  for (const auto& each :
       {efficiency_line(job.comparison), pipeline_line(job.comparison.pipeline), bounds_of(job), job.warnings}) {
    lines.insert(lines.end(), each.begin(), each.end());
  }
  return lines;
}

double share_of_job(const RankRecord& record, const RankPath& path) noexcept {
  const double whole = static_cast<double>(record.wall.max.ns) * static_cast<double>(record.wall.ranks);
  const double sum = path.host_totals.mean_ns() * static_cast<double>(path.host_totals.ranks);
  return whole > 0 ? sum / whole : 0;
}

std::vector<std::uint32_t> paths_by_name(const Snapshot& sum) {
  const std::size_t count = sum.paths.size();
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> firsts;  // by the parent's first path, and name
  std::vector<std::uint32_t> first_of(count);
  std::vector<std::vector<std::uint32_t>> children(count + 1);  // the last entry is for the top level
  for (std::uint32_t at = 0; at < count; ++at) {
    const PathStats& path = sum.paths[at];
    const std::size_t parent = path.parent < at ? first_of[path.parent] : count;
    const auto [place, is_new] = firsts.emplace(std::make_pair(parent, path.name), at);
    first_of[at] = place->second;
    if (is_new) { children[parent].push_back(at); }
  }
  std::vector<std::uint32_t> ordered;
  std::vector<std::uint32_t> left(children[count].rbegin(), children[count].rend());
  while (!left.empty()) {
    const std::uint32_t at = left.back();
    left.pop_back();
    ordered.push_back(at);
    left.insert(left.end(), children[at].rbegin(), children[at].rend());
  }
  return ordered;
}

const RankPath* find_path(const RankRecord& record, const Snapshot& sum, std::uint32_t path) {
  RankPathName name;
  for (std::uint32_t at = path; at < sum.paths.size(); at = sum.paths[at].parent) {
    name.push_back(sum.paths[at].name);
  }
  std::reverse(name.begin(), name.end());
  const auto found = record.paths.find(name);
  return found == record.paths.end() ? nullptr : &found->second;
}

std::vector<std::string> job_columns() {
  std::vector<std::string> names;
  for (const JobColumn& each : kJobTable) { names.emplace_back(each.name); }
  return names;
}

std::string format_job(const JobReport& job, const TableForm& form) {
  Page page(form.width, form.color);
  const TextTable table = job_table_of(job, form, page.width());
  const Notes notes = notes_of(job.sum);
  page.gap();
  page.add_part({title_of(job.sum)}, Page::Style::bold);
  page.add_part(verdict_lines(job.comparison, std::max(form.findings, kMaxFindingGroups)), Page::Style::bold);
  page.add_part(finding_lines(job.sum.findings, form.findings), Page::Style::bold);
  page.add_part(bounds_of(job), Page::Style::plain);
  page.add({table.head()}, Page::Style::bold);
  page.add_part(table.body(), Page::Style::plain);
  page.add(efficiency_line(job.comparison), Page::Style::plain);
  page.add(pipeline_line(job.comparison.pipeline), Page::Style::plain);
  page.add_part(job.warnings, Page::Style::plain);
  page.add_part(notes.rates, Page::Style::plain);
  page.add(notes.caveats, Page::Style::dim);
  return page.text();
}

Series& add_job_series(Snapshot& sum, std::uint32_t path, const std::string& thread, const Throughput& throughput) {
  ThreadInfo& info = sum.threads.emplace_back();
  info.id = static_cast<std::uint32_t>(sum.threads.size() - 1);
  info.name = thread;
  Series& series = sum.series.emplace_back();
  series.path = path;
  series.thread = info.id;
  series.steps = throughput.steps;
  series.throughput = throughput;
  return series;
}

namespace {

/// Converts to the form of a Snapshot.
std::vector<PathStats> paths_of(const Job& job) {
  std::vector<PathStats> paths;
  paths.reserve(job.paths.size());
  for (const JobPath& each : job.paths) {
    PathStats& path = paths.emplace_back();
    path.name = each.name;
    path.kind = each.kind;
    path.parent = each.parent;
    path.depth = each.depth;
    path.host = each.host;
    path.device = each.device;
  }
  return paths;
}

/// Returns the sums of all ranks.
Snapshot sum_of(const Snapshot& snapshot, const Job& job) {
  Snapshot sum;
  sum.run = snapshot.run;
  sum.run.directory.clear();
  sum.run.machine = {};  // those of other ranks are unknown
  sum.run.rank = -1;
  sum.run.world_size = static_cast<int>(job.wall.ranks);
  sum.wall_ns = static_cast<std::int64_t>(job.wall.max_ns);
  sum.finished = snapshot.finished;
  sum.failed = snapshot.failed;
  sum.killed = snapshot.killed;
  sum.paths = paths_of(job);
  for (const JobThroughput& each : job.throughput) { add_job_series(sum, each.path, each.slowest, each.throughput); }
  if (job.throughput.empty() && !snapshot.series.empty()) { sum.series.emplace_back(); }  // for the line that says so
  sum.devices = snapshot.devices;
  for (const Loss& each : snapshot.losses) {
    const std::string label = detail::format("rank {}", snapshot.run.rank);
    sum.losses.push_back({each.what, each.where.empty() ? label : label + ", " + each.where, each.count});
  }
  return sum;
}

std::vector<std::string> warnings_of(const Snapshot& snapshot, const Job& job) {
  std::vector<std::string> lines;
  if (!job.missing.empty()) {
    lines.push_back(detail::format("{} of {} ranks are not in these figures: {}", job.missing.size(), job.world_size,
                                   rank_list(job.missing)));
  }
  lines.emplace_back("figures up to takt::mpi::reduce(); dropped data is listed for this rank only");
  const std::string& directory = snapshot.run.directory;
  if (!directory.empty()) {  // a subdirectory of the run's
    lines.push_back("complete data of each rank: takt report " +
                    printable(directory.substr(0, directory.find_last_of('/'))));
  }
  return lines;
}

}  // namespace

JobReport report_of_job(const Snapshot& snapshot) {
  JobReport report;
  report.sum = sum_of(snapshot, *snapshot.job);
  report.record = *snapshot.job->record;
  report.comparison = snapshot.job->comparison;
  report.warnings = warnings_of(snapshot, *snapshot.job);
  // Only this rank's findings are known here.
  report.sum.findings = findings_of_ranks({{snapshot.run.rank, snapshot.findings}}, snapshot.job->world_size);
  return report;
}

}  // namespace detail
TAKT_END_NAMESPACE
