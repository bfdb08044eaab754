// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/job_efficiency.hpp"

#include "ranks/rank_excess.hpp"
#include "ranks/step_window.hpp"
#include "ranks/told_waits.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

JobEfficiency efficiency_of(const StepTimes& times) {
  if (!tells_waits(times)) { return {}; }
  for (const std::vector<std::size_t>& group : groups_of(times)) {
    const bool compared = group.size() > 1 && times.steps() >= kLeastSteps;
    if (compared && hidden_wait_of(times, group).ns > 0) { return {}; }
  }
  double most = 0;
  double sum = 0;
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) {
    double busy = 0;
    for (std::size_t step = 0; step < times.steps(); ++step) { busy += static_cast<double>(times.busy_ns(rank, step)); }
    most = std::max(most, busy);
    sum += busy;
  }
  JobEfficiency efficiency;
  const double job = times.job_ns();
  if (most <= 0 || job <= 0) { return efficiency; }
  efficiency.load_balance = sum / static_cast<double>(times.ranks().size()) / most;
  efficiency.communication = most / job;
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

}  // namespace detail
TAKT_END_NAMESPACE
