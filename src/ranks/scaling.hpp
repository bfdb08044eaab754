// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Scaling efficiency, and what limits it. docs/ranks.md has the formulas with sources. Each function returns 0 instead
// of dividing by 0. All: any thread.

/// A run with one number of ranks.
struct ScalingRun {
  std::uint64_t ranks = 0;
  std::uint64_t steps = 0;
  double items = 0;       ///< samples of all ranks in all steps
  double slowest_ns = 0;  ///< time of the slowest rank, which the others wait for
};

/// Scaling mode of a set of runs.
enum class Scaling {
  weak,    ///< the work per rank is constant: equal items per rank and step
  strong,  ///< the total work is constant: equal items of all ranks per step
  unclear  ///< neither, or all runs have the same size
};

/// A run compared with the smallest one.
struct ScalingRow {
  ScalingRun run;
  double items_per_s = 0;
  double speed_up = 0;    ///< relative to the smallest run
  double efficiency = 0;  ///< speed-up divided by the ratio of ranks; 1 is ideal
};

/// Returns part / whole; 0 instead of dividing by 0.
constexpr double ratio(double part, double whole) noexcept { return whole > 0 ? part / whole : 0; }

/// S = items of all ranks / time of the slowest.
constexpr double items_per_s(const ScalingRun& run) noexcept { return ratio(run.items, run.slowest_ns * 1e-9); }
/// S(P) / S(P0). For strong scaling with equal steps this is T(P0) / T(P).
constexpr double speed_up(const ScalingRun& run, const ScalingRun& smallest) noexcept {
  return ratio(items_per_s(run), items_per_s(smallest));
}
/// S(P) / (P / P0 x S(P0)). Valid for weak and strong scaling, because it counts items, not runs.
constexpr double scaling_efficiency(const ScalingRun& run, const ScalingRun& smallest) noexcept {
  return ratio(speed_up(run, smallest), ratio(static_cast<double>(run.ranks), static_cast<double>(smallest.ranks)));
}

/// 1 - S / S(without): share of the rate lost to communication, from runs with and without it.
constexpr double communication_share(double rate, double rate_without) noexcept {
  return rate_without > 0 ? 1 - rate / rate_without : 0;
}
/// S(without) / S - 1: relative increase of the time by communication, from the same runs. Larger than
/// communication_share().
constexpr double communication_lengthening(double rate, double rate_without) noexcept {
  return rate > 0 ? rate_without / rate - 1 : 0;
}
/// 1 - S / S(synthetic): share of the rate lost to waiting for data, from runs with and without the loader.
constexpr double data_stall(double rate, double rate_synthetic) noexcept {
  return rate_synthetic > 0 ? 1 - rate / rate_synthetic : 0;
}

/// Classifies by items per step, within 1 %.
Scaling scaling_of(const std::vector<ScalingRun>& runs);
/// Returns the runs sorted by ranks, each compared with the smallest.
std::vector<ScalingRow> scaling_rows(std::vector<ScalingRun> runs);

}  // namespace detail
TAKT_END_NAMESPACE
