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

/// Does what `words`, those behind the program's name, ask for, and returns the exit status.
/// \throws std::exception for what the user has to change.
int run_command_line(std::vector<std::string> words);

}  // namespace cli
TAKT_END_NAMESPACE

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11
class App;
}

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What was asked for.
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
  int broken = kBroken;  ///< where stdout does not take all
  std::function<int()> command;
};

/// Describes all commands, each of which becomes `call.command` where it is the one. `call` outlives the parsing.
void describe_commands(CLI::App& app, Call& call);

}  // namespace cli
TAKT_END_NAMESPACE
