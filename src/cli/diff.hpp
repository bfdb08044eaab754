// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/comparison.hpp"
#include "cli/ls.hpp"
#include "cli/run_folder.hpp"

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Reads a run for a comparison. What could not be read is told in `remarks`. \param also told of all rows, too.
/// \throws takt::Error where nothing can be read.
detail::ComparedRun compared_run(const RunFolder& run, std::vector<std::string>& remarks, const RunTaker& also = {});

}  // namespace cli
TAKT_END_NAMESPACE
