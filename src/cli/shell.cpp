// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/shell.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/run_directory.hpp"
#include "journal/journal_reader.hpp"

#include <takt/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

const CommandText* find_command(const CommandTree& tree, const std::string& name) noexcept {
  const auto found = std::find_if(tree.commands.begin(), tree.commands.end(),
                                  [&](const CommandText& each) { return each.name == name; });
  return found == tree.commands.end() ? nullptr : &*found;
}

namespace {

constexpr std::size_t kHelpWidth = 100;
constexpr std::size_t kHelpColumn = 26;  // of the explanation of an option

/// Returns the lines of a text, broken at kHelpWidth, with spaces in front of each.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    for (const std::string& line : detail::wrap(text.substr(at, end - at), kHelpWidth - indent)) {
      out += std::string(indent, ' ') + line + "\n";
    }
    at = end + 1;
  }
  return out;
}

std::string item_text(const std::string& name, const std::string& help) {
  std::string text = wrapped(help, kHelpColumn);
  const std::string head = "  " + name;
  if (head.size() + 1 < kHelpColumn && text.size() > kHelpColumn) { return head + text.substr(head.size()); }
  return head + "\n" + text;
}

}  // namespace

std::string short_help(const CommandTree& tree) {
  std::string text = tree.program.help + "\n\nUsage: takt COMMAND [OPTIONS] [RUN...]\n\nCommands:\n";
  std::size_t width = 0;
  for (const CommandText& each : tree.commands) { width = std::max(width, each.name.size()); }
  for (const CommandText& each : tree.commands) {
    text += detail::format("  {:<{}}  {}\n", each.name, width, each.help);
  }
  return text + "\nRUN is the directory of a run; default: the latest run in takt-runs.\n" +
         "takt help COMMAND shows the options of a command, takt --version the version.\n" +
         wrapped(tree.program.notes, 0);
}

std::string help_text(const CommandText& command) {
  std::string usage = "Usage: takt " + command.name + " [OPTIONS]";
  std::string arguments;
  std::string options;
  for (const OptionText& each : command.options) {
    const std::string value = each.value.empty() ? "" : " " + each.value;
    if (each.is_argument) {
      const std::string name = each.names.front() + (each.repeats ? "..." : "");
      usage += " " + (each.required ? name : "[" + name + "]");
      arguments += item_text(each.names.front(), each.help);
      continue;
    }
    std::string names;
    for (const std::string& name : each.names) { names += (names.empty() ? "" : ", ") + name; }
    options += item_text(names + value, each.help);
  }
  if (command.name == "diff") { usage += " [-- NEW...]"; }  // name_new_side() in command_line.cpp
  std::string text = wrapped(command.help, 0) + "\n" + usage + "\n\n" + arguments;
  return text + (arguments.empty() ? "" : "\n") + "Options:\n" + options + "\n" + wrapped(command.notes, 0);
}

namespace {

using Rest = Completions::Rest;

constexpr std::size_t kMaxLookups = 1000;

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

const OptionText* find_option(const CommandText& command, const std::string& name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(), [&](const OptionText& each) {
    return !each.is_argument && std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  return found == command.options.end() ? nullptr : &*found;
}

/// Returns the argument after `given` others; nullptr: the command has none.
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
         : value == "DIR"    ? Rest::directories
         : value == "FILE"   ? Rest::files
         : value == "REGION" ? Rest::regions
                             : Rest::nothing;
}

/// Joins "--to=wandb", which bash splits into three words, into two.
void join_values(std::vector<std::string>& words) {
  if (words.back() == "=") { words.back().clear(); }
  const auto is_sign = [](const std::string& word) { return word == "="; };
  words.erase(std::remove_if(words.begin(), words.end(), is_sign), words.end());
}

void add_commands(const CommandTree& tree, Completions& found) {
  for (const CommandText& each : tree.commands) {
    if (begins_with(each.name, found.started)) { found.words.push_back({each.name, each.help}); }
  }
}

void add_options(const CommandText& command, const std::set<const OptionText*>& given, Completions& found) {
  for (const OptionText& each : command.options) {
    if (each.is_argument || (given.count(&each) != 0 && !each.repeats)) { continue; }
    for (const std::string& name : each.names) {
      if (begins_with(name, found.started)) { found.words.push_back({name, each.help}); }
    }
  }
}

void add_values(const CommandTree& tree, const OptionText& option, Completions& found) {
  for (const std::string& each : option.choices) {
    if (begins_with(each, found.started)) { found.words.push_back({found.before + each, ""}); }
  }
  if (option.value == "COMMAND") { add_commands(tree, found); }
  found.rest = rest_of(option.value);
}

/// Options and arguments before the last word, and the option that the last word is a value of, if any.
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

/// Returns true for text that needs no quoting in any shell: quoting rules differ between shells.
bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+@%,=-";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
}

