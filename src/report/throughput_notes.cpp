// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/throughput_notes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/job_throughput.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Why there is no interval, for people.
std::string why_no_interval(const Throughput& throughput) {
  switch (throughput.no_interval) {
    case NoInterval::few_stalls:
      return detail::format("about {} the scatter, it takes 10",
                            throughput.stalls == 1 ? "1 stall makes" : human_count(throughput.stalls) + " stalls make");
    case NoInterval::correlated:
      return detail::format("its {} windows are still like their neighbours", throughput.windows);
    default:
      if (throughput.steps >= 128) { return "not every thread counts 128 of them"; }
      return detail::format("{} step periods, it takes 128", human_count(throughput.steps));
  }
}

const char* why_no_throughput(const Snapshot& snapshot, const Series& series) {
  if (series.path < snapshot.paths.size() && snapshot.paths[series.path].skipped != 0) {
    return "not all steps were timed";
  }
  return series.throughput.excluded_steps == 0 ? "no step period after warm-up" : "all step periods are left out";
}

std::string items_rate(const Throughput& throughput) {
  const std::string rate = human_rate(throughput.items_per_s) + " samples/s, ";
  if (throughput.no_interval != NoInterval::none) { return rate + "no interval: " + why_no_interval(throughput); }
  return detail::format("{}95 % CI [{}, {}], n = {} windows", rate, human_rate(throughput.items_low),
                        human_rate(throughput.items_high), human_count(throughput.windows));
}

/// What a region took of each step, on average.
double ns_a_step(const PathStats& path, const Series& series) {
  return static_cast<double>(path.host.total_ns()) / static_cast<double>(series.steps);
}

/// Of what lies between two Batches, the region that took most. Only one that ran about once a step or more, in a time
/// that has room there: any other ran elsewhere, or seldom. Where several threads record it is not known what ran
/// where.
std::string most_between(const Snapshot& snapshot, const Series& series, double between) {
  if (snapshot.threads.size() > 1) { return ""; }
  const std::uint32_t parent = snapshot.paths[series.path].parent;
  bool is_empty = true;
  std::uint32_t most = PathStats::kNoParent;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& each = snapshot.paths[path];
    if (path == series.path || each.host.n() + each.skipped == 0) { continue; }
    // A Batch that began inside one and outlived it is between two of them.
    is_empty = is_empty && (each.parent != series.path || each.name != Batch.name());
    if (each.parent != parent) { continue; }
    is_empty = false;
    const bool every_step = each.skipped == 0 && each.host.n() >= series.steps / 2 + series.steps % 2;
    const double took = ns_a_step(each, series);
    if (!every_step || took > between) { continue; }
    if (most == PathStats::kNoParent || took > ns_a_step(snapshot.paths[most], series)) { most = path; }
  }
  if (is_empty) { return "; no region is there"; }
  if (most == PathStats::kNoParent) { return ""; }
  return detail::format("; {} takes {} of it", path_label(snapshot, most),
                        human_time(ns_a_step(snapshot.paths[most], series)));
}

/// What a period holds beside its Batch, where that is a tenth of it or more.
void between_line(const Snapshot& snapshot, const Series& series, std::vector<std::string>& lines) {
  const auto same = [&series](const Series& each) { return each.path == series.path; };
  // Of several threads, the Batches of one are not known.
  const bool alone = std::count_if(snapshot.series.begin(), snapshot.series.end(), same) == 1;
  if (!alone || series.path >= snapshot.paths.size()) { return; }
  const Throughput& throughput = series.throughput;
  const double batch = snapshot.paths[series.path].host.mean_ns();
  const double period = static_cast<double>(throughput.period_ns) / static_cast<double>(throughput.steps);
  const double between = period - batch;
  if (batch <= 0 || between < kWorthALine * period) { return; }
  lines.push_back(detail::format("  between two Batches: {} of each period of {} ({}){}", human_time(between),
                                 human_time(period), percent(between, period),
                                 most_between(snapshot, series, between)));
}

std::string rates(const Throughput& throughput) {
  const std::string items = throughput.items == 0 ? "" : items_rate(throughput) + "; ";
  return detail::format("{}{} steps/s", items, human_rate(throughput.steps_per_s));
}

void left_out_line(const Throughput& throughput, std::vector<std::string>& lines) {
  if (throughput.excluded_steps == 0) { return; }
  lines.push_back(
      detail::format("  left out: {} period{}, {} (Epoch boundaries, other Batches or steps not timed inside)",
                     human_count(throughput.excluded_steps), plural(throughput.excluded_steps),
                     human_time(static_cast<double>(throughput.excluded_ns))));
}

/// Of the only thread that takes Batches at this path.
void series_lines(const Snapshot& snapshot, const Series& series, std::vector<std::string>& lines) {
  const Throughput& throughput = series.throughput;
  const std::string where = path_label(snapshot, series.path) + " on " + thread_label(snapshot, series.thread);
  if (throughput.steps == 0) {
    lines.push_back(detail::format("{}: no throughput, {}", where, why_no_throughput(snapshot, series)));
  } else {
    lines.push_back(detail::format("{}: {}", where, rates(throughput)));
    between_line(snapshot, series, lines);
  }
  left_out_line(throughput, lines);
}

void job_lines(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const std::vector<JobThroughput> jobs = job_throughputs(snapshot);
  for (const JobThroughput& job : jobs) {
    lines.push_back(detail::format("{} of all ranks: {}, by the slowest ({})", path_label(snapshot, job.path),
                                   rates(job.throughput), thread_label(job.slowest)));
  }
  if (jobs.empty() && !snapshot.series.empty()) {
    lines.emplace_back("no throughput: on no rank a step period counts");
  }
}

}  // namespace

void add_throughputs(const Snapshot& snapshot, std::vector<std::string>& lines) {
  if (is_job(snapshot)) { return job_lines(snapshot, lines); }
  std::map<std::uint32_t, std::vector<const Series*>> of_path;
  for (const Series& each : snapshot.series) { of_path[each.path].push_back(&each); }
  const std::vector<JobThroughput> together = job_throughputs(snapshot);
  for (const Series& each : snapshot.series) {
    const std::vector<const Series*>& threads = of_path[each.path];
    if (threads.front() != &each) { continue; }
    const auto job =
        std::find_if(together.begin(), together.end(), [&](const JobThroughput& one) { return one.path == each.path; });
    if (threads.size() == 1 || job == together.end()) {
      series_lines(snapshot, each, lines);
      continue;
    }
    lines.push_back(detail::format("{} on {} threads: {}", path_label(snapshot, each.path), human_count(threads.size()),
                                   rates(job->throughput)));
    left_out_line(job->throughput, lines);
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
