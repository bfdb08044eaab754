// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/command_tree.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// takt.1, for man(1): all commands and options. Any thread.
std::string man_page(const CommandTree& tree);

}  // namespace cli
TAKT_END_NAMESPACE
