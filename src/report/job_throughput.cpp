// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_throughput.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// A stretch in which series of a process ran side by side.
struct Stretch {
  std::uint64_t end_ns = 0;
  double covered_ns = 0;  // in which any of them counted, with what lies between their periods
  double extents_ns = 0;  // sum of theirs
  double counted_ns = 0;  // sum of their periods

  /// In which any of them counted. Between the first and the last period of a series some may be left out: where
  /// several ran, in the same share of the time.
  double time_ns() const noexcept { return extents_ns > 0 ? covered_ns * (counted_ns / extents_ns) : 0; }
};

std::uint64_t last_end_of(const Throughput& each) noexcept {
  return std::max(each.last_ns, bounded_sum(each.first_ns, each.period_ns));
}

/// The time in which any of them counted: those one after the other add up, those side by side do not.
/// \param all by first_ns.
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

/// The interval of all, as if each erred in the same direction: nothing is known of how they depend on each other.
void set_interval(const std::vector<const Throughput*>& all, Throughput& sum) {
  double counted_ns = 0;
  double error = 0;  // in the logarithm of the rate, by the time of each
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

/// Of the series of one process at one path.
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

/// What a process did at one path.
struct OfProcess {
  std::vector<const Throughput*> series;
  const Series* longest = nullptr;

  void add(const Series& each) {
    series.push_back(&each.throughput);
    if (longest == nullptr || each.throughput.period_ns > longest->throughput.period_ns) { longest = &each; }
  }
};

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
  std::vector<std::uint32_t> paths;  // in the order in which they come
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

}  // namespace detail
TAKT_END_NAMESPACE
