// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/comparison.hpp"
#include "cli/run_folder.hpp"

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A run for a comparison.
struct RunOfSide {
  detail::ComparedRun figures;
  RankFolder first;  ///< of its ranks
};

/// Reads the runs in a folder for a comparison: one as a rule. What could not be read is told in `remarks`.
/// \throws takt::Error where nothing can be read.
std::vector<RunOfSide> compared_runs(const RunFolder& folder, std::vector<std::string>& remarks);

}  // namespace cli
TAKT_END_NAMESPACE
