// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>
#include <takt/snapshot.hpp>

#include "wandb/wandb_records.hpp"

#include <map>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// \throws takt::Error for what W&B would not take, saying what to do. Any thread.
void check_wandb_options(const WandbOptions& options);

/// The command that uploads the log in `folder` without overwriting or doubling what is at W&B. Any thread.
/// \param run_folder where `takt sync` finds how far it got; empty: nowhere.
/// \param begun a part of it was sent, or may have been.
std::string wandb_upload_command(const std::string& folder, const std::string& run_folder, WandbResume resume,
                                 bool begun);

/// What the run is called. Any thread.
/// \param id where none is set.
WandbIdentity wandb_identity(const RunInfo& run, const WandbOptions& options, const std::string& id);

/// The value of a parameter: a number or truth value where the text is one, so that W&B can sort by it. Any thread.
std::string wandb_param(const std::string& name, const std::string& value);

/// What W&B calls the config of a run: parameters, and below "tags" and "takt" what Takt knows more. One thread at a
/// time.
class WandbConfig {
 public:
  /// What is new or changed since the last call.
  WandbItems changed(const Snapshot& snapshot);

 private:
  std::map<std::string, std::string> known_;  // JSON
};

}  // namespace detail
TAKT_END_NAMESPACE
