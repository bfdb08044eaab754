// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_figures.hpp"

#include "base/format.hpp"
#include "ranks/rank_comparison.hpp"
#include "report/job_report.hpp"

#include <map>
#include <set>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

OverRanks over_ranks_of(const RankSpread& spread) {
  if (spread.ranks == 0) { return {}; }
  return {spread.ranks,    spread.mean_ns(), spread.stdev_ns(), spread.min.ns,
          spread.min.rank, spread.max.ns,    spread.max.rank,   spread.imbalance()};
}

/// Lists the paths, one complete tree after the other.
class JobPaths {
 public:
  JobPaths(const RankRecord& record, const Snapshot& first) : record_(record) {
    std::vector<RankPathName> names;
    for (const PathStats& each : first.paths) {
      RankPathName name = each.parent == kNoIndex ? RankPathName() : names[each.parent];
      name.push_back(each.name);
      take(name);
      names.push_back(std::move(name));
    }
    for (const auto& [name, path] : record.paths) { take(name); }
  }

  /// Not recursive, because paths may be nested deeply.
  std::vector<JobPath> list() {
    struct Waiting {
      const RankPathName* name;
      std::uint32_t parent;
    };
    std::vector<Waiting> waiting;
    const auto add_below = [&](const RankPathName& name, std::uint32_t path) {
      const std::vector<RankPathName>& below = below_[name];
      for (auto at = below.rbegin(); at != below.rend(); ++at) { waiting.push_back({&*at, path}); }
    };
    add_below({}, kNoIndex);
    std::vector<JobPath> paths;
    while (!waiting.empty()) {
      const Waiting next = waiting.back();
      waiting.pop_back();
      paths.push_back(path_of(*next.name, next.parent));
      add_below(*next.name, static_cast<std::uint32_t>(paths.size() - 1));
    }
    return paths;
  }

 private:
  void take(const RankPathName& name) {
    if (!taken_.insert(name).second) { return; }
    below_[RankPathName(name.begin(), name.end() - 1)].push_back(name);
  }

  JobPath path_of(const RankPathName& name, std::uint32_t parent) const {
    JobPath path;
    path.name = name.back();
    path.parent = parent;
    path.depth = static_cast<std::uint32_t>(name.size() - 1);
    const auto found = record_.paths.find(name);
    if (found == record_.paths.end()) { return path; }
    const RankPath& over = found->second;
    path.kind = over.kind;
    path.host = over.host;
    path.device = over.device;
    path.host_total = over_ranks_of(over.host_totals);
    path.device_total = over_ranks_of(over.device_totals);
    path.share = share_of_job(record_, over);
    return path;
  }

  const RankRecord& record_;
  std::set<RankPathName> taken_;
  std::map<RankPathName, std::vector<RankPathName>> below_;
};

std::vector<JobThroughput> throughput_of(const Job& job, const std::vector<GatheredRank>& ranks) {
  std::map<RankPathName, std::uint32_t> places;
  std::vector<RankPathName> names;
  for (std::uint32_t path = 0; path < job.paths.size(); ++path) {
    const JobPath& each = job.paths[path];
    RankPathName& name = names.emplace_back(each.depth == 0 ? RankPathName() : names[each.parent]);
    name.push_back(each.name);
    places.emplace(name, path);
  }
  Snapshot sum;
  for (const GatheredRank& rank : ranks) {
    for (const RankSeries& each : rank.series) {
      const auto place = places.find(each.path);
      if (place == places.end()) { continue; }
      add_job_series(sum, place->second, detail::format("rank {}, {}", rank.who.number, each.thread), each.throughput)
          .process = rank.who.number;
    }
  }
  return job_throughputs(sum);
}

RankComparison comparison_of(const std::vector<GatheredRank>& ranks) {
  std::vector<RankOfJob> all;
  all.reserve(ranks.size());
  for (const GatheredRank& each : ranks) { all.push_back({each.who, &each.steps}); }
  return compare_ranks(all);
}

}  // namespace

std::shared_ptr<const Job> job_of(RankRecord record, const std::vector<GatheredRank>& ranks, const Snapshot& first,
                                  std::uint32_t world_size, std::vector<std::uint32_t> missing) {
  const auto job = std::make_shared<Job>();
  job->world_size = world_size;
  job->missing = std::move(missing);
  job->wall = over_ranks_of(record.wall);
  job->paths = JobPaths(record, first).list();
  job->throughput = throughput_of(*job, ranks);
  job->comparison = comparison_of(ranks);
  job->record = std::make_shared<const RankRecord>(std::move(record));
  return job;
}

}  // namespace detail
TAKT_END_NAMESPACE
