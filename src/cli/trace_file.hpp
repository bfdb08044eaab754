// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/rank_folder.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The file that a time line goes to: `given`, or one in this folder that is named after the run.
/// \param folder of one of the run's ranks, also in a merged file.
/// \param rank -1: of all.
/// \throws takt::Error where something is there that is no time line of Takt's: that is not replaced.
std::string trace_file(const std::string& given, const RankFolder& folder, int rank);

}  // namespace cli
TAKT_END_NAMESPACE
