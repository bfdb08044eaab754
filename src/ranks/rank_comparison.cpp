// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_comparison.hpp"

#include "ranks/job_efficiency.hpp"
#include "ranks/pipeline.hpp"
#include "ranks/verdict.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

RankComparison compare_ranks(const std::vector<RankOfJob>& ranks) {
  RankComparison comparison;
  const ComparedSteps compared = step_times_of(ranks);
  const StepTimes& times = compared.times;
  if (times.ranks().empty()) { return comparison; }  // no rank has steps, or none were wanted
  for (RankVerdict& each : verdicts_of(times)) { comparison.findings.push_back(std::move(each.finding)); }
  std::vector<JobRank> who;
  who.reserve(ranks.size());
  for (const RankOfJob& each : ranks) { who.push_back(each.who); }
  comparison.efficiency = efficiency_of(times);
  if (tells_waits(times)) { comparison.pipeline = pipeline_of(times, who); }
  comparison.steps = times.steps();
  comparison.one_step_in = compared.every;
  comparison.left_out = compared.left_out;
  comparison.unexposed = compared.unexposed;
  return comparison;
}

}  // namespace detail
TAKT_END_NAMESPACE
