// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/rank_folder.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Why the folder of a rank has no journal, as far as can be seen from what lies in it, and what to do. Printable.
std::string why_no_journal(const RankFolder& folder);

/// What a folder without a run has in it instead: "is empty", "holds no run of Takt's, but a, b and 3 more". Printable.
std::string what_else_is_in(const std::string& folder);

}  // namespace cli
TAKT_END_NAMESPACE
