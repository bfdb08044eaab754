// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/destinations.hpp"
#include "cli/shell.hpp"
#include "report/console.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using CommandWords = std::vector<std::string>;

constexpr const char* kAbout = "Inspect, compare and upload runs recorded with Takt.";
constexpr const char* kStatus =
    "Exit status: 0 success, 1 nothing found, unreadable or incomplete, 2 wrong usage, 3 some data is not delivered "
    "yet, "
    "4 delivered, but the run has dropped some data. takt diff has its own: takt help diff.";

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
  text.required = option.get_required();
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

/// Returns the visible commands.
CommandTree tree_of(const CLI::App& app) {
  CommandTree tree = {command_text(app), {}};
  const auto is_shown = [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); };
  for (const CLI::App* each : app.get_subcommands(is_shown)) { tree.commands.push_back(command_text(*each)); }
  return tree;
}

/// Adds `takt help COMMAND`, the same as `takt COMMAND --help`.
void describe_help(CLI::App& app, Call& call) {
  app.add_subcommand("help", "Show the options of a command")
      ->add_option("COMMAND", call.file, "Default: the list of all commands")
      ->type_name("COMMAND");
}

/// Adds hidden commands for packagers and shells.
void describe_hidden(CLI::App& app, Call& call) {
  CLI::App* const man = app.add_subcommand("man", "Print the man page: takt man | man -l -")->group("");
  man->callback([&] {
    call.command = [&app] {
      detail::print(stdout, "{}", man_page(tree_of(app)));
      return 0;
    };
  });
  CLI::App* const completion =
      app.add_subcommand("completion", "Print the completion script of a shell: bash, zsh or fish");
  completion->add_option("SHELL", call.shell, "bash: source <(takt completion bash)")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion->footer("Exit status: 0 success, 2 wrong usage.");
  completion->callback([&call] {
    call.command = [&call] {
      detail::print(stdout, "{}", completion_script(call.shell));
      return 0;
    };
  });
}

/// Suggests a command for a misspelt `word`. Returns true if it did.
bool report_nearest(const CLI::App& app, std::string_view word) {
  std::vector<std::string_view> known;
  std::string list;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (!command->get_group().empty()) { list += " " + command->get_name(); }
  }
  if (word.substr(0, 1) == "-" || std::find(known.begin(), known.end(), word) != known.end()) { return false; }
  const std::string_view nearest = detail::nearest(word, known.data(), known.size());
  detail::print(stderr, "takt: unknown command '{}'{} Commands:{}\n", detail::fit(detail::printable(word), 60),
                nearest.empty() ? "." : detail::format("; did you mean {}?", nearest), list);
  return true;
}

/// For takt diff: puts --new before each run after "--", so that options may follow there.
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

/// Prints the requested help, or the error in the arguments. Returns the exit status.
int report_usage(const CommandTree& tree, const CLI::ParseError& error, const CommandText* command) {
  if (error.get_exit_code() != 0) {  // the text repeats the arguments
    detail::print(stderr, "takt: {}\nRun takt help{} for usage\n", detail::printable_lines(error.what()),
                  command == nullptr ? "" : " " + command->name);
    return kUsage;
  }
  if (error.get_name() == "CallForHelp") {
    std::fputs((command == nullptr ? short_help(tree) : help_text(*command)).c_str(), stdout);
  } else {
    detail::print(stdout, "takt {}\n", detail::version_text());
  }
  return 0;
}

/// Turns "help report" into "report --help".
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
  app.footer(kStatus);  // set last: later commands would inherit it
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
  std::reverse(words.begin(), words.end());  // the order that CLI11 expects
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return report_nearest(app, first) ? kUsage : report_usage(tree, error, find_command(tree, first));
  }
  const int status = call.command();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) { return status; }
  std::fputs("takt: cannot write all output to the standard output; check whether the disk is full\n", stderr);
  return call.broken;
}

namespace {

constexpr const char* kRuns =
    "A run's directory, the directory of one of its ranks, or a directory of runs or a merged file (the latest run is "
    "used). Default: TAKT_DIR, or takt-runs";
constexpr const char* kUsualStatus =
    "Exit status: 0 success, 1 something is unreadable, or nothing was found, 2 wrong usage.";

// Type names describe values for users and completions: RUN, FILE, REGION; "a|b" are choices. CLI11's descriptions of
// its checks are suppressed.

void add_runs(CLI::App* command, std::vector<std::string>& runs) {
  command->add_option("RUN", runs, kRuns)->type_name("RUN");
}

CLI::Option* add_rank(CLI::App* command, int& rank, const char* help) {
  return command->add_option("--rank", rank, help)
      ->type_name("N")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()).description(""));
}

