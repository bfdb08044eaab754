// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_reading.hpp"

#include "base/nanoseconds.hpp"
#include "cli/merge.hpp"
#include "report/job_throughput.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Of several processes of one rank the one that began last; those of earlier attempts go.
void keep_newest_attempt(std::vector<Rank>& ranks) {
  const auto order = [](const Rank& rank) {
    const RunInfo& run = rank.snapshot.run;
    return std::make_tuple(-std::int64_t{run.attempt}, run.rank, -run.start_unix_ns);
  };
  std::sort(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) { return order(a) < order(b); });
  const int newest = ranks.front().snapshot.run.attempt;
  const auto is_earlier = [&](const Rank& rank) { return rank.snapshot.run.attempt != newest; };
  ranks.erase(std::find_if(ranks.begin(), ranks.end(), is_earlier), ranks.end());
  const auto same_rank = [](const Rank& a, const Rank& b) { return a.snapshot.run.rank == b.snapshot.run.rank; };
  ranks.erase(std::unique(ranks.begin(), ranks.end(), same_rank), ranks.end());
}

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
  keep_newest_attempt(run.ranks);
  std::vector<Snapshot> snapshots;
  run.state = Ending::finished;
  for (const Rank& rank : run.ranks) {
    const RunInfo& info = rank.snapshot.run;
    snapshots.push_back(rank.snapshot);
    run.world_size =
        std::max({run.world_size, static_cast<std::size_t>(std::max(info.world_size, 1)), run.ranks.size()});
    if (badness(rank.ending) > badness(run.state)) { run.state = rank.ending; }
    for (const SeriesSteps& each : rank.steps) { run.steps = std::max(run.steps, each.steps); }
  }
  run.sum = snapshots.size() == 1 ? std::move(snapshots.front()) : merged(snapshots);
  for (const detail::JobThroughput& each : detail::job_throughputs(run.sum)) {
    if (run.step_path != RunReading::kNoSteps && each.throughput.period_ns <= run.throughput.period_ns) { continue; }
    run.step_path = each.path;
    run.throughput = each.throughput;
  }
}

}  // namespace

RunReading read_run(const RunFolder& run, const RunTaker& take) {
  RunReading reading;
  reading.folder = run.folder;
  for (const std::string& folder : run.ranks) {
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

std::string utc_text(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / detail::kSecondNs;
  std::tm when = {};
  ::gmtime_r(&seconds, &when);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", when);
}

}  // namespace cli
TAKT_END_NAMESPACE
