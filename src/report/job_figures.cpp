// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_figures.hpp"

#include "base/format.hpp"
#include "base/rank_list.hpp"
#include "base/text.hpp"
#include "findings/rank_findings.hpp"
#include "ranks/rank_comparison.hpp"
#include "report/job_throughput.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

OverRanks over_ranks_of(const RankSpread& spread) {
  if (spread.ranks == 0) { return {}; }
  return {spread.ranks,      spread.mean_ns(), spread.stdev_ns(), spread.least.ns,
          spread.least.rank, spread.most.ns,   spread.most.rank,  spread.imbalance()};
}

/// Makes the list of paths, each tree whole before the next.
class JobPaths {
 public:
  JobPaths(const RankRecord& record, const Snapshot& first) : record_(record) {
    std::vector<RankPathName> names;
    for (const PathStats& each : first.paths) {
      RankPathName name = each.parent == PathStats::kNoParent ? RankPathName() : names[each.parent];
      name.push_back(each.name);
      take(name);
      names.push_back(std::move(name));
    }
    for (const auto& [name, path] : record.paths) { take(name); }
  }

  /// Places may be nested deep: nothing here calls itself.
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
    add_below({}, PathStats::kNoParent);
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

/// As a Snapshot has them.
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

Series& add_series(Snapshot& sum, std::uint32_t path, const std::string& thread, const Throughput& throughput) {
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
      add_series(sum, place->second, detail::format("rank {}, {}", rank.who.number, each.thread), each.throughput)
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

/// Of the steps, what all ranks made of them.
Snapshot sum_of(const Snapshot& snapshot, const Job& job) {
  Snapshot sum;
  sum.run = snapshot.run;
  sum.run.directory.clear();
  sum.run.rank = -1;
  sum.run.world_size = static_cast<int>(job.wall.ranks);
  sum.wall_ns = static_cast<std::int64_t>(job.wall.max_ns);
  sum.finished = snapshot.finished;
  sum.failed = snapshot.failed;
  sum.killed = snapshot.killed;
  sum.paths = paths_of(job);
  for (const JobThroughput& each : job.throughput) { add_series(sum, each.path, each.slowest, each.throughput); }
  if (job.throughput.empty() && !snapshot.series.empty()) { sum.series.emplace_back(); }  // for the line that says so
  sum.devices = snapshot.devices;
  for (const Loss& each : snapshot.losses) {
    const std::string label = detail::format("rank {}", snapshot.run.rank);
    sum.losses.push_back({each.what, each.where.empty() ? label : label + ", " + each.where, each.count});
  }
  return sum;
}

std::vector<std::string> remarks_of(const Snapshot& snapshot, const Job& job) {
  std::vector<std::string> lines;
  if (!job.missing.empty()) {
    lines.push_back(detail::format("{} of {} ranks are not in these figures: {}", job.missing.size(), job.world_size,
                                   rank_list(job.missing)));
  }
  lines.emplace_back("as far as takt::mpi::reduce() saw; losses are those of this rank alone");
  const std::string& folder = snapshot.run.directory;
  if (!folder.empty()) {  // which stands in that of the run
    lines.push_back("each rank to its end: takt report " + printable(folder.substr(0, folder.find_last_of('/'))));
  }
  return lines;
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

JobReport report_of_job(const Snapshot& snapshot) {
  JobReport report;
  report.sum = sum_of(snapshot, *snapshot.job);
  report.record = *snapshot.job->record;
  report.comparison = snapshot.job->comparison;
  report.remarks = remarks_of(snapshot, *snapshot.job);
  // Only those of this rank are known here.
  report.sum.findings = findings_of_ranks({{snapshot.run.rank, snapshot.findings}}, snapshot.job->world_size);
  return report;
}

}  // namespace detail
TAKT_END_NAMESPACE
