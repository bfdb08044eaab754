// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace takt_test {

/// A data-parallel job: all ranks do the same work and meet in Comm at the end of each step.
struct SimulatedJob {
  static constexpr double kBusyNs = 100e6;  ///< step of a rank without noise
  static constexpr double kCommNs = 5e6;    ///< time in Comm of the last rank to arrive

  std::size_t ranks = 2;
  std::size_t steps = 60;
  double noise = 0.05;              ///< deviation of the logarithm of each busy time
  double bursts = 0.005;            ///< probability that a step of a rank takes up to three times as long
  std::uint64_t longest_burst = 1;  ///< in steps
  double shared_bursts = 0.005;     ///< probability of a burst on all ranks, as from a file system: one to five steps
  std::vector<std::size_t> slow;    ///< ranks with a longer Backward
  double slower = 0;                ///< added share of their busy time
  bool taking_turns = false;        ///< in each step another rank takes half as long again
  std::size_t ranks_per_host = 8;
};

/// IO, Forward, Backward, Comm: indices in StepTimes::regions().
enum SimulatedRegion : std::size_t { kIo, kForward, kBackward, kComm };

inline double normal(Random& random) {
  constexpr double kTwoPi = 6.283185307179586;
  return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(kTwoPi * random.uniform());
}

/// The factor of a burst for each step: 1 to 3, or 1 outside bursts.
class SimulatedBursts {
 public:
  SimulatedBursts(double often, std::uint64_t longest) : often_(often), longest_(longest) {}

  double next(Random& random) {
    if (left_ == 0 && random.uniform() < often_) {
      left_ = 1 + random.below(longest_);
      factor_ = 1 + 2 * random.uniform();
    }
    if (left_ == 0) { return 1; }
    --left_;
    return factor_;
  }

 private:
  double often_;
  std::uint64_t longest_;
  std::uint64_t left_ = 0;
  double factor_ = 1;
};

/// Returns the job's times, and the sum of the injected time in `injected_ns`.
inline takt::detail::StepTimes simulate(const SimulatedJob& job, std::uint64_t seed, double* injected_ns = nullptr) {
  constexpr std::pair<SimulatedRegion, double> kShares[] = {{kIo, 0.1}, {kForward, 0.3}, {kBackward, 0.6}};
  std::vector<takt::detail::JobRank> ranks;
  for (std::size_t rank = 0; rank < job.ranks; ++rank) {
    ranks.push_back({static_cast<std::uint32_t>(rank), "node" + std::to_string(rank / job.ranks_per_host), ""});
  }
  takt::detail::StepTimes times(std::move(ranks),
                                {{"IO", takt::Kind::io},
                                 {"Forward", takt::Kind::compute},
                                 {"Backward", takt::Kind::compute},
                                 {"Comm", takt::Kind::comm}},
                                job.steps);
  Random random(seed);
  std::vector<SimulatedBursts> bursts(job.ranks, SimulatedBursts(job.bursts, job.longest_burst));
  SimulatedBursts shared(job.shared_bursts, 5);
  double injected = 0;
  for (std::size_t step = 0; step < job.steps; ++step) {
    const double of_all = shared.next(random);
    double longest = 0;
    std::vector<double> busy(job.ranks);
    for (std::size_t rank = 0; rank < job.ranks; ++rank) {
      const double factor = std::exp(job.noise * normal(random)) * bursts[rank].next(random) * of_all;
      const bool slow = std::find(job.slow.begin(), job.slow.end(), rank) != job.slow.end();
      const bool turn = job.taking_turns && step % job.ranks == rank;
      for (const auto& [region, share] : kShares) {
        double ns = share * SimulatedJob::kBusyNs * factor;
        if (region == kBackward && (slow || turn)) {
          const double more = (turn ? 0.5 : job.slower) * SimulatedJob::kBusyNs * factor;
          injected += more;
          ns += more;
        }
        times.region_ns(region, rank, step) = static_cast<std::uint64_t>(ns);
        busy[rank] += static_cast<double>(times.region_ns(region, rank, step));
      }
      longest = std::max(longest, busy[rank]);
    }
    for (std::size_t rank = 0; rank < job.ranks; ++rank) {
      times.step_ns(rank, step) = static_cast<std::uint64_t>(longest + SimulatedJob::kCommNs);
      times.region_ns(kComm, rank, step) = times.step_ns(rank, step) - static_cast<std::uint64_t>(busy[rank]);
    }
  }
  if (injected_ns != nullptr) { *injected_ns = injected; }
  return times;
}

}  // namespace takt_test
