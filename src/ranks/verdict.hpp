// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_comparison.hpp"
#include "ranks/rank_steps.hpp"
#include "ranks/reported_waits.hpp"

#include <takt/snapshot.hpp>

#include <cstddef>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Result of comparing the ranks of a group.
enum class RanksAre {
  slowed,      ///< one or several ranks make the others wait
  imbalanced,  ///< steps wait for their slowest rank beyond noise, but no rank stands out
  alike,
  unreported,  ///< no region records where they wait for each other
  too_short,   ///< fewer steps than needed
  alone        ///< a single rank, so nothing to compare
};

/// Effect of slow ranks on their group.
struct SlowRank {
  std::vector<std::size_t> ranks;  ///< indices, ascending; empty if no rank is slow
  bool whole_host = false;         ///< several ranks of one host, more than half of its ranks, and other hosts exist
  std::string region;              ///< where they are longest over the others; empty: outside all regions
  double longer_ns = 0;            ///< per step, median
  std::size_t longer_steps = 0;    ///< number of steps in which they are longer there
  std::string others_wait_in;      ///< empty: in no region
  Cost cost;
};

/// Verdict on one group of ranks.
struct RankVerdict {
  RanksAre state = RanksAre::alike;
  std::string group;
  std::vector<std::size_t> ranks;    ///< indices of its ranks
  std::vector<RankExcess> excesses;  ///< of `ranks`, in order; empty if they were not compared
  Imbalance imbalance;
  SlowRank slowdown;
  bool reports_waits = true;  ///< at least one of them reports waits
  HiddenWait hidden;          ///< if they are `unreported` nevertheless
  Finding finding;
};

/// Returns one verdict per group, highest cost first. docs/ranks.md has the rules.
std::vector<RankVerdict> verdicts_of(const StepTimes& times);

/// Returns the finding of a verdict whose other fields are set. Its sentence is for people; its evidence has the
/// figures.
Finding finding_of(const StepTimes& times, const RankVerdict& verdict);

}  // namespace detail
TAKT_END_NAMESPACE
