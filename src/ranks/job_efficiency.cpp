// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/job_efficiency.hpp"

#include "ranks/rank_comparison.hpp"
#include "ranks/rank_steps.hpp"
#include "ranks/reported_waits.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::optional<JobEfficiency> efficiency_of(const StepTimes& times) {
  if (!reports_waits(times)) { return std::nullopt; }
  for (const std::vector<std::size_t>& group : groups_of(times)) {
    const bool compared = group.size() > 1 && times.steps() >= kMinComparedSteps;
    if (compared && hidden_wait_of(times, group).ns > 0) { return std::nullopt; }
  }
  double max = 0;
  double sum = 0;
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) {
    double busy = 0;
    for (std::size_t step = 0; step < times.steps(); ++step) { busy += static_cast<double>(times.busy_ns(rank, step)); }
    max = std::max(max, busy);
    sum += busy;
  }
  const double job = times.job_ns();
  if (max <= 0 || job <= 0) { return std::nullopt; }
  JobEfficiency efficiency;
  efficiency.load_balance = sum / static_cast<double>(times.ranks().size()) / max;
  efficiency.communication = max / job;
  efficiency.parallel = efficiency.load_balance * efficiency.communication;
  return efficiency;
}

std::vector<GroupWait> waits_of(const StepTimes& times) {
  std::vector<GroupWait> waits;
  for (const std::vector<std::size_t>& group : groups_of(times)) {
    double steps = 0;
    double busy = 0;
    for (const std::size_t rank : group) {
      for (std::size_t step = 0; step < times.steps(); ++step) {
        steps += static_cast<double>(times.step_ns(rank, step));
        busy += static_cast<double>(times.busy_ns(rank, step));
      }
    }
    waits.push_back({times.ranks()[group.front()].group, group.size(), steps > 0 ? 1 - busy / steps : 0});
  }
  return waits;
}

namespace {

/// Times of one stage's ranks.
struct StageTime {
  std::uint64_t ranks = 0;
  double steps_ns = 0;
  double busy_ns = 0;
};

/// Returns the number that all reporting ranks share; nothing if they differ.
std::optional<unsigned> common_micro_batches(const std::vector<JobRank>& ranks) {
  std::optional<unsigned> all;
  for (const JobRank& each : ranks) {
    const unsigned one = each.micro_batches;
    if (one == 0) { continue; }
    if (all && one != *all) { return std::nullopt; }
    all = one;
  }
  return all;
}

}  // namespace

Pipeline pipeline_of(const StepTimes& times, const std::vector<JobRank>& ranks) {
  std::map<int, StageTime> spent;
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) {
    const int stage = times.ranks()[rank].stage;
    if (stage == JobRank::kNoStage) { continue; }
    StageTime& sum = spent[stage];
    ++sum.ranks;
    for (std::size_t step = 0; step < times.steps(); ++step) {
      sum.steps_ns += static_cast<double>(times.step_ns(rank, step));
      sum.busy_ns += static_cast<double>(times.busy_ns(rank, step));
    }
  }
  Pipeline pipeline;
  if (spent.size() < 2 || times.steps() == 0) { return pipeline; }
  for (const auto& [stage, sum] : spent) {
    pipeline.stages.push_back({stage, sum.ranks, sum.steps_ns > 0 ? 1 - sum.busy_ns / sum.steps_ns : 0});
  }
  pipeline.micro_batches = common_micro_batches(ranks);
  if (pipeline.micro_batches) {
    pipeline.ideal = ideal_bubble(static_cast<unsigned>(spent.size()), *pipeline.micro_batches);
  }
  return pipeline;
}

}  // namespace detail
TAKT_END_NAMESPACE
