// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/run_report.hpp"

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Returns JSON with the schema "takt-report/2", docs/command.md.
std::string report_json(const std::vector<RunReport>& runs);
/// Returns a CSV line for each path.
std::string report_csv(const std::vector<RunReport>& runs);

}  // namespace cli
TAKT_END_NAMESPACE
