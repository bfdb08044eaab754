// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/comparison.hpp"
#include "cli/run_directory.hpp"

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A run for a comparison.
struct RunOfSide {
  detail::ComparedRun figures;
  RankDirectory first;  ///< of its ranks
};

/// Reads the runs in a directory for a comparison: one as a rule. What could not be read is told in `remarks`.
/// \throws takt::Error where nothing can be read.
std::vector<RunOfSide> compared_runs(const RunDirectory& directory, std::vector<std::string>& warnings);

}  // namespace cli
TAKT_END_NAMESPACE
