// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/scaling_report.hpp"
#include "report/page.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// For people, by lines.
std::string scaling_table(const ScalingReport& report, detail::Page page);
/// A line for each run. What is not known is empty.
std::string scaling_csv(const ScalingReport& report);
/// By schema "takt-scaling/1", docs/command.md.
std::string scaling_json(const ScalingReport& report);

}  // namespace cli
TAKT_END_NAMESPACE
