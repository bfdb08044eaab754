// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_throughput.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

void add_throughput(const Snapshot& sum, const Series& series, JobThroughput& job, Throughput& slowest) {
  const std::uint64_t items = job.throughput.items + series.throughput.items;
  if (job.series++ == 0 || series.throughput.period_ns > slowest.period_ns) {
    slowest = series.throughput;
    job.throughput = slowest;
    job.slowest = series.thread < sum.threads.size() ? sum.threads[series.thread].name : "";
  }
  job.throughput.items = items;
}

/// The rate of all is known as well as the time of the slowest.
void rate(const Throughput& slowest, Throughput& all) {
  const double factor = slowest.items == 0 ? 0 : static_cast<double>(all.items) / static_cast<double>(slowest.items);
  all.items_per_s =
      slowest.period_ns == 0 ? 0 : static_cast<double>(all.items) * 1e9 / static_cast<double>(slowest.period_ns);
  all.items_low = slowest.items_low * factor;
  all.items_high = slowest.items_high * factor;
  // Of its rate of steps no interval is known.
  if (slowest.items == 0 && all.items != 0) { all.no_interval = NoInterval::few_steps; }
}

}  // namespace

std::vector<JobThroughput> job_throughputs(const Snapshot& sum) {
  std::vector<JobThroughput> jobs;
  std::vector<Throughput> slowest;  // of each
  for (const Series& series : sum.series) {
    if (series.throughput.steps == 0) { continue; }
    auto job =
        std::find_if(jobs.begin(), jobs.end(), [&](const JobThroughput& each) { return each.path == series.path; });
    if (job == jobs.end()) {
      job = jobs.emplace(job);
      job->path = series.path;
      slowest.emplace_back();
    }
    add_throughput(sum, series, *job, slowest[static_cast<std::size_t>(job - jobs.begin())]);
  }
  for (std::size_t at = 0; at < jobs.size(); ++at) { rate(slowest[at], jobs[at].throughput); }
  return jobs;
}

}  // namespace detail
TAKT_END_NAMESPACE
