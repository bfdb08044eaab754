// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>

#include "fault.hpp"
#include "variables.hpp"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace {

using detail::flag;
using detail::trimmed;
using detail::variable;

constexpr std::pair<const char*, WandbMode> kModes[] = {
    {"", WandbMode::online},         {"online", WandbMode::online},  {"run", WandbMode::online},
    {"offline", WandbMode::offline}, {"dryrun", WandbMode::offline}, {"disabled", WandbMode::disabled}};

WandbMode mode_of_environment() {
  if (flag("WANDB_DISABLED")) { return WandbMode::disabled; }
  const std::string value = trimmed(variable("WANDB_MODE"));
  for (const auto& [word, meaning] : kModes) {
    if (value == word) { return meaning; }
  }
  detail::report_fault_once("environment.WANDB_MODE", "WANDB_MODE=" + value +
                                                          " is not online, offline or disabled (nor their older names "
                                                          "run and dryrun); using online");
  return WandbMode::online;
}

std::vector<std::string> tags_of_environment() {
  std::vector<std::string> tags;
  std::istringstream list(variable("WANDB_TAGS"));
  for (std::string each; std::getline(list, each, ',');) {
    each = trimmed(each);
    if (!each.empty()) { tags.push_back(each); }
  }
  return tags;
}

}  // namespace

WandbOptions WandbOptions::from_env() {
  WandbOptions options;
  options.mode = mode_of_environment();
  options.directory = variable("WANDB_DIR");
  options.entity = trimmed(variable("WANDB_ENTITY"));
  options.project = trimmed(variable("WANDB_PROJECT"));
  options.run_id = variable("WANDB_RUN_ID");
  options.name = variable("WANDB_NAME");
  options.notes = variable("WANDB_NOTES");
  options.tags = tags_of_environment();
  options.group = variable("WANDB_RUN_GROUP");
  options.job_type = variable("WANDB_JOB_TYPE");
  options.sweep_id = variable("WANDB_SWEEP_ID");
  options.silent = flag("WANDB_SILENT");
  options.all_ranks = SessionOptions::from_env().all_ranks;
  return options;
}

TAKT_END_NAMESPACE
