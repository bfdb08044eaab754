// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/job_metrics.hpp"

#include "base/rank_list.hpp"
#include "trackers/findings_text.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

double seconds_of(double ns) { return ns / 1e9; }
double seconds_of(std::uint64_t ns) { return seconds_of(static_cast<double>(ns)); }

double total_of(const OverRanks& over) { return over.mean_ns * static_cast<double>(over.ranks); }

/// The places of those in which ranks spent most, on the host or on streams; the longest first.
std::vector<std::uint32_t> longest_paths(const Job& job) {
  std::vector<std::uint32_t> order(job.paths.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto spent = [&](std::uint32_t path) {
    return std::max(total_of(job.paths[path].host_total), total_of(job.paths[path].device_total));
  };
  const auto is_longer = [&](std::uint32_t a, std::uint32_t b) {
    return spent(a) != spent(b) ? spent(a) > spent(b) : a < b;
  };
  const std::size_t count = std::min(order.size(), kMostJobPaths);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), is_longer);
  order.resize(count);
  return order;
}

JobMetrics metrics_of(std::string stem, const OverRanks& over) {
  return {std::move(stem),
          {{"/mean_s", seconds_of(over.mean_ns)},
           {"/min_s", seconds_of(over.min_ns)},
           {"/max_s", seconds_of(over.max_ns)},
           {"/imbalance", over.imbalance},
           {"/slowest_rank", over.max_rank},
           {"/ranks", static_cast<double>(over.ranks)}}};
}

}  // namespace

std::vector<JobMetrics> job_metrics(const Job& job) {
  std::vector<JobMetrics> all = {
      {"total/job", {{"/world_size", job.world_size}, {"/missing_ranks", static_cast<double>(job.missing.size())}}}};
  std::set<std::string> stems;
  const auto add = [&](std::string stem, const OverRanks& over) {
    if (over.ranks == 0) { return; }
    while (!stems.insert(stem).second) { stem += '_'; }  // keys of one name and two kinds
    all.push_back(metrics_of(std::move(stem), over));
  };
  for (const std::uint32_t path : longest_paths(job)) {
    const std::string name = job.path_name(path);
    add("total/ranks/time/" + name, job.paths[path].host_total);
    add("total/ranks/gpu/" + name, job.paths[path].device_total);
  }
  return all;
}

std::string job_text(const Job& job) {
  std::string text = std::to_string(job.wall.ranks) + " of " + std::to_string(job.world_size);
  if (!job.missing.empty()) { text += "; missing: " + rank_list(job.missing); }
  if (job.paths.size() > kMostJobPaths) {
    text += "; the longest " + std::to_string(kMostJobPaths) + " of " + std::to_string(job.paths.size()) + " paths";
  }
  const std::string findings = findings_text(job.comparison.findings, "takt report --json");
  return findings.empty() ? text : text + "\n" + findings;
}

}  // namespace detail
TAKT_END_NAMESPACE