std::vector<std::string> runs_where_they_go() {
  std::vector<std::string> warnings;
  std::vector<std::string> runs;
  for (const RunDirectory& each : all_runs(SessionOptions::from_env().directory, warnings)) {
    runs.push_back(each.directory);
  }
  return runs;
}

/// Returns the regions in the first MiB of a run's journal.
std::vector<std::string> regions_of(const std::string& given) {
  std::vector<std::string> warnings;
  const std::vector<RunDirectory> runs = all_runs(given, warnings);
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
  } catch (const std::exception&) { return {}; }  // no completions: a shell cannot show the reason
  return {};
}

}  // namespace

Completions completions_of(const CommandTree& tree, std::vector<std::string> words) {
  Completions found;
  if (words.empty()) { words.emplace_back(); }
  join_values(words);
  found.started = words.back();
  if (words.size() == 1) {
    add_commands(tree, found);
    if (begins_with(found.started, "-")) { add_options(tree.program, {}, found); }
    return found;
  }
  const CommandText* const command = find_command(tree, words.front());
  if (command == nullptr) { return found; }
  const WordsBefore before = read_words(*command, words);
  found.given = before.arguments;
  const OptionText* option = before.waiting;
  const std::size_t sign = found.started.find('=');
  if (option == nullptr && begins_with(found.started, "--") && sign != std::string::npos) {
    option = find_option(*command, found.started.substr(0, sign));
    found.before = found.started.substr(0, sign + 1);
    found.started.erase(0, sign + 1);
    if (option == nullptr || option->value.empty()) { return found; }
  }
  if (option == nullptr && begins_with(found.started, "-")) {
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
    if (!begins_with(each, found.started) || !is_plain(each) || ++count > kMaxLookups) { continue; }
    detail::print(stdout, "{}{}\t\n", found.before, each);
  }
  const bool has_directories = found.rest == Rest::directories || (found.rest == Rest::runs && count == 0);
  const bool is_alone = found.before.empty();  // after "--output=" shells have different rules
  detail::print(stdout, ":{}\n",
                !is_alone                   ? ""
                : has_directories           ? "directories"
                : found.rest == Rest::files ? "files"
                                            : "");
  return 0;
}

namespace {

// Scripts query the command being typed, so that they never contain lists of another version.

constexpr const char* kBash = R"(# bash completion for takt, as `takt completion bash` prints it

_takt() {
  local program=${COMP_WORDS[0]/#\~/$HOME} word=${COMP_WORDS[COMP_CWORD]} line rest=
  local -a paths
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) rest=${line#:} ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $rest in
    directories) mapfile -t paths < <(compgen -d -- "$word") ;;
    files) mapfile -t paths < <(compgen -f -- "$word") ;;
    *) return ;;
  esac
  compopt -o filenames
  COMPREPLY+=("${paths[@]}")
}

complete -F _takt takt
)";

constexpr const char* kZsh = R"(#compdef takt
# zsh completion for takt, as `takt completion zsh` prints it

_takt() {
  local line rest
  local -a names shown
  while IFS= read -r line; do
    case $line in
      :*) rest=${line#:} ;;
      *) names+=("${line%%$'\t'*}")
         shown+=("${line/$'\t'/  -- }") ;;
    esac
  done < <("${(Q)words[1]/#\~/$HOME}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#names )) && compadd -Q -l -d shown -a names
  case $rest in
    directories) _files -/ ;;
    files) _files ;;
  esac
}

if [[ $funcstack[1] == _takt ]]; then
  _takt "$@"
else
  compdef _takt takt
fi
)";

constexpr const char* kFish = R"(# fish completion for takt, as `takt completion fish` prints it

function __takt_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
    switch $line
      case :directories
        __fish_complete_directories (commandline -ct) ''
      case :files
        __fish_complete_path (commandline -ct)
      case ':*'
      case '*'
        echo $line
    end
  end
end

complete -c takt -f -a '(__takt_complete)'
)";

}  // namespace

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

