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

/// Reads these runs and adds up their ranks; keeps only the data of each rank that is printed. Prints unreadable data
/// and excluded ranks on stderr.
/// \param reader already limited to the requested rank.
/// \param directories number of named directories.
/// \throws takt::Error if a run does not have the requested rank.
std::vector<RunReport> read_reports(RunReader& reader, const ReportOptions& options, std::size_t directories);

/// Writes the page of a run and prints its path. With several ranks, reads the first one's journal again to draw its
/// steps.
/// \throws takt::Error if the file cannot be written.
void write_page(const RunReport& run, const std::string& file);

}  // namespace cli
TAKT_END_NAMESPACE
