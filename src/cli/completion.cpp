// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/completion.hpp"

#include <takt/session.hpp>

#include "base/format.hpp"
#include "cli/run_folder.hpp"
#include "journal/journal_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using Rest = Completions::Rest;

constexpr std::size_t kMostLookedUp = 1000;

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

const OptionText* find_option(const CommandText& command, const std::string& name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(), [&](const OptionText& each) {
    return !each.is_argument && std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  return found == command.options.end() ? nullptr : &*found;
}

/// The argument behind so many others; nullptr: the command has none.
const OptionText* find_argument(const CommandText& command, std::size_t given) {
  const OptionText* found = nullptr;
  for (const OptionText& each : command.options) {
    if (!each.is_argument) { continue; }
    found = &each;
    if (each.repeats || given == 0) { break; }
    --given;
  }
  return found;
}

Rest rest_of(const std::string& value) {
  return value == "RUN"      ? Rest::runs
         : value == "FOLDER" ? Rest::folders
         : value == "FILE"   ? Rest::files
         : value == "REGION" ? Rest::regions
                             : Rest::nothing;
}

/// What bash makes of "--to=wandb", three words, as two.
void join_values(std::vector<std::string>& words) {
  if (words.back() == "=") { words.back().clear(); }
  const auto is_sign = [](const std::string& word) { return word == "="; };
  words.erase(std::remove_if(words.begin(), words.end(), is_sign), words.end());
}

void add_commands(const CommandTree& tree, Completions& found) {
  for (const CommandText& each : tree.commands) {
    if (begins_with(each.name, found.begun)) { found.words.push_back({each.name, each.help}); }
  }
}

void add_options(const CommandText& command, const std::set<const OptionText*>& given, Completions& found) {
  for (const OptionText& each : command.options) {
    if (each.is_argument || (given.count(&each) != 0 && !each.repeats)) { continue; }
    for (const std::string& name : each.names) {
      if (begins_with(name, found.begun)) { found.words.push_back({name, each.help}); }
    }
  }
}

void add_values(const CommandTree& tree, const OptionText& option, Completions& found) {
  for (const std::string& each : option.choices) {
    if (begins_with(each, found.begun)) { found.words.push_back({found.before + each, ""}); }
  }
  if (option.value == "COMMAND") { add_commands(tree, found); }
  found.rest = rest_of(option.value);
}

/// The options and arguments in front of the last word, and the option whose value that is, if it is one.
struct WordsBefore {
  std::set<const OptionText*> options;
  std::vector<std::string> arguments;
  const OptionText* waiting = nullptr;
};

WordsBefore read_words(const CommandText& command, const std::vector<std::string>& words) {
  WordsBefore before;
  for (std::size_t at = 1; at + 1 < words.size(); ++at) {
    if (std::exchange(before.waiting, nullptr) != nullptr) { continue; }
    const OptionText* const option = find_option(command, words[at].substr(0, words[at].find('=')));
    if (option != nullptr) {
      before.options.insert(option);
      const bool has_value = words[at].find('=') != std::string::npos;
      before.waiting = option->value.empty() || has_value ? nullptr : option;
    } else if (!begins_with(words[at], "-")) {
      before.arguments.push_back(words[at]);
    }
  }
  return before;
}

/// What every shell takes as it stands: others would have to be quoted by each shell's own rules.
bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+@%,=-";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
}

std::vector<std::string> runs_where_they_go() {
  std::vector<std::string> remarks;
  std::vector<std::string> runs;
  for (const RunFolder& each : all_runs(SessionOptions::from_env().directory, remarks)) { runs.push_back(each.folder); }
  return runs;
}

/// Those that the first MiB of a run's journal knows.
std::vector<std::string> regions_of(const std::string& given) {
  std::vector<std::string> remarks;
  const std::vector<RunFolder> runs = all_runs(given, remarks);
  Snapshot snapshot;
  detail::JournalReader(runs.front().ranks.front().open()).read_part(snapshot);
  std::vector<std::string> regions = {"step"};
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) { regions.push_back(snapshot.path_name(path)); }
  return regions;
}

std::vector<std::string> looked_up(const Completions& wanted) {
  try {
    if (wanted.rest == Rest::runs) { return runs_where_they_go(); }
    if (wanted.rest == Rest::regions && !wanted.given.empty()) { return regions_of(wanted.given.front()); }
  } catch (const std::exception&) { return {}; }  // there are none: a shell has no place for the reason
  return {};
}

}  // namespace

Completions completions_of(const CommandTree& tree, std::vector<std::string> words) {
  Completions found;
  if (words.empty()) { words.emplace_back(); }
  join_values(words);
  found.begun = words.back();
  if (words.size() == 1) {
    add_commands(tree, found);
    if (begins_with(found.begun, "-")) { add_options(tree.program, {}, found); }
    return found;
  }
  const CommandText* const command = find_command(tree, words.front());
  if (command == nullptr) { return found; }
  const WordsBefore before = read_words(*command, words);
  found.given = before.arguments;
  const OptionText* option = before.waiting;
  const std::size_t sign = found.begun.find('=');
  if (option == nullptr && begins_with(found.begun, "--") && sign != std::string::npos) {
    option = find_option(*command, found.begun.substr(0, sign));
    found.before = found.begun.substr(0, sign + 1);
    found.begun.erase(0, sign + 1);
    if (option == nullptr || option->value.empty()) { return found; }
  }
  if (option == nullptr && begins_with(found.begun, "-")) {
    add_options(*command, before.options, found);
    return found;
  }
  if (option == nullptr) { option = find_argument(*command, before.arguments.size()); }
  if (option != nullptr) { add_values(tree, *option, found); }
  return found;
}

int complete(const CommandTree& tree, const std::vector<std::string>& words) {
  const bool has_sign = !words.empty() && words.front() == "--";
  const Completions found = completions_of(tree, {words.begin() + (has_sign ? 1 : 0), words.end()});
  for (const Completions::Word& each : found.words) { detail::print(stdout, "{}\t{}\n", each.text, each.help); }
  std::size_t count = 0;
  for (const std::string& each : looked_up(found)) {
    if (!begins_with(each, found.begun) || !is_plain(each) || ++count > kMostLookedUp) { continue; }
    detail::print(stdout, "{}{}\t\n", found.before, each);
  }
  const bool has_folders = found.rest == Rest::folders || (found.rest == Rest::runs && count == 0);
  const bool is_alone = found.before.empty();  // behind "--output=" each shell has its own rules
  detail::print(stdout, ":{}\n", !is_alone ? "" : has_folders ? "folders" : found.rest == Rest::files ? "files" : "");
  return 0;
}

}  // namespace cli
TAKT_END_NAMESPACE