/// Adds the options of all commands that print tables.
void add_drawn(CLI::App* command, ConsoleOptions& drawn) {
  const auto set = [&drawn](const std::string& word) {
    drawn.color = word == "always"  ? ConsoleOptions::Color::always
                  : word == "never" ? ConsoleOptions::Color::never
                                    : ConsoleOptions::Color::automatic;
  };
  command
      ->add_option_function<std::string>(
          "--color", set, "Bold and dim lines; default: auto, depending on the terminal, NO_COLOR and TERM")
      ->type_name("auto|always|never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  command->add_option("--width", drawn.width, "Columns of the page, 40 to 1000; default: width of the terminal")
      ->type_name("N")
      ->check(CLI::Range(40, 1000).description(""));
}

/// Explains --columns.
std::string columns_help() {
  std::string names;
  for (std::string each : detail::table_columns()) {
    std::replace(each.begin(), each.end(), ' ', '_');
    names += (names.empty() ? "" : ", ") + each;
  }
  return "Columns of the table, separated by commas: " + names +
         "; of a job: n, mean, stdev, min, min_rank, max, rank, imbalance, share, on_ranks";
}

void describe_report(CLI::App& app, Call& call) {
  CLI::App* const report = app.add_subcommand("report", "Print the table of a run, and which rank the others wait for");
  report->footer(kUsualStatus);
  add_runs(report, call.runs);
  CLI::Option_group* const forms = report->add_option_group("Form", "instead of the table");
  forms->set_help_flag();
  forms->add_flag("--json", call.json, "One JSON document: the state of each rank, and the totals");
  forms->add_flag("--csv", call.csv, "CSV, a line for each path");
  forms->add_flag("--steps", call.steps, "CSV, a line for each step and path");
  forms->add_option("--html", call.which.file, "Write the page of the run, for a browser, to this file")
      ->type_name("FILE");
  forms->require_option(0, 1);
  report->add_option("--columns", call.which.columns, columns_help())->type_name("NAMES");
  CLI::Option* const one = add_rank(report, call.which.rank, "Only the table of this rank");
  report->add_flag("--per-rank", call.which.per_rank, "Also the table of each rank")->excludes(one);
  add_drawn(report, call.which.drawn);
  report->callback([&call] {
    call.which.form = call.json                  ? ReportForm::json
                      : call.csv                 ? ReportForm::csv
                      : call.steps               ? ReportForm::steps
                      : !call.which.file.empty() ? ReportForm::html
                                                 : ReportForm::table;
    call.command = [&call] { return cli::report(call.runs, call.which); };
  });
}

void describe_watch(CLI::App& app, Call& call) {
  CLI::App* const watch = app.add_subcommand("watch", "Show the table of a run while it is running");
  watch->footer(
      "On a terminal each table replaces the previous one; Ctrl-C keeps the last one. Otherwise prints a line of "
      "key=value pairs each time.\n"
      "Exit status: 0 the run has ended (in any way), 1 nothing is readable, 2 wrong usage.");
  WatchOptions& options = call.watched;
  watch->add_option("RUN", call.run, kRuns)->type_name("RUN");
  watch->add_option("--every", options.every_s, "Interval between tables; default: 2. Longer if a table takes long")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86'400.0).description(""));
  watch->add_flag("--once", options.once, "Print the current table once and exit");
  watch->add_flag("--wait", options.wait, "Wait for a running run if there is none");
  add_drawn(watch, options.drawn);
  watch->callback([&call] { call.command = [&call] { return cli::watch(call.run, call.watched); }; });
}

void describe_check(CLI::App& app, Call& call) {
  CLI::App* const check = app.add_subcommand("check", "Check whether a run's data is complete, and list what is lost");
  check->footer("Exit status: 0 complete and nothing lost, 1 incomplete or data lost, 2 wrong usage.");
  add_runs(check, call.runs);
  check->callback([&call] { call.command = [&call] { return cli::check(call.runs); }; });
}

void describe_sync(CLI::App& app, Call& call) {
  std::string names;
  std::string notes = "Variables that set the destination:\n";
  std::vector<std::string> known;
  for (const Destination& each : destinations()) {
    known.emplace_back(each.name);
    names += (names.empty() ? "" : "|") + known.back();
    notes += detail::format("  {}: {}\n", each.name, each.options);
  }
  CLI::App* const sync = app.add_subcommand("sync", "Deliver undelivered data to a tracker");
  sync->footer(notes +
               "Exit status: 0 all is delivered, 1 unreadable, or an invalid setting, 2 wrong usage, 3 some data "
               "remains, 4 all is delivered, but the run had dropped some data before.");
  SyncOptions& options = call.options;
  add_runs(sync, call.runs);
  sync->add_option("--to", options.to, "Destination; default: mantik if its variables are set, else mlflow")
      ->type_name(names)
      ->check(CLI::IsMember(known).description(""));
  sync->add_option("--patience", options.timeout_s, "Time to keep trying while the server accepts nothing; default: 60")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 1'000'000).description(""));
  sync->add_flag("--every-step", options.every_step,
                 "A point for each step; only for runs of which nothing was sent yet");
  sync->add_flag("--all-ranks", options.all_ranks, "A run for each rank; only for runs of which nothing was sent yet");
  sync->callback([&call] { call.command = [&call] { return cli::sync(call.runs, call.options); }; });
}

