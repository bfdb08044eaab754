// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/commands.hpp"
#include "cli/sync.hpp"

#include <functional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Result of the delivery of one directory.
struct Synced {
  int status = 0;
  std::string words;
  std::string warning;  ///< further warning; usually empty
};

/// Delivers one rank's directory and reports progress to the watcher.
/// \throws takt::Error for errors that the user must fix.
using SyncDirectory = std::function<Synced(const std::string& directory, const Watcher& watch)>;

/// A destination of `takt sync`.
struct Destination {
  const char* name;     ///< value of --to
  const char* options;  ///< variables that set it, for --help
  /// Reads these variables; `options` take precedence.
  /// \throws takt::Error for settings that cannot work for any directory.
  SyncDirectory (*open)(const SyncOptions& options);
};

/// Returns all destinations; the first one is the default. Any thread.
const std::vector<Destination>& destinations();

/// Maps the outcome of a directory to the status of `takt sync`.
int status_of(Outcome outcome) noexcept;

// Entries of the table; each is defined in the file of its destination.
SyncDirectory open_mlflow(const SyncOptions& options);
SyncDirectory open_wandb(const SyncOptions& options);
SyncDirectory open_tensorboard(const SyncOptions& options);

}  // namespace cli
TAKT_END_NAMESPACE
