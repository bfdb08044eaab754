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

/// Result of the delivery of one directory.
struct WandbDelivered {
  Outcome outcome = Outcome::some;
  std::string why;         ///< for `some` and later outcomes; for earlier ones, why wanted data was not sent
  std::uint64_t rows = 0;  ///< in the log
  std::uint64_t sent = 0;  ///< rows sent so far
  std::string directory;   ///< directory of the log
  std::string run;         ///< "entity/project/id", if it was sent
  bool asked = false;      ///< for Outcome::all: confirmed by the server now, not only when it was sent
  std::string warning;     ///< on the figures over ranks; usually empty
  WandbResume resume = WandbResume::unset;  ///< relation to a run of the same id
};

/// Writes the data of a directory's journal that W&B's log lacks, as the exporter in the program would, and sends the
/// log if there is a key. One thread at a time.
class WandbDelivery {
 public:
  /// \param timeout of the calling takt sync; not nullptr.
  WandbDelivery(std::string directory, WandbOptions options, std::shared_ptr<IdleTimeout> timeout,
                detail::WandbTimes times = {});

  /// \throws takt::Error for options that cannot work, and for a log that was changed.
  WandbDelivered run(const Watcher& watch = {});

 private:
  void deliver(DirectoryTurn& turn, const Watcher& watch, WandbDelivered& delivered);
  bool has_more(const detail::WandbCursor& cursor, DirectoryTurn& turn, WandbDelivered& delivered) const;
  /// Writes the log. Returns false, with the reason, if it cannot be written up to the end of the journal.
  /// \param bytes of the journal at the start of the delivery.
  bool write(detail::WandbRun& run, DirectoryTurn& turn, std::uint64_t bytes, WandbDelivered& delivered) const;
  void send(detail::WandbRun& run, DirectoryTurn& turn, const Watcher& watch, WandbDelivered& delivered);

  std::string directory_;
  WandbOptions options_;
  std::shared_ptr<IdleTimeout> timeout_;
  detail::WandbTimes times_;
  bool has_log_ = false;  // log started by another process; wandb sync may have sent it
};

}  // namespace cli
TAKT_END_NAMESPACE
