// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

enum class ReportForm { table, json, csv, steps };

/// `takt report`: prints what the runs say. Each of these returns the exit status.
/// \throws takt::Error for what the user has to change.
int report(const std::vector<std::string>& runs, ReportForm form);

/// `takt check`: prints what is whole and what is lost.
int check(const std::vector<std::string>& runs);

/// `takt trace`: writes a time line.
int trace(const std::string& run, const std::string& file);

}  // namespace cli
TAKT_END_NAMESPACE
