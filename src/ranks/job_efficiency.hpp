// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"

#include <takt/job.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns the efficiency of these ranks; nothing if they report no waits (reported_waits.hpp) or took no time. Any
/// thread.
std::optional<JobEfficiency> efficiency_of(const StepTimes& times);

/// Share of its steps that a group waits; for a pipeline stage, its bubble.
struct GroupWait {
  std::string group;
  std::size_t ranks = 0;
  double share = 0;
};
/// Returns waits in order of the groups' first appearance.
std::vector<GroupWait> waits_of(const StepTimes& times);

/// Returns the ideal bubble of a pipeline with equally long stages: (p - 1) / (m + p - 1) for p stages and m
/// micro-batches. REQUIRES: p >= 1 and m >= 1.
constexpr double ideal_bubble(unsigned stages, unsigned micro_batches) noexcept {
  return (stages - 1.0) / (micro_batches + (stages - 1.0));
}

/// \param ranks of the job, including those of `times`. Any thread.
Pipeline pipeline_of(const StepTimes& times, const std::vector<JobRank>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
