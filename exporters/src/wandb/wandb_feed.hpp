// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "wandb/wandb_run.hpp"

#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

class JournalReader;

/// Feeds a run of W&B with what goes on in this process: from the snapshots that the exporter is shown; and where rows or metrics
/// are missing before them, as a disk or a server has held the exporter up for longer than memory lasts, from the journal, until it
/// has caught up. Rows and metrics are numbered, so that the log is the same either way. Without a journal, or with one that
/// stands still, what is missing stays so. One thread at a time. (docs/decisions/0017-feeding-mlflow.md)
class WandbFeed {
 public:
  using Time = WandbRun::Time;

  /// \param run not owned.
  /// \param directory of the run; empty: there is no journal.
  WandbFeed(WandbRun& run, std::string directory);
  ~WandbFeed();
  WandbFeed(const WandbFeed&) = delete;
  WandbFeed& operator=(const WandbFeed&) = delete;

  /// As WandbRun::take(), with what the journal has to add.
  bool take(const Snapshot& snapshot);
  /// As WandbRun::finish(); without the end, for `takt sync`, where the journal is not read to its end by `until`.
  bool finish(Time until);

 private:
  bool lacks(const Snapshot& snapshot) const;
  bool read_journal(Time until, const Snapshot& newest);
  bool may_go_on(bool at_end, const Snapshot& snapshot) const;

  WandbRun& run_;
  std::string directory_;
  std::unique_ptr<JournalReader> journal_;
  bool behind_ = false;
  Snapshot read_;  // of the journal
  std::uint64_t shown_rows_ = 0;
  std::uint64_t shown_metrics_ = 0;
  std::unique_ptr<const Snapshot> last_;  // of the run, while the journal has more that comes before
};

}  // namespace detail
TAKT_END_NAMESPACE