void describe_scaling(CLI::App& app, Call& call) {
  CLI::App* const scaling = app.add_subcommand("scaling", "Compare runs of different sizes: speed-up and efficiency");
  scaling->footer(kUsualStatus);
  ScalingOptions& options = call.scaling;
  scaling->add_option("RUN", options.runs, "The directories of two or more runs with different numbers of ranks")
      ->type_name("RUN")
      ->required();
  scaling
      ->add_option("--without-loader", options.without_loader,
                   "Runs of the same sizes on data that is already in memory: shows the data stall")
      ->type_name("RUN");
  scaling
      ->add_option("--without-communication", options.without_communication,
                   "Runs of the same sizes in which ranks do not communicate: shows the cost of communication")
      ->type_name("RUN");
  CLI::Option* const weak = scaling->add_flag(
      "--weak", options.weak, "Each rank has the same work in all runs; default: detected from the samples");
  scaling->add_flag("--strong", options.strong, "All ranks together have the same work in all runs")->excludes(weak);
  CLI::Option* const json = scaling->add_flag("--json", call.json, "One JSON document instead of the table");
  scaling->add_flag("--csv", call.csv, "CSV, a line for each run")->excludes(json);
  scaling->add_option("--html", options.html, "Also write a page with charts, for a browser, to this file")
      ->type_name("FILE");
  add_drawn(scaling, options.drawn);
  scaling->callback([&call] {
    call.scaling.form = call.json ? ScalingForm::json : call.csv ? ScalingForm::csv : ScalingForm::table;
    call.command = [&call] { return cli::scaling(call.scaling); };
  });
}

void describe_trace(CLI::App& app, Call& call) {
  CLI::App* const trace =
      app.add_subcommand("trace", "Write a time line of steps and recorded regions, for https://ui.perfetto.dev");
  trace->footer(kUsualStatus);
  trace->add_option("RUN", call.run, kRuns)->type_name("RUN");
  trace
      ->add_option("-o,--output", call.file,
                   "The file to write; replaces only a time line written by Takt. Default: <run id>.trace.json here")
      ->type_name("FILE");
  add_rank(trace, call.which.rank, "Only this rank; the default file is <run id>.rank-N.trace.json");
  trace->callback([&call] { call.command = [&call] { return cli::trace(call.run, call.file, call.which.rank); }; });
}

void describe_merge(CLI::App& app, Call& call) {
  CLI::App* const merge = app.add_subcommand("merge", "Merge ranks and runs into one file that all commands can read");
  merge->footer(kUsualStatus);
  merge->add_option("RUN", call.runs, "Directories of runs or ranks, and merged files; all runs in them are merged")
      ->type_name("RUN")
      ->required();
  merge->add_option("-o,--output", call.file, "The file to write, a tar file")->type_name("FILE")->required();
  merge->add_flag("--force", call.force, "Replace a merged file");
  merge->callback([&call] { call.command = [&call] { return cli::merge(call.runs, call.file, call.force); }; });
}

void describe_ls(CLI::App& app, Call& call) {
  CLI::App* const ls = app.add_subcommand("ls", "List the runs in a directory, newest first");
  ls->footer(kUsualStatus);
  LsOptions& options = call.listed;
  ls->add_option("DIR", call.run, "A directory of runs. Default: TAKT_DIR, or takt-runs")->type_name("DIR");
  ls->add_flag("--json", options.json, "One JSON document");
  ls->add_option("--name", options.name, "Only runs with this name; * and ? are wildcards")->type_name("PATTERN");
  const auto add = [&](const char* option, std::vector<std::string>& into, const char* help) {
    ls->add_option(option, into, help)->allow_extra_args(false)->type_name("KEY[=PATTERN]");
  };
  add("--param", options.params, "Only runs with this parameter (and value, if given); may be repeated");
  add("--tag", options.tags, "Only runs with this tag (and value, if given); may be repeated");
  add_drawn(ls, options.drawn);
  ls->callback([&call] { call.command = [&call] { return cli::ls(call.run, call.listed); }; });
}

