// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "mlflow/mlflow_client.hpp"
#include "mlflow/mlflow_queue.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

class JournalReader;

/// Feeds a client with the run that goes on in this process: from the snapshots that the exporter is shown, so that a disk that
/// fails delays no delivery; and, once more points wait than memory is for, from the journal, so that a server that is away for
/// long loses none. From there it comes back to the snapshots when it has caught up with them. Rows and metrics are numbered, so
/// that the points are the same either way. Without a journal the client drops the oldest, counted. One thread at a time.
/// (docs/decisions/0017-feeding-mlflow.md)
class MlflowFeed {
 public:
  using Time = MlflowClient::Time;

  /// \param client not owned.
  /// \param directory of the run; empty: there is no journal.
  /// \param most_points that are to wait in memory; a snapshot, or a part of the journal, may be beyond that.
  MlflowFeed(MlflowClient& client, const std::string& directory,
             std::size_t most_points = MlflowQueue::kMostBytes / sizeof(MetricPoint));

  ~MlflowFeed();
  MlflowFeed(const MlflowFeed&) = delete;
  MlflowFeed& operator=(const MlflowFeed&) = delete;

  void take(const Snapshot& snapshot);
  /// As MlflowClient::deliver(), with what the journal has to add.
  bool deliver(Time until);
  /// What waits is in the journal, too, not only in memory.
  bool is_behind() const noexcept { return behind_; }

 private:
  void fall_behind();
  bool read_journal(Time until);
  bool has_caught_up(const Snapshot& snapshot) const;

  MlflowClient& client_;
  const std::size_t most_points_;
  const std::string directory_;
  std::unique_ptr<JournalReader> journal_;
  bool has_journal_ = false;
  bool behind_ = false;
  Snapshot read_;  // of the journal
  std::uint64_t shown_rows_ = 0;
  std::uint64_t shown_metrics_ = 0;
  std::unique_ptr<const Snapshot> last_;  // of the run, while the journal has more that comes before
};

}  // namespace detail
TAKT_END_NAMESPACE
