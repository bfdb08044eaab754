// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/command_descriptions.hpp"
#include "cli/command_tree.hpp"
#include "cli/completion.hpp"
#include "cli/completion_script.hpp"
#include "cli/man_page.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using CommandWords = std::vector<std::string>;

constexpr const char* kAbout = "What runs that were timed with Takt have left in their folders.";
constexpr const char* kStatus =
    "Exit status: 0 fine, 1 nothing found, not readable or not whole, 2 wrong usage, 3 something is not delivered yet, "
    "4 delivered, but the run has lost some. takt diff has its own: takt help diff.";

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  text.is_argument = option.get_positional();
  if (text.is_argument) { text.names.push_back(option.get_name(true)); }
  for (const std::string& each : option.get_snames()) { text.names.push_back("-" + each); }
  for (const std::string& each : option.get_lnames()) { text.names.push_back("--" + each); }
  const bool is_flag = option.get_items_expected_max() == 0;
  text.value = is_flag ? "" : option.get_type_name();
  if (text.value.find('|') != std::string::npos) { text.choices = CLI::detail::split(text.value, '|'); }
  text.help = option.get_description();
  text.repeats = option.get_items_expected_max() > 1;
  return text;
}

CommandText command_text(const CLI::App& app) {
  CommandText text = {app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* each : app.get_options()) { text.options.push_back(option_text(*each)); }
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); })) {
    for (const CLI::Option* each : group->get_options()) { text.options.push_back(option_text(*each)); }
  }
  return text;
}

/// Without what is hidden.
CommandTree tree_of(const CLI::App& app) {
  CommandTree tree = {command_text(app), {}};
  const auto is_shown = [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); };
  for (const CLI::App* each : app.get_subcommands(is_shown)) { tree.commands.push_back(command_text(*each)); }
  return tree;
}

/// `takt help COMMAND` is `takt COMMAND --help`.
void describe_help(CLI::App& app, Call& call) {
  app.add_subcommand("help", "Tell the options of a command")
      ->add_option("COMMAND", call.file, "Default: the list of all commands")
      ->type_name("COMMAND");
}

/// What packagers and shells ask for.
void describe_hidden(CLI::App& app, Call& call) {
  CLI::App* const man = app.add_subcommand("man", "Print the man page: takt man | man -l -")->group("");
  man->callback([&] {
    call.command = [&app] {
      detail::print(stdout, "{}", man_page(tree_of(app)));
      return 0;
    };
  });
  CLI::App* const completion = app.add_subcommand("completion", "Print what completes commands in a shell")->group("");
  completion->add_option("SHELL", call.shell, "bash: source <(takt completion bash)")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion->callback([&call] {
    call.command = [&call] {
      detail::print(stdout, "{}", completion_script(call.shell));
      return 0;
    };
  });
}

/// Says which command a misspelt `word` may be. Returns whether it did.
bool tell_nearest(const CLI::App& app, std::string_view word) {
  std::vector<std::string_view> known;
  std::string list;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (!command->get_group().empty()) { list += " " + command->get_name(); }
  }
  if (word.substr(0, 1) == "-" || std::find(known.begin(), known.end(), word) != known.end()) { return false; }
  const std::string_view nearest = detail::nearest(word, known.data(), known.size());
  detail::print(stderr, "takt: there is no command '{}'. Nearest: {}. There are:{}\n",
                detail::fit(detail::printable(word), 60), nearest, list);
  return true;
}

/// Of takt diff: each run behind "--" gets the option --new, so that options may stand between them.
CommandWords name_new_side(const CommandWords& words, const CommandText& diff) {
  std::set<std::string> with_value;
  for (const OptionText& each : diff.options) {
    if (!each.value.empty()) { with_value.insert(each.names.begin(), each.names.end()); }
  }
  CommandWords named;
  bool is_new_side = false;
  bool is_value = false;
  for (const std::string& each : words) {
    if (each == "--" && !is_value && !std::exchange(is_new_side, true)) { continue; }
    const bool is_option = each.size() > 1 && each[0] == '-';
    if (is_new_side && !is_value && !is_option) { named.emplace_back("--new"); }
    named.push_back(each);
    is_value = !is_value && with_value.count(each) != 0;
  }
  return named;
}

/// Says what was asked about the arguments, or what is wrong with them. Returns the status.
int tell_usage(const CLI::App& app, const CLI::ParseError& error, const CommandText* command) {
  if (error.get_exit_code() != 0) {  // it repeats what it was given
    detail::print(stderr, "takt: {}\ntakt help{} tells what there is\n", detail::printable_lines(error.what()),
                  command == nullptr ? "" : " " + command->name);
    return kUsage;
  }
  std::ostringstream out;
  std::ostringstream err;
  app.exit(error, out, err);
  detail::print(stdout, "{}", detail::printable_lines(out.str()));
  return 0;
}

/// "help report" as "report --help".
CommandWords without_help_option(CommandWords words) {
  if (words.front() != "help") { return words; }
  words.erase(words.begin());
  if (words.empty() || words.back() != "--help") { words.emplace_back("--help"); }
  return words;
}

}  // namespace

int run_command_line(std::vector<std::string> words) {
  CLI::App app(kAbout, "takt");
  app.set_version_flag("--version", "takt " + detail::version_text());
  app.require_subcommand(1);
  Call call;
  describe_commands(app, call);
  describe_help(app, call);
  describe_hidden(app, call);
  app.footer(kStatus);  // commands would have it, too, were it there before them
  const CommandTree tree = tree_of(app);
  if (words.empty()) {
    std::fputs(short_help(tree).c_str(), stderr);
    return kUsage;
  }
  if (words.front() == "complete") { return complete(tree, {words.begin() + 1, words.end()}); }
  words = without_help_option(std::move(words));
  const std::string first = words.front();
  if (const CommandText* const diff = find_command(tree, "diff"); first == "diff") {
    words = name_new_side(words, *diff);
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return tell_nearest(app, first) ? kUsage : tell_usage(app, error, find_command(tree, first));
  }
  const int status = call.command();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) { return status; }
  std::fputs("takt: not all that was asked for could be written to the standard output; is the disk full?\n", stderr);
  return call.broken;
}

}  // namespace cli
TAKT_END_NAMESPACE