void describe_diff(CLI::App& app, Call& call) {
  CLI::App* const diff = app.add_subcommand("diff", "Compare runs: takt diff BASE... -- NEW...; can be used as a gate");
  diff->footer("Exit status: 0 no regression, or no gate, 1 regression, 2 not compared, 3 inconclusive.");
  DiffOptions& options = call.compared;
  diff->add_option("BASE", call.runs, "Runs, or directories of runs (all runs in them are used)")->type_name("RUN");
  diff->add_option("--new", options.now, "Runs of the new side; runs after -- have the same meaning")->type_name("RUN");
  diff->add_option("--fail-on", options.fail_on, "The gate: maximum allowed slowdown, such as 2%")
      ->type_name("PERCENT");
  diff->add_option("--region", options.regions, "Region that the gate judges; default: the step; may be repeated")
      ->allow_extra_args(false)
      ->type_name("REGION");
  diff->add_option("--on", options.statistic,
                   "Statistic of step times that the gate judges; default: p25, which stalls do not affect")
      ->check(CLI::IsMember({"p25", "p50", "mean", "p95", "throughput"}).description(""))
      ->type_name("p25|p50|mean|p95|throughput");
  diff->add_option("--noise", options.noise,
                   "Maximum difference of two unchanged runs; needed for fewer than three runs, or runs not in turn")
      ->type_name("PERCENT");
  diff->add_option("--reason", options.reason, "Reason to compare runs that differ in ranks or regions")
      ->type_name("WHY");
  CLI::Option* const json = diff->add_flag("--json", options.json, "One JSON document");
  diff->add_flag("--markdown", options.markdown, "Markdown, for a merge request")->excludes(json);
  diff->add_option("--html", options.html, "Also write a page with both sides, for a browser, to this file")
      ->type_name("FILE");
  add_drawn(diff, options.drawn);
  diff->callback([&call] {
    call.broken = kUsage;
    call.command = [&call] { return cli::diff(call.runs, call.compared); };
  });
}

void describe_predict(CLI::App& app, Call& call) {
  CLI::App* const predict =
      app.add_subcommand("predict", "Predict costs of a model between two measured sizes, such as batch sizes");
  predict->footer("Exit status: 0 success, 1 no prediction, or something is unreadable, 2 wrong usage.");
  PredictOptions& options = call.predicted;
  predict->add_option("RUN", options.run, kRuns)->type_name("RUN");
  predict
      ->add_option("--at", options.at,
                   "Feature to predict at, and values of other features to use: batch=24,resolution=224; may be "
                   "repeated")
      ->allow_extra_args(false)
      ->required()
      ->type_name("NAME=NUMBER[,...]")
      ->check(why_no_point);
  predict->add_option("--name", options.name, "Only measurements with this name; * and ? are wildcards")
      ->type_name("PATTERN");
  CLI::Option* const json = predict->add_flag("--json", call.json, "One JSON document instead of the table");
  predict->add_flag("--csv", call.csv, "CSV, a line for each --at, for takt predict-check")->excludes(json);
  add_drawn(predict, options.drawn);
  predict->callback([&call] {
    call.predicted.form = call.json ? PredictForm::json : call.csv ? PredictForm::csv : PredictForm::table;
    call.command = [&call] { return cli::predict(call.predicted); };
  });
}

void describe_predict_check(CLI::App& app, Call& call) {
  CLI::App* const check =
      app.add_subcommand("predict-check", "Compare predictions of models with the measurements of a run");
  check->footer(kUsualStatus);
  PredictCheckOptions& options = call.prediction_check;
  check->add_option("PREDICTIONS", options.file, "CSV with the columns name, and latency_ms, memory_mb or energy_j")
      ->type_name("FILE")
      ->required();
  check->add_option("RUN", options.run, kRuns)->type_name("RUN");
  check->add_flag("--json", options.json, "One JSON document");
  add_drawn(check, options.drawn);
  check->callback([&call] { call.command = [&call] { return cli::predict_check(call.prediction_check); }; });
}

}  // namespace

void describe_commands(CLI::App& app, Call& call) {
  describe_report(app, call);
  describe_watch(app, call);
  describe_ls(app, call);
  describe_diff(app, call);
  describe_scaling(app, call);
  describe_trace(app, call);
  describe_predict(app, call);
  describe_predict_check(app, call);
  describe_merge(app, call);
  describe_check(app, call);
  describe_sync(app, call);
}

}  // namespace cli
TAKT_END_NAMESPACE
