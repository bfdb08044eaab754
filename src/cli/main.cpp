// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/config.hpp>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/destinations.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr const char* kRuns =
    "A run's folder, the folder of one of its ranks, or a folder of runs, of which the newest is taken. "
    "Default: TAKT_DIR, or takt-runs";

/// Says which command a misspelt `word` may be. Returns whether it did.
bool tell_nearest(const CLI::App& app, std::string_view word) {
  std::vector<std::string_view> known;
  std::string list;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    list += " " + command->get_name();
  }
  if (word.substr(0, 1) == "-" || std::find(known.begin(), known.end(), word) != known.end()) { return false; }
  const std::string_view nearest = takt::detail::nearest(word, known.data(), known.size());
  fmt::print(stderr, "takt: there is no command '{}'. Nearest: {}. There are:{}\n",
             takt::detail::fit(takt::detail::printable(word), 60), nearest, list);
  return true;
}

/// What was asked for.
struct Call {
  std::vector<std::string> runs;
  std::string run;
  std::string file;
  bool json = false;
  bool csv = false;
  bool steps = false;
  takt::cli::ReportWishes which;
  takt::cli::SyncWishes wishes;
  takt::cli::ScalingWishes scaling;
  takt::cli::LsWishes listed;
  takt::cli::DiffWishes compared;
  int broken = takt::cli::kBroken;  // where stdout does not take all
  std::function<int()> command;
};

// Each adds a command, which becomes `call.command` where it is the one. `call` outlives the parsing.

void add_report(CLI::App& app, Call& call) {
  CLI::App* const report = app.add_subcommand(
      "report", "Print the table of a finished, running or killed run, and which rank makes the others wait");
  report->add_option("RUN", call.runs, kRuns);
  CLI::Option_group* const forms = report->add_option_group("Form", "instead of the table");
  forms->add_flag("--json", call.json, "One JSON document: how each rank stands, and the totals");
  forms->add_flag("--csv", call.csv, "CSV, a line for each path");
  forms->add_flag("--steps", call.steps, "CSV, a line for each step and path");
  forms->require_option(0, 1);
  takt::cli::ReportWishes& which = call.which;
  CLI::Option* const one = report->add_option("--rank", which.rank, "The table of this rank alone")
                               ->check(CLI::Range(0, std::numeric_limits<int>::max()));
  report->add_flag("--per-rank", which.per_rank, "The table of each rank, too")->excludes(one);
  report->callback([&call] {
    call.which.form = call.json    ? takt::cli::ReportForm::json
                      : call.csv   ? takt::cli::ReportForm::csv
                      : call.steps ? takt::cli::ReportForm::steps
                                   : takt::cli::ReportForm::table;
    call.command = [&call] { return takt::cli::report(call.runs, call.which); };
  });
}

void add_check(CLI::App& app, Call& call) {
  CLI::App* const check =
      app.add_subcommand("check", "Say what is whole and what is lost; status 0: all is whole, nothing is lost");
  check->add_option("RUN", call.runs, kRuns);
  check->callback([&call] { call.command = [&call] { return takt::cli::check(call.runs); }; });
}

void add_sync(CLI::App& app, Call& call) {
  std::vector<std::string> names;
  std::string help =
      "Deliver what has not been delivered; status 0: all is, 3: something remains. Variables tell where to:";
  for (const takt::cli::Destination& each : takt::cli::destinations()) {
    names.emplace_back(each.name);
    help += fmt::format("\n{}: {}", each.name, each.options);
  }
  CLI::App* const sync = app.add_subcommand("sync", help);
  takt::cli::SyncWishes& wishes = call.wishes;
  sync->add_option("RUN", call.runs, kRuns);
  sync->add_option("--to", wishes.to, "Where to; default: mantik where its variables are set, or else mlflow")
      ->check(CLI::IsMember(names));
  sync->add_option("--patience", wishes.patience_s, "Seconds to go on for while the server takes nothing; default: 60")
      ->check(CLI::Range(0, 1'000'000));
  sync->add_flag("--every-step", wishes.every_step, "A point for each step; for runs of which nothing was sent yet");
  sync->add_flag("--all-ranks", wishes.all_ranks, "A run for each rank; for runs of which nothing was sent yet");
  sync->callback([&call] { call.command = [&call] { return takt::cli::sync(call.runs, call.wishes); }; });
}

void add_scaling(CLI::App& app, Call& call) {
  CLI::App* const scaling =
      app.add_subcommand("scaling", "Compare runs of different sizes: speed-up, efficiency, and what holds them up");
  takt::cli::ScalingWishes& wishes = call.scaling;
  scaling->add_option("RUN", wishes.runs, "The folders of two runs or more, each of another number of ranks")
      ->required();
  scaling->add_option("--without-loader", wishes.without_loader,
                      "Runs of the same sizes on data that is there already: tells the data stall");
  scaling->add_option("--without-communication", wishes.without_communication,
                      "Runs of the same sizes in which ranks do not communicate: tells what that costs");
  CLI::Option* const weak =
      scaling->add_flag("--weak", wishes.weak, "Each rank has the same work in all runs; default: as samples tell");
  scaling->add_flag("--strong", wishes.strong, "All ranks together have the same work in all runs")->excludes(weak);
  CLI::Option* const json = scaling->add_flag("--json", call.json, "One JSON document instead of the table");
  scaling->add_flag("--csv", call.csv, "CSV, a line for each run")->excludes(json);
  scaling->callback([&call] {
    call.scaling.form = call.json  ? takt::cli::ScalingForm::json
                        : call.csv ? takt::cli::ScalingForm::csv
                                   : takt::cli::ScalingForm::table;
    call.command = [&call] { return takt::cli::scaling(call.scaling); };
  });
}

