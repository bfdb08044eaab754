// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/commands.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_report.hpp"

#include <takt/error.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Reads the runs of these folders, and adds them up rank by rank: of each rank stays only what is printed of it. They
/// come in the order in which their folders were named. Remarks go to stderr: what could not be read, and who is left
/// out. \param all becomes false where something was not readable.
/// \throws takt::Error where a run does not have the rank that is wanted.
std::vector<RunReport> read_reports(const std::vector<RankFolder>& folders, const ReportWishes& wishes, bool& all);

/// Whether a report of this rank is asked for.
bool is_wanted(const ReportWishes& wishes, const RunInfo& run) noexcept;

Error no_such_rank(int rank);

}  // namespace cli
namespace cli {

/// Writes the page of a run, and says where. Of several ranks it reads the journal of the first one again, whose steps
/// it draws.
/// \throws takt::Error where the file cannot be written.
void write_page(const RunReport& run, const std::string& file);

}  // namespace cli
TAKT_END_NAMESPACE
