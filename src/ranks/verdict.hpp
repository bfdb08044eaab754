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

/// How the ranks of a group stand to each other.
enum class RanksAre {
  slowed,      ///< one or several make the others wait
  imbalanced,  ///< steps wait for their slowest rank by more than noise explains, and no rank stands out
  alike,
  unreported,  ///< no region tells where they wait for each other
  too_short,   ///< there are fewer steps than it takes
  alone        ///< one rank, that none can be compared with
};

/// What slow ranks do to the others of their group.
struct SlowRank {
  std::vector<std::size_t> ranks;  ///< places, ascending; empty: nobody is slow
  bool whole_host = false;         ///< several, all of one host, more than half of its ranks; and there are other hosts
  std::string region;              ///< in which they are longer by most; empty: outside all regions
  double longer_ns = 0;            ///< in a step, by its median
  std::size_t longer_steps = 0;    ///< steps in which they are longer there
  std::string others_wait_in;      ///< empty: in no region
  Cost cost;
};

/// Who makes whom wait in one group of ranks.
struct RankVerdict {
  RanksAre state = RanksAre::alike;
  std::string group;
  std::vector<std::size_t> ranks;    ///< places of its ranks
  std::vector<RankExcess> excesses;  ///< of these, in this order; empty where they were not compared
  Imbalance imbalance;
  SlowRank slowdown;
  bool tells_waits = true;  ///< at least one of them does
  HiddenWait hidden;        ///< where they are `untold` all the same
  Finding finding;
};

/// One verdict a group, those with the highest cost first. docs/ranks.md says by which rules.
std::vector<RankVerdict> verdicts_of(const StepTimes& times);

/// The finding of one verdict, whose other fields are there. The sentence is for people; the evidence has its figures.
Finding finding_of(const StepTimes& times, const RankVerdict& verdict);

}  // namespace detail
TAKT_END_NAMESPACE
