// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/scaling.hpp"

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Returns the page of `takt scaling`: one self-contained HTML file with the tables as text, and charts of them.
std::string scaling_page(const ScalingReport& report);

}  // namespace cli
TAKT_END_NAMESPACE
