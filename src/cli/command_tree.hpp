// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

// The commands and options of `takt` as values: what completions, the man page and the short help are made of.

struct OptionText {
  std::vector<std::string> names;    ///< "-o", "--output"; of an argument its name alone, "RUN"
  std::string value;                 ///< what stands for a value, "FILE"; empty: it takes none
  std::vector<std::string> choices;  ///< the values that there are; empty: any
  std::string help;
  bool is_argument = false;
  bool repeats = false;
};

struct CommandText {
  std::string name;
  std::string help;   ///< a line
  std::string notes;  ///< what is below the options: exit statuses and the like
  std::vector<OptionText> options;
};

struct CommandTree {
  CommandText program;  ///< "takt" itself
  std::vector<CommandText> commands;
};

/// The command of this name; nullptr: there is none. Any thread.
const CommandText* find_command(const CommandTree& tree, const std::string& name) noexcept;

/// What `takt` says without a word: a line for each command.
std::string short_help(const CommandTree& tree);

}  // namespace cli
TAKT_END_NAMESPACE
