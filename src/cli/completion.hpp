// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/command_tree.hpp"

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What may stand in the place of a word.
struct Completions {
  /// What else there may be, which is looked up in folders.
  enum class Rest { nothing, files, folders, runs, regions };

  struct Word {
    std::string text;
    std::string help;  ///< a line
  };

  std::vector<Word> words;
  Rest rest = Rest::nothing;
  std::string begun;               ///< how a word that is looked up begins
  std::string before;              ///< what has to stand in front of it: "--region="
  std::vector<std::string> given;  ///< arguments so far: runs
};

/// Of the last of `words`, which are those behind "takt" up to the cursor. Any thread.
Completions completions_of(const CommandTree& tree, std::vector<std::string> words);

/// Prints these for a shell: a line each, with a tab in front of its help; then ":files", ":folders" or ":", what the
/// shell itself adds. What a shell would not take as it stands is left out. Returns the exit status.
int complete(const CommandTree& tree, const std::vector<std::string>& words);

}  // namespace cli
TAKT_END_NAMESPACE
