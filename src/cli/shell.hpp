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

/// What may stand in the place of a word.
struct Completions {
  /// What else there may be, which is looked up in directories.
  enum class Rest { nothing, files, directories, runs, regions };

  struct Word {
    std::string text;
    std::string help;  ///< a line
  };

  std::vector<Word> words;
  Rest rest = Rest::nothing;
  std::string started;             ///< how a word that is looked up begins
  std::string before;              ///< what has to stand in front of it: "--region="
  std::vector<std::string> given;  ///< arguments so far: runs
};

/// Of the last of `words`, which are those behind "takt" up to the cursor. Any thread.
Completions completions_of(const CommandTree& tree, std::vector<std::string> words);

/// Prints these for a shell: a line each, with a tab in front of its help; then ":files", ":directories" or ":", what
/// the
/// shell itself adds. What a shell would not take as it stands is left out. Returns the exit status.
int complete(const CommandTree& tree, const std::vector<std::string>& words);

/// What makes a shell ask `takt complete` for the words that fit. \param shell "bash", "zsh" or "fish". Any thread.
std::string completion_script(const std::string& shell);

/// takt.1, for man(1): all commands and options. Any thread.
std::string man_page(const CommandTree& tree);

}  // namespace cli
TAKT_END_NAMESPACE
