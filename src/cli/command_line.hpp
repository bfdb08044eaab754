// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Does what `words`, those behind the program's name, ask for, and returns the exit status.
/// \throws std::exception for what the user has to change.
int run_command_line(std::vector<std::string> words);

}  // namespace cli
TAKT_END_NAMESPACE
