// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/man_page.hpp"

#include "base/format.hpp"
#include "base/version.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Text that roff takes for nothing but text.
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

/// "a|b" as choices, else what stands for a value.
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

/// --help of takt itself stands for all.
std::vector<OptionText> without_help(std::vector<OptionText> options) {
  const auto is_help = [](const OptionText& each) { return each.names.back() == "--help"; };
  options.erase(std::remove_if(options.begin(), options.end(), is_help), options.end());
  return options;
}

/// Lines of their own stay such.
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
    // The other side of takt diff, as it is mostly given.
    if (each.names.front() == "--new") { text += detail::format(" \\-\\- {}{}", italic("NEW"), dots); }
  }
  return text;
}

constexpr const char* kEnd = R"(.SH ENVIRONMENT
.TP
.B TAKT_DIR
The folder where runs go, and where they are looked for; takt\-runs without it.
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
A gate: whether the runs in one folder take longer than those in the other.
)";

}  // namespace

std::string man_page(const CommandTree& tree) {
  const std::string& program = tree.program.name;
  std::string text = detail::format(".TH TAKT 1 \"\" \"Takt {}\" \"User Commands\"\n", roff(detail::version_text()));
  text += detail::format(".SH NAME\n{} \\- reads, compares and delivers what timed runs have left\n.SH SYNOPSIS\n",
                         program);
  for (const CommandText& each : tree.commands) {
    text += (&each == &tree.commands.front() ? "" : ".br\n") + synopsis_of(program, each) + "\n";
  }
  text += ".SH DESCRIPTION\n" + roff(tree.program.help) + "\n" + options_of(tree.program.options) + ".SH COMMANDS\n";
  for (const CommandText& each : tree.commands) {
    text += detail::format(".SS {} {}\n{}\n{}{}", program, roff(each.name), roff(each.help),
                           options_of(without_help(each.options)), notes_of(each.notes));
  }
  const std::size_t sign = tree.program.notes.find(": ");  // behind "Exit status"
  return text + ".SH EXIT STATUS\n" + roff(tree.program.notes.substr(sign + 2)) + "\n" + kEnd;
}

}  // namespace cli
TAKT_END_NAMESPACE
