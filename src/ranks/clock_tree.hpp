// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/clock_alignment.hpp"

#include <cstdint>
#include <map>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one rank knows of the clocks of others.
struct RankReadings {
  std::uint32_t rank = 0;
  std::vector<ClockReading> readings;
};

/// How the clocks of ranks stand to that of the first of them, by what takt::mpi has read: each rank knows its parent
/// in a tree, or rank 0, so that offsets and errors add up on the way. A rank is not in it where that way is cut.
/// Between the earliest and the latest reading of a rank lies a straight line. Any thread.
/// \param ranks ascending, each once. Readings may say anything.
std::map<std::uint32_t, ClockAlignment> align_by_readings(const std::vector<RankReadings>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
