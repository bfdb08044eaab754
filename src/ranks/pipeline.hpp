// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/step_times.hpp"

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What share of its steps a stage waits: its bubble.
struct StageWait {
  int stage = 0;
  std::size_t ranks = 0;
  double share = 0;
};

/// The stages of a pipeline, ascending: ranks in the groups "stage". Empty where there are fewer than two.
struct Pipeline {
  std::vector<StageWait> stages;
  unsigned micro_batches = 0;  ///< of a step, by the parameter "micro_batches"; 0: not the same number on all ranks
  double ideal = 0;            ///< ideal_bubble(); 0 where the micro-batches are not known
};

/// \param ranks of the job, those of `times` among them. Any thread.
Pipeline pipeline_of(const StepTimes& times, const std::vector<const Snapshot*>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
