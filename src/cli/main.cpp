// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/config.hpp>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
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

int run_command(int count, char** arguments) {
  CLI::App app(
      "What runs that were timed with Takt have left in their folders.\nExit status: 0 fine, 1 nothing found, not "
      "readable or not whole, 2 wrong usage, 3 something is not delivered yet.",
      "takt");
  app.set_version_flag("--version",
                       fmt::format("takt {}.{}.{}", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR, TAKT_VERSION_PATCH));
  app.require_subcommand(1);
  std::vector<std::string> runs;
  std::string run;
  std::string file;
  std::function<int()> chosen;

  CLI::App* const report =
      app.add_subcommand("report", "Print the table of a finished, running or killed run; ranks are added up");
  report->add_option("RUN", runs, kRuns);
  bool json = false;
  bool csv = false;
  bool steps = false;
  CLI::Option_group* const forms = report->add_option_group("Form", "instead of the table");
  forms->add_flag("--json", json, "One JSON document: how each rank stands, and the totals");
  forms->add_flag("--csv", csv, "CSV, a line for each path");
  forms->add_flag("--steps", steps, "CSV, a line for each step and path");
  forms->require_option(0, 1);
  report->callback([&] {
    const auto form = json    ? takt::cli::ReportForm::json
                      : csv   ? takt::cli::ReportForm::csv
                      : steps ? takt::cli::ReportForm::steps
                              : takt::cli::ReportForm::table;
    chosen = [&runs, form] { return takt::cli::report(runs, form); };
  });

  CLI::App* const check =
      app.add_subcommand("check", "Say what is whole and what is lost; status 0: all is whole, nothing is lost");
  check->add_option("RUN", runs, kRuns);
  check->callback([&] { chosen = [&runs] { return takt::cli::check(runs); }; });

  takt::cli::SyncWishes wishes;
  CLI::App* const sync = app.add_subcommand(
      "sync",
      "Deliver what has not been delivered; status 0: all is, 3: something "
      "remains. The server and who asks are told by the "
      "variables of MLflow's, Mantik's and W&B's own clients: MLFLOW_TRACKING_URI, WANDB_API_KEY and "
      "so on. Without a key of W&B's its log is written, for wandb sync. For TensorBoard a file is written");
  sync->add_option("RUN", runs, kRuns);
  sync->add_option("--to", wishes.to, "Where to; default: mantik where its variables are set, or else mlflow")
      ->check(CLI::IsMember({"mlflow", "mantik", "wandb", "tensorboard"}));
  sync->add_option("--patience", wishes.patience_s, "Seconds to go on for while the server takes nothing; default: 60")
      ->check(CLI::Range(0, 1'000'000));
  sync->add_flag("--every-step", wishes.every_step, "A point for each step; for runs of which nothing was sent yet");
  sync->add_flag("--all-ranks", wishes.all_ranks, "A run for each rank; for runs of which nothing was sent yet");
  sync->callback([&] {
    chosen = [&] {
      if (wishes.to == "tensorboard") { return takt::cli::sync_to_tensorboard(runs, wishes); }
      return wishes.to == "wandb" ? takt::cli::sync_to_wandb(runs, wishes) : takt::cli::sync(runs, wishes);
    };
  });

  CLI::App* const trace = app.add_subcommand("trace", "Write a time line of steps for https://ui.perfetto.dev");
  trace->add_option("RUN", run, "As above, of one process");
  trace->add_option("-o,--output", file, "The file to write")->required();
  trace->callback([&] { chosen = [&] { return takt::cli::trace(run, file); }; });

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (count > 1 && tell_nearest(app, arguments[1])) { return takt::cli::kUsage; }
    std::ostringstream out;
    std::ostringstream err;
    const int status = app.exit(error, out, err);  // it repeats what it was given
    std::fputs(takt::detail::printable_lines(out.str()).c_str(), stdout);
    std::fputs(takt::detail::printable_lines(err.str()).c_str(), stderr);
    return status == 0 ? 0 : takt::cli::kUsage;
  }
  const int status = chosen();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) { return status; }
  std::fputs("takt: not all that was asked for could be written to the standard output; is the disk full?\n", stderr);
  return takt::cli::kBroken;
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
