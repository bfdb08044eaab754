// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures how often a persistently slower rank is named, on simulated jobs, the same ones each time, as a table for
// docs/ranks.md.
//  takt_rank_power [jobs per cell, default 200]

#include "ranks/verdict.hpp"
#include "support/simulated_ranks.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// Returns the percentage of jobs in which the verdict names the slow rank and its region; if no rank is slow, the
/// percentage in which it names any.
double named(std::size_t ranks, std::size_t steps, double slower, int jobs) {
  int named = 0;
  for (int round = 0; round < jobs; ++round) {
    takt_test::SimulatedJob job;
    job.ranks = ranks;
    job.steps = steps;
    job.slower = slower;
    if (slower > 0) { job.slow = {static_cast<std::size_t>(round) % ranks}; }
    const auto verdict =
        takt::detail::verdicts_of(takt_test::simulate(job, 20'000 + static_cast<std::uint64_t>(round))).front();
    const bool somebody = verdict.state == takt::detail::RanksAre::slowed;
    const bool the_one = verdict.slowdown.ranks == job.slow && verdict.slowdown.region == "Backward";
    named += somebody && (slower == 0 || the_one);
  }
  return 100.0 * named / jobs;
}

}  // namespace

int main(int count, char** arguments) {
  const int jobs = count > 1 ? std::atoi(arguments[1]) : 200;
  if (jobs < 1) {
    std::fprintf(stderr, "takt_rank_power: %s is no number of jobs\n", arguments[1]);
    return 2;
  }
  constexpr std::size_t kRanks[] = {2, 4, 16, 64};
  std::printf("| steps | slower by |");
  for (const std::size_t ranks : kRanks) { std::printf(" %zu ranks |", ranks); }
  std::printf("\n|---|---|---|---|---|---|\n");
  for (const std::size_t steps : {60U, 300U, 1000U}) {
    for (const double slower : {0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2}) {
      std::printf("| %zu | %.0f %% |", steps, 100 * slower);
      for (const std::size_t ranks : kRanks) { std::printf(" %.1f |", named(ranks, steps, slower, jobs)); }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  return 0;
}
