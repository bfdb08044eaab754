// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>

#include "base/folder_files.hpp"
#include "trackers/file_lease.hpp"
#include "wandb/wandb_run.hpp"
#include "wandb/wandb_upload.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What came of the delivery of one folder.
struct WandbDelivered {
  enum class Outcome {
    all,        ///< W&B has it, and knows that the run has ended
    written,    ///< the log has it, for "wandb sync": there is no key, or sending is not wished
    so_far,     ///< either of these, but the run goes on
    some,       ///< not everything could be sent or written
    busy,       ///< another process is at it
    not_sent,   ///< this rank has no run of its own
    unreadable  ///< nothing was found
  };
  Outcome outcome = Outcome::some;
  std::string why;         ///< for `some` and those behind it; for those before it, why nothing was sent that was to be
  std::uint64_t rows = 0;  ///< in the log
  std::uint64_t sent = 0;  ///< of these, by now
  std::string folder;      ///< of the log
  std::string run;         ///< "entity/project/id", where it was sent
  WandbResume resume = WandbResume::unset;  ///< what it has to do with a run of the same id
};

/// Writes what the journal in a folder has and W&B's log has not, as the exporter in the program would have, and sends the log where
/// there is a key. One thread at a time.
class WandbDelivery {
 public:
  /// Told of rows that W&B has, and of all.
  using Watcher = std::function<void(std::uint64_t, std::uint64_t)>;

  WandbDelivery(std::string folder, WandbOptions options, std::chrono::milliseconds patience,
                detail::WandbTimes times = {});

  /// \throws takt::Error for options that cannot work, and for a log that is not as it was left.
  WandbDelivered run(const Watcher& watch = {});

 private:
  WandbDelivered deliver(const RunInfo& run, const Watcher& watch);
  /// Returns false, with the outcome, where the log cannot be written as far as the journal goes.
  bool write(detail::WandbRun& run, bool begun, WandbDelivered& delivered);
  void send(detail::WandbRun& run, const Watcher& watch, WandbDelivered& delivered);

  std::string folder_;
  std::shared_ptr<const detail::FolderFiles> files_;
  WandbOptions options_;
  std::chrono::milliseconds patience_;
  detail::WandbTimes times_;
  detail::FileLease lease_;
};

}  // namespace cli
TAKT_END_NAMESPACE
