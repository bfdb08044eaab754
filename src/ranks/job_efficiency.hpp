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

/// Of the ranks in it; nothing if these do not tell where they wait (reported_waits.hpp), or took no time. Any thread.
std::optional<JobEfficiency> efficiency_of(const StepTimes& times);

/// What share of its steps a group waits: in a pipeline, the bubble of a stage.
struct GroupWait {
  std::string group;
  std::size_t ranks = 0;
  double share = 0;
};
/// In the order in which groups come first.
std::vector<GroupWait> waits_of(const StepTimes& times);

/// The share that each stage of a pipeline waits where all stages take equally long: (p - 1) / (m + p - 1) of p stages
/// and m micro-batches. REQUIRES: one of each or more.
constexpr double ideal_bubble(unsigned stages, unsigned micro_batches) noexcept {
  return (stages - 1.0) / (micro_batches + (stages - 1.0));
}

/// \param ranks of the job, those of `times` among them. Any thread.
Pipeline pipeline_of(const StepTimes& times, const std::vector<JobRank>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
