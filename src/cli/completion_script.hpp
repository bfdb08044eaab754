// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What makes a shell ask `takt complete` for the words that fit. \param shell "bash", "zsh" or "fish". Any thread.
std::string completion_script(const std::string& shell);

}  // namespace cli
TAKT_END_NAMESPACE
