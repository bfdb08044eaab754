// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace takt_test {

/// Times of one pipeline stage for a micro-batch, in ns.
struct StageTimes {
  double forward_ns = 0;
  double backward_ns = 0;
};

/// Simulates the schedule 1F1B. A stage first runs one forward per later stage, then alternates forwards and backwards,
/// then runs the remaining backwards. A forward follows the one of the previous stage, a backward the one of the next
/// stage. Returns the end of the last one.
inline double simulate_1f1b(const std::vector<StageTimes>& stages, std::size_t micro_batches) {
  struct Work {
    bool forward = true;
    std::size_t micro_batch = 0;
  };
  constexpr double kNotYet = -1;
  const std::size_t count = stages.size();
  std::vector<std::vector<Work>> plans(count);
  for (std::size_t stage = 0; stage < count; ++stage) {
    const std::size_t ahead = std::min(count - 1 - stage, micro_batches);
    for (std::size_t at = 0; at < ahead; ++at) { plans[stage].push_back({true, at}); }
    for (std::size_t at = 0; at + ahead < micro_batches; ++at) {
      plans[stage].push_back({true, ahead + at});
      plans[stage].push_back({false, at});
    }
    for (std::size_t at = micro_batches - ahead; at < micro_batches; ++at) { plans[stage].push_back({false, at}); }
  }
  const std::vector<double> none(micro_batches, kNotYet);
  std::vector<std::vector<double>> forward(count, none);  // end times
  std::vector<std::vector<double>> backward(count, none);
  std::vector<double> free(count);
  std::vector<std::size_t> next(count);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < count; ++stage) {
      if (next[stage] == plans[stage].size()) { continue; }
      const Work work = plans[stage][next[stage]];
      const std::size_t micro_batch = work.micro_batch;
      const double ready = work.forward         ? (stage == 0 ? 0 : forward[stage - 1][micro_batch])
                           : stage + 1 == count ? forward[stage][micro_batch]
                                                : backward[stage + 1][micro_batch];
      if (ready == kNotYet) { continue; }
      free[stage] =
          std::max(free[stage], ready) + (work.forward ? stages[stage].forward_ns : stages[stage].backward_ns);
      (work.forward ? forward : backward)[stage][micro_batch] = free[stage];
      ++next[stage];
      moved = true;
    }
  }
  return *std::max_element(free.begin(), free.end());
}

}  // namespace takt_test