void add_trace(CLI::App& app, Call& call) {
  CLI::App* const trace =
      app.add_subcommand("trace", "Write a time line of the steps of all ranks for https://ui.perfetto.dev");
  trace->add_option("RUN", call.run, kRuns);
  trace->add_option("-o,--output", call.file, "The file to write")->required();
  trace->add_option("--rank", call.which.rank, "Of this rank alone")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
  trace->callback(
      [&call] { call.command = [&call] { return takt::cli::trace(call.run, call.file, call.which.rank); }; });
}

void add_ls(CLI::App& app, Call& call) {
  CLI::App* const ls = app.add_subcommand("ls", "List the runs in a folder, the newest first");
  takt::cli::LsWishes& wishes = call.listed;
  ls->add_option("FOLDER", call.run, "A folder of runs. Default: TAKT_DIR, or takt-runs");
  ls->add_flag("--json", wishes.json, "One JSON document");
  ls->add_option("--name", wishes.name, "Runs of this name alone; * and ? stand for other letters");
  const auto add = [&](const char* option, std::vector<std::string>& into, const char* help) {
    ls->add_option(option, into, help)->allow_extra_args(false)->type_name("KEY[=VALUE]");
  };
  add("--param", wishes.params, "Runs that have this parameter, with this value where you give one; again for another");
  add("--tag", wishes.tags, "The same of tags");
  ls->callback([&call] { call.command = [&call] { return takt::cli::ls(call.run, call.listed); }; });
}

void add_diff(CLI::App& app, Call& call) {
  CLI::App* const diff = app.add_subcommand(
      "diff",
      "Compare runs: takt diff BASE... -- NEW...; status 0: no regression, 1: regression, 2: not compared, 3: "
      "the runs do not tell");
  takt::cli::DiffWishes& wishes = call.compared;
  diff->add_option("BASE", call.runs, "Runs, or folders of runs, of which all are taken");
  diff->add_option("--new", wishes.now, "The same of the new side; -- means the same");
  diff->add_option("--fail-on", wishes.fail_on, "The gate: what may take no more than so much longer, such as 2%");
  diff->add_option("--region", wishes.regions, "What the gate judges; default: the step; again for another region")
      ->allow_extra_args(false);
  diff->add_option("--noise", wishes.noise,
                   "By so much two runs of one side differ at most; for fewer than three runs");
  diff->add_option("--reason", wishes.reason, "Why runs are compared that differ in ranks or regions");
  CLI::Option* const json = diff->add_flag("--json", wishes.json, "One JSON document");
  diff->add_flag("--markdown", wishes.markdown, "Markdown, for a merge request")->excludes(json);
  diff->callback([&call] {
    call.broken = takt::cli::kUsage;
    call.command = [&call] { return takt::cli::diff(call.runs, call.compared); };
  });
}

/// Of takt diff: each run behind "--" gets the option --new, so that options may stand between them.
std::vector<std::string> name_new_side(const std::vector<std::string>& words) {
  static const std::set<std::string> kWithValue = {"--fail-on", "--region", "--noise", "--reason", "--new"};
  std::vector<std::string> named;
  bool is_new_side = false;
  bool is_value = false;
  for (const std::string& each : words) {
    if (each == "--" && !is_value && !std::exchange(is_new_side, true)) { continue; }
    const bool is_option = each.size() > 1 && each[0] == '-';
    if (is_new_side && !is_value && !is_option) { named.emplace_back("--new"); }
    named.push_back(each);
    is_value = !is_value && kWithValue.count(each) != 0;
  }
  return named;
}

/// Says what is wrong with the arguments, or what was asked about them. Returns the status.
int tell_usage(const CLI::App& app, const CLI::ParseError& error, int count, char** arguments) {
  if (count > 1 && tell_nearest(app, arguments[1])) { return takt::cli::kUsage; }
  std::ostringstream out;
  std::ostringstream err;
  const int status = app.exit(error, out, err);  // it repeats what it was given
  std::fputs(takt::detail::printable_lines(out.str()).c_str(), stdout);
  std::fputs(takt::detail::printable_lines(err.str()).c_str(), stderr);
  return status == 0 ? 0 : takt::cli::kUsage;
}

int run_command(int count, char** arguments) {
  CLI::App app(
      "What runs that were timed with Takt have left in their folders.\nExit status: 0 fine, 1 nothing found, not "
      "readable or not whole, 2 wrong usage, 3 something is not delivered yet.",
      "takt");
  app.set_version_flag("--version", "takt " + takt::detail::version_text());
  app.require_subcommand(1);
  Call call;
  add_report(app, call);
  add_check(app, call);
  add_sync(app, call);
  add_scaling(app, call);
  add_trace(app, call);
  add_ls(app, call);
  add_diff(app, call);
  std::vector<std::string> words(arguments + std::min(count, 1), arguments + count);
  if (!words.empty() && words.front() == "diff") { words = name_new_side(words); }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) { return tell_usage(app, error, count, arguments); }
  const int status = call.command();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) { return status; }
  std::fputs("takt: not all that was asked for could be written to the standard output; is the disk full?\n", stderr);
  return call.broken;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run_command(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "takt: %s\n", takt::detail::printable(error.what()).c_str());
    return takt::cli::kBroken;
  }
}
