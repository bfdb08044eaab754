// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// What more ranks bring, and what keeps them from bringing more. docs/ranks.md has the formulas with their sources.
// Each is 0 where it would divide by 0. All: any thread.

/// A run of one size.
struct ScalingRun {
  std::uint64_t ranks = 0;
  std::uint64_t steps = 0;
  double items = 0;       ///< samples of all ranks in all steps
  double slowest_ns = 0;  ///< time of the rank that took longest: the others wait for it
};

/// What grows with the ranks.
enum class Scaling {
  weak,    ///< the work: each rank has as many items a step as before
  strong,  ///< nothing: all ranks together have as many items a step as before
  unclear  ///< neither is so, or there is one size alone
};

/// A run beside the smallest one.
struct ScalingRow {
  ScalingRun run;
  double items_per_s = 0;
  double speed_up = 0;    ///< over the smallest run
  double efficiency = 0;  ///< speed-up over how many times as many ranks there are; 1 is ideal
};

/// A quotient; 0 where it would divide by 0.
constexpr double ratio(double part, double whole) noexcept { return whole > 0 ? part / whole : 0; }

/// S = items of all ranks over the time of the slowest.
constexpr double items_per_s(const ScalingRun& run) noexcept { return ratio(run.items, run.slowest_ns * 1e-9); }
/// S(P) / S(P0). Of strong scaling with equal steps that is T(P0) / T(P).
constexpr double speed_up(const ScalingRun& run, const ScalingRun& smallest) noexcept {
  return ratio(items_per_s(run), items_per_s(smallest));
}
/// S(P) / (P / P0 x S(P0)): weak and strong scaling alike, as items are counted, not runs.
constexpr double scaling_efficiency(const ScalingRun& run, const ScalingRun& smallest) noexcept {
  return ratio(speed_up(run, smallest), ratio(static_cast<double>(run.ranks), static_cast<double>(smallest.ranks)));
}

/// 1 - S / S(without): the share of the rate that communication takes, from runs with it and without.
constexpr double communication_share(double rate, double rate_without) noexcept {
  return rate_without > 0 ? 1 - rate / rate_without : 0;
}
/// S(without) / S - 1: by how much communication lengthens the time, from the same runs. Larger than
/// communication_share().
constexpr double communication_lengthening(double rate, double rate_without) noexcept {
  return rate > 0 ? rate_without / rate - 1 : 0;
}
/// 1 - S / S(synthetic): the share of the rate that waiting for data takes, from runs with the loader and without.
constexpr double data_stall(double rate, double rate_synthetic) noexcept {
  return rate_synthetic > 0 ? 1 - rate / rate_synthetic : 0;
}

/// By the items a step, within 1 %.
Scaling scaling_of(const std::vector<ScalingRun>& runs);
/// Sorted by ranks, each beside the run with the fewest.
std::vector<ScalingRow> scaling_rows(std::vector<ScalingRun> runs);

}  // namespace detail
TAKT_END_NAMESPACE