namespace {

/// Escapes text for roff.
std::string roff(const std::string& text) {
  std::string out;
  bool at_begin = true;
  for (const char each : text) {
    if (at_begin && (each == '.' || each == '\'')) { out += "\\&"; }
    out += each == '\\' ? "\\e" : each == '-' ? "\\-" : std::string(1, each);
    at_begin = each == '\n';
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

/// Returns "a|b" for choices, else the name of the value.
std::string value_of(const OptionText& option) {
  if (option.value.empty()) { return ""; }
  if (option.choices.empty()) { return " " + italic(option.value); }
  std::string text;
  for (const std::string& each : option.choices) { text += (text.empty() ? " " : "|") + bold(each); }
  return text;
}

std::string option_head(const OptionText& option) {
  if (option.is_argument) { return italic(option.names.front()) + (option.repeats ? "..." : ""); }
  std::string text;
  for (const std::string& each : option.names) { text += (text.empty() ? "" : ", ") + bold(each); }
  return text + value_of(option);
}

std::string options_of(const std::vector<OptionText>& options) {
  std::string text;
  for (const OptionText& each : options) {
    text += detail::format(".TP\n{}\n{}\n", option_head(each), roff(each.help));
  }
  return text;
}

/// Removes --help, which is shown once for takt itself.
std::vector<OptionText> without_help(std::vector<OptionText> options) {
  const auto is_help = [](const OptionText& each) { return each.names.back() == "--help"; };
  options.erase(std::remove_if(options.begin(), options.end(), is_help), options.end());
  return options;
}

/// Keeps separate lines separate.
std::string notes_of(const std::string& notes) {
  std::string text;
  for (std::size_t at = 0; at < notes.size();) {
    const std::size_t end = std::min(notes.find('\n', at), notes.size());
    std::string line = notes.substr(at, end - at);
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) { text += (at == 0 ? ".PP\n" : ".br\n") + roff(line) + "\n"; }
    at = end + 1;
  }
  return text;
}

std::string synopsis_of(const std::string& program, const CommandText& command) {
  std::string text = bold(program + " " + command.name) + " [options]";
  for (const OptionText& each : command.options) {
    const std::string dots = each.repeats ? "..." : "";
    if (each.is_argument) { text += detail::format(" [{}{}]", italic(each.names.front()), dots); }
    // The new side of takt diff, in its usual form.
    if (each.names.front() == "--new") { text += detail::format(" \\-\\- {}{}", italic("NEW"), dots); }
  }
  return text;
}

constexpr const char* kEnd = R"(.SH ENVIRONMENT
.TP
.B TAKT_DIR
The directory where runs go, and where they are looked for; takt\-runs without it.
.TP
.BR NO_COLOR ", " TERM
Set and not empty, or
.BR dumb :
no bold and dim lines, where
.B \-\-color
does not say otherwise.
.PP
What
.B takt sync
delivers to is told by the variables of each tracker.
.SH FILES
.TP
.I takt\-runs/<run id>/rank\-<rank>\-<attempt>\-<pid>/
The journal of one rank, and the other files that it left. No command changes them but
.BR "takt sync" ,
which leaves a note of how far it got.
.SH EXAMPLES
.TP
.B takt report
The table of the newest run in takt\-runs.
.TP
.B takt diff before/ \-\- after/ \-\-fail\-on 2%
A gate: whether the runs in one directory take longer than those in the other.
)";

}  // namespace

std::string man_page(const CommandTree& tree) {
  const std::string& program = tree.program.name;
  std::string text = detail::format(".TH TAKT 1 \"\" \"Takt {}\" \"User Commands\"\n", roff(detail::version_text()));
  text += detail::format(".SH NAME\n{} \\- inspects, compares and uploads recorded runs\n.SH SYNOPSIS\n", program);
  for (const CommandText& each : tree.commands) {
    text += (&each == &tree.commands.front() ? "" : ".br\n") + synopsis_of(program, each) + "\n";
  }
  text += ".SH DESCRIPTION\n" + roff(tree.program.help) + "\n" + options_of(tree.program.options) + ".SH COMMANDS\n";
  for (const CommandText& each : tree.commands) {
    text += detail::format(".SS {} {}\n{}\n{}{}", program, roff(each.name), roff(each.help),
                           options_of(without_help(each.options)), notes_of(each.notes));
  }
  const std::size_t sign = tree.program.notes.find(": ");  // after "Exit status"
  return text + ".SH EXIT STATUS\n" + roff(tree.program.notes.substr(sign + 2)) + "\n" + kEnd;
}

}  // namespace cli
TAKT_END_NAMESPACE
