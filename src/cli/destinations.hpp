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

/// What came of the delivery of one directory, in words.
struct Synced {
  int status = 0;
  std::string words;
  std::string warning;  ///< what else is to be said of it; mostly empty
};

/// Delivers the directory of one rank, and tells the watcher how far it is.
/// \throws takt::Error for what the user has to change.
using SyncDirectory = std::function<Synced(const std::string& directory, const Watcher& watch)>;

/// Where `takt sync` delivers to.
struct Destination {
  const char* name;     ///< that --to takes
  const char* options;  ///< which variables say where it is, and who asks; for people
  /// Reads these variables. `wishes` come before them.
  /// \throws takt::Error for what cannot work for any directory.
  SyncDirectory (*open)(const SyncOptions& options);
};

/// All of them; the first one where no other is wished. Any thread.
const std::vector<Destination>& destinations();

/// The status of `takt sync` for a directory of which no more is known.
int status_of(Outcome outcome) noexcept;

// Of the table. Each is defined in the file of its destination.
SyncDirectory open_mlflow(const SyncOptions& options);
SyncDirectory open_wandb(const SyncOptions& options);
SyncDirectory open_tensorboard(const SyncOptions& options);

}  // namespace cli
TAKT_END_NAMESPACE
