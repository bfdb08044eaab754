// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/commands.hpp"

#include <takt/config.hpp>

#include <functional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Runs the command in `words`, the arguments after the program's name, and returns the exit status.
/// \throws std::exception for errors that the user must fix.
int run_command_line(std::vector<std::string> words);

}  // namespace cli
TAKT_END_NAMESPACE

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11
class App;
}

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Parsed command line.
struct Call {
  std::vector<std::string> runs;
  std::string run;
  std::string file;
  std::string shell;
  bool json = false;
  bool csv = false;
  bool steps = false;
  bool force = false;
  ReportOptions which;
  WatchOptions watched;
  SyncOptions options;
  ScalingOptions scaling;
  LsOptions listed;
  DiffOptions compared;
  PredictOptions predicted;
  PredictCheckOptions prediction_check;
  int broken = kBroken;  ///< exit status if stdout cannot take all output
  std::function<int()> command;
};

/// Describes all commands; parsing sets `call.command` to the chosen one. `call` must outlive the parsing.
void describe_commands(CLI::App& app, Call& call);

}  // namespace cli
TAKT_END_NAMESPACE
