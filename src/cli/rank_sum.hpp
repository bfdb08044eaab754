// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The totals of several ranks of one run, path by path. Its rank is -1 and its world size how many were added up. Wall
/// time and the time that no region covers are those of the rank that has most of it; threads, series, time lines and
/// losses are named by rank.
Snapshot merged(const std::vector<const Snapshot*>& ranks);

}  // namespace cli
TAKT_END_NAMESPACE
