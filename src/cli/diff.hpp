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
  RankDirectory first;  ///< first rank
};

/// Reads the runs in a directory for a comparison, usually one. Unreadable data is reported in `warnings`.
/// \throws takt::Error if nothing is readable.
std::vector<RunOfSide> compared_runs(const RunDirectory& directory, std::vector<std::string>& warnings);

}  // namespace cli
TAKT_END_NAMESPACE
