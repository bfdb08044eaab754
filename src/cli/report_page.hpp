// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/run_report.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Writes the page of a run, and says where. Of several ranks it reads the journal of the first one again, whose steps
/// it draws.
/// \throws takt::Error where the file cannot be written.
void write_page(const RunReport& run, const std::string& file);

}  // namespace cli
TAKT_END_NAMESPACE
