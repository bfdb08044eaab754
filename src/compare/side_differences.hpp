// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "compare/comparison.hpp"

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Why the sides should not be compared: another number of ranks, or regions that only one side has. Any thread.
std::vector<Finding> obstacles_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// What differs besides: facts, runs that have not finished, sides that were not run in turn. Any thread.
std::vector<Finding> differences_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Whether not all runs of one side began before those of the other, or there are too few to say so. Any thread.
bool in_turn(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Whether some runs have the times of a region by steps and others by calls: these do not compare. Any thread.
bool has_unlike_times(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now,
                      const std::string& path);

/// Regions that are missing, new, in some runs only, called differently often, or several of one name; losses, items.
/// Any thread.
std::vector<Finding> findings_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

}  // namespace detail
TAKT_END_NAMESPACE
