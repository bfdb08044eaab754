// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/run_report.hpp"

#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// How a run stands, in one line of key=value pairs (docs/command.md), as of this wall clock. Printable. Any thread.
std::string watch_line(const RunReport& run, std::int64_t now_unix_ns);

}  // namespace cli
TAKT_END_NAMESPACE
