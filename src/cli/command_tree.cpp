// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_tree.hpp"

#include "base/format.hpp"

#include <algorithm>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace cli {

const CommandText* find_command(const CommandTree& tree, const std::string& name) noexcept {
  const auto found = std::find_if(tree.commands.begin(), tree.commands.end(),
                                  [&](const CommandText& each) { return each.name == name; });
  return found == tree.commands.end() ? nullptr : &*found;
}

std::string short_help(const CommandTree& tree) {
  std::size_t width = 0;
  for (const CommandText& each : tree.commands) { width = std::max(width, each.name.size()); }
  std::string text = tree.program.help + "\n\n";
  for (const CommandText& each : tree.commands) {
    text += detail::format("  {} {:<{}}  {}\n", tree.program.name, each.name, width, each.help);
  }
  return text + "\nRUN is the folder of a run; without one it is the newest run in takt-runs.\n" +
         detail::format("{0} help COMMAND tells the options of a command, {0} --help all of them.\n",
                        tree.program.name);
}

}  // namespace cli
TAKT_END_NAMESPACE
