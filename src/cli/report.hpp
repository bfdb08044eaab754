// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/commands.hpp"
#include "cli/run_reader.hpp"
#include "cli/run_report.hpp"

#include <cstddef>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Reads these runs, and adds them up rank by rank: of each rank stays only what is printed of it. Says on stderr what
/// could not be read, and who is left out.
/// \param reader of which the rank that is wanted is kept.
/// \param directories how many were named.
/// \throws takt::Error where a run does not have the rank that is wanted.
std::vector<RunReport> read_reports(RunReader& reader, const ReportOptions& options, std::size_t directories);

/// Writes the page of a run, and says where. Of several ranks it reads the journal of the first one again, whose steps
/// it draws.
/// \throws takt::Error where the file cannot be written.
void write_page(const RunReport& run, const std::string& file);

}  // namespace cli
TAKT_END_NAMESPACE
