// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_reading.hpp"

#include "cli/last_ranks.hpp"
#include "cli/rank_sum.hpp"
#include "report/job_throughput.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// What is worse stands further behind.
int badness(Ending ending) noexcept {
  switch (ending) {
    case Ending::finished:
      return 0;
    case Ending::running:
      return 1;
    case Ending::killed:
      return 2;
    case Ending::failed:
      return 3;
    case Ending::silent:
      return 4;
    case Ending::died:
      break;
  }
  return 5;
}

void add_up_run(RunReading& run) {
  PickedRanks last = pick_last(std::move(run.ranks));
  run.ranks = std::move(last.ranks);
  run.world_size = static_cast<std::size_t>(last.world);
  run.state = state_of(run.ranks);
  run.steps = most_steps(run.ranks);
  RankSum sum;
  for (const Rank& rank : run.ranks) { sum.add(rank.snapshot); }
  run.sum = sum.take();
  const JobThroughput main = main_throughput(run.sum);
  if (main.series == 0) { return; }
  run.step_path = main.path;
  run.throughput = main.throughput;
}

}  // namespace

Ending state_of(const std::vector<Rank>& ranks) noexcept {
  Ending worst = Ending::finished;
  for (const Rank& each : ranks) {
    if (badness(each.ending) > badness(worst)) { worst = each.ending; }
  }
  return worst;
}

std::uint64_t most_steps(const std::vector<Rank>& ranks) noexcept {
  std::uint64_t most = 0;
  for (const Rank& rank : ranks) {
    std::map<std::uint32_t, std::uint64_t> of_batch;  // of all threads
    for (const SeriesSteps& each : rank.steps) { most = std::max(most, of_batch[each.batch] += each.steps); }
  }
  return most;
}

JobThroughput main_throughput(const Snapshot& sum) {
  JobThroughput main;
  for (const JobThroughput& each : detail::job_throughputs(sum)) {
    if (main.series == 0 || each.throughput.period_ns > main.throughput.period_ns) { main = each; }
  }
  return main;
}

RunReading read_run(const RunFolder& run, const RunTaker& take) {
  RunReading reading;
  reading.folder = run.folder;
  if (run.ranks.empty()) { reading.not_read.push_back(why_closed(run.folder)); }
  for (const RankFolder& folder : run.ranks) {
    Rank rank = read_rank(folder, [&](const Snapshot& snapshot) {
      if (take) { take(folder, snapshot); }
    });
    if (rank.readable()) {
      reading.ranks.push_back(std::move(rank));
    } else {
      reading.not_read.push_back(why_unreadable(rank));
    }
  }
  if (reading.readable()) { add_up_run(reading); }
  return reading;
}

const char* state_word(Ending ending) noexcept {
  switch (ending) {
    case Ending::finished:
      return "finished";
    case Ending::failed:
      return "failed";
    case Ending::killed:
      return "killed";
    case Ending::running:
      return "running";
    case Ending::died:
      return "died";
    case Ending::silent:
      break;
  }
  return "silent";
}

}  // namespace cli
TAKT_END_NAMESPACE
