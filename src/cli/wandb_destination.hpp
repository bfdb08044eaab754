// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/sync.hpp"
#include "wandb/wandb_run.hpp"
#include "wandb/wandb_upload.hpp"

#include <takt/exporters/wandb.hpp>

#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What came of the delivery of one directory.
struct WandbDelivered {
  Outcome outcome = Outcome::some;
  std::string why;         ///< for `some` and those behind it; for those before it, why nothing was sent that was to be
  std::uint64_t rows = 0;  ///< in the log
  std::uint64_t sent = 0;  ///< of these, by now
  std::string directory;   ///< of the log
  std::string run;         ///< "entity/project/id", where it was sent
  bool asked = false;      ///< of Outcome::all: the server has said so now, and not only when it was sent
  std::string warning;     ///< on the figures over ranks; mostly empty
  WandbResume resume = WandbResume::unset;  ///< what it has to do with a run of the same id
};

/// Writes what the journal in a directory has and W&B's log has not, as the exporter in the program would have, and
/// sends
/// the log where there is a key. One thread at a time.
class WandbDelivery {
 public:
  /// \param patience of the call that this is a part of; not nullptr.
  WandbDelivery(std::string directory, WandbOptions options, std::shared_ptr<IdleTimeout> timeout,
                detail::WandbTimes times = {});

  /// \throws takt::Error for options that cannot work, and for a log that is not as it was left.
  WandbDelivered run(const Watcher& watch = {});

 private:
  void deliver(DirectoryTurn& turn, const Watcher& watch, WandbDelivered& delivered);
  bool has_more(const detail::WandbCursor& cursor, DirectoryTurn& turn, WandbDelivered& delivered) const;
  /// \param bytes of the journal as the delivery began.
  /// Returns false, with why, where the log cannot be written as far as the journal goes.
  bool write(detail::WandbRun& run, DirectoryTurn& turn, std::uint64_t bytes, WandbDelivered& delivered) const;
  void send(detail::WandbRun& run, DirectoryTurn& turn, const Watcher& watch, WandbDelivered& delivered);

  std::string directory_;
  WandbOptions options_;
  std::shared_ptr<IdleTimeout> timeout_;
  detail::WandbTimes times_;
  bool has_log_ = false;  // that another process has begun, and wandb sync may have sent
};

}  // namespace cli
TAKT_END_NAMESPACE
