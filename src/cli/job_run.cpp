// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_run.hpp"

#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/last_ranks.hpp"
#include "cli/rank.hpp"
#include "cli/rank_sum.hpp"
#include "cli/run_folder.hpp"
#include "ranks/rank_steps.hpp"
#include "report/job_throughput.hpp"

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// The processes of each run, in the order in which runs were named.
struct RanksByRun {
  std::vector<std::vector<Rank>> runs;
  bool all = true;  // were readable
};

Rank read_with_steps(const RankFolder& folder, std::size_t most_values) {
  const auto steps = std::make_shared<detail::RankSteps>(most_values);
  Rank rank = read_rank(folder, [&](const Snapshot& snapshot) { steps->add(snapshot); });
  rank.kept_steps = steps;
  return rank;
}

RanksByRun read_by_run(const std::vector<std::string>& given) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders = rank_folders(given, remarks);
  for (const std::string& each : remarks) { detail::print(stderr, "takt: {}\n", each); }
  const std::size_t most = detail::values_of_a_rank(folders.size());
  RanksByRun read;
  read.all = are_whole(folders);
  std::map<std::string, std::size_t> places;  // by run id
  for (const RankFolder& folder : folders) {
    Rank rank = read_with_steps(folder, most);
    if (!rank.readable()) {
      detail::print(stderr, "takt: {}\n", why_unreadable(rank));
      read.all = false;
      continue;
    }
    const auto [place, is_new] = places.emplace(rank.snapshot.run.id, read.runs.size());
    if (is_new) { read.runs.emplace_back(); }
    read.runs[place->second].push_back(std::move(rank));
  }
  return read;
}

JobEfficiency efficiency_of(const std::vector<Rank>& ranks) {
  std::vector<detail::RankOfJob> of_job;
  for (const Rank& each : ranks) {
    const RunInfo& run = each.snapshot.run;
    of_job.push_back({{static_cast<std::uint32_t>(run.rank), run.host, ""}, each.kept_steps.get()});
  }
  return detail::efficiency_of(detail::step_times_of(of_job).times);
}

Snapshot sum_of(const std::vector<Rank>& ranks) {
  RankSum sum;
  for (const Rank& each : ranks) { sum.add(each.snapshot); }
  return sum.take();
}

/// Of the Batches with items the one that took longest: training rather than validation.
void take_throughput(const Snapshot& sum, JobRun& run) {
  for (const JobThroughput& each : detail::job_throughputs(sum)) {
    if (each.throughput.items == 0 || each.throughput.period_ns <= run.throughput.period_ns) { continue; }
    run.path = sum.path_name(each.path);
    run.throughput = each.throughput;
  }
  if (run.throughput.items == 0) {
    throw Error(
        detail::format("run {} counts no samples, so that it has no rate to compare; call items(n) on the Batch, "
                       "where n is how many the rank has in a step, and let it take more steps than warm-up",
                       detail::printable(run.id)));
  }
}

JobRun job_run_of(std::vector<Rank> of_run) {
  const PickedRanks last = pick_last(std::move(of_run));
  tell_left_out(last.remarks);
  JobRun run;
  run.id = last.ranks.front().snapshot.run.id;
  run.ranks = last.world;
  run.missing = last.missing();
  take_throughput(sum_of(last.ranks), run);
  run.efficiency = efficiency_of(last.ranks);
  if (run.missing != 0) {
    detail::print(
        stderr,
        "takt: {} of the {} ranks of run {} left no journal: their samples are not counted, so that its rate, "
        "speed-up and efficiency are too low\n",
        run.missing, run.ranks, detail::printable(run.id));
  }
  return run;
}

}  // namespace

JobRuns read_job_runs(const std::vector<std::string>& given) {
  RanksByRun read = read_by_run(given);
  JobRuns runs;
  runs.all = read.all;
  for (std::vector<Rank>& each : read.runs) { runs.runs.push_back(job_run_of(std::move(each))); }
  return runs;
}

}  // namespace cli
TAKT_END_NAMESPACE
