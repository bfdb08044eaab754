// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

// Commands and options of `takt` as values, for completions, the man page and the short help.

struct OptionText {
  std::vector<std::string> names;    ///< "-o", "--output"; for an argument its name, "RUN"
  std::string value;                 ///< name of a value, "FILE"; empty: takes none
  std::vector<std::string> choices;  ///< allowed values; empty: any
  std::string help;
  bool is_argument = false;
  bool repeats = false;
  bool required = false;
};

struct CommandText {
  std::string name;
  std::string help;   ///< one line
  std::string notes;  ///< text after the options: exit statuses and the like
  std::vector<OptionText> options;
};

struct CommandTree {
  CommandText program;  ///< "takt" itself
  std::vector<CommandText> commands;
};

/// Returns the command of this name, or nullptr. Any thread.
const CommandText* find_command(const CommandTree& tree, const std::string& name) noexcept;

/// Returns the output of `takt` without arguments, and of `takt --help`: a line for each command.
std::string short_help(const CommandTree& tree);

/// Returns the output of `takt COMMAND --help`, in lines of at most 100 columns.
std::string help_text(const CommandText& command);

/// Possible completions of a word.
struct Completions {
  /// Further candidates, from directories.
  enum class Rest { nothing, files, directories, runs, regions };

  struct Word {
    std::string text;
    std::string help;  ///< one line
  };

  std::vector<Word> words;
  Rest rest = Rest::nothing;
  std::string started;             ///< typed part of a word that is completed from directories
  std::string before;              ///< required prefix: "--region="
  std::vector<std::string> given;  ///< arguments so far: runs
};

/// Completes the last of `words`, the words after "takt" up to the cursor. Any thread.
Completions completions_of(const CommandTree& tree, std::vector<std::string> words);

/// Prints completions for a shell: a line each, with its help after a tab; then ":files", ":directories" or ":" for the
/// shell's own completion. Skips words that need quoting. Returns the exit status.
int complete(const CommandTree& tree, const std::vector<std::string>& words);

/// Returns the script that makes a shell call `takt complete`. \param shell "bash", "zsh" or "fish". Any thread.
std::string completion_script(const std::string& shell);

/// Returns takt.1, for man(1): all commands and options. Any thread.
std::string man_page(const CommandTree& tree);

}  // namespace cli
TAKT_END_NAMESPACE
