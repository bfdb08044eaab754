// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/sync.hpp"
#include "mlflow/mlflow_client.hpp"

#include <takt/exporters/mlflow.hpp>

#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Result of the delivery of one directory.
struct MlflowDelivered {
  Outcome outcome = Outcome::some;
  std::string why;              ///< for all outcomes but `all` and `so_far`
  std::uint64_t points = 0;     ///< points that the server accepted now
  std::uint64_t was_there = 0;  ///< points that it had already, unknown to the cursor
  std::uint64_t waiting = 0;
  std::uint64_t left_out = 0;     ///< refused by the server so far
  std::size_t missing_files = 0;  ///< refused, or never written
  std::string run_id;
  std::string server;   ///< server of the delivery
  std::string warning;  ///< on the figures over ranks; usually empty
};

/// Sends the data of a directory's journal that MLflow lacks, as the exporter in the program would: the same points.
/// One thread at a time.
class MlflowDelivery {
 public:
  /// \param timeout of the calling takt sync; not nullptr.
  MlflowDelivery(std::string directory, MlflowOptions options, std::shared_ptr<IdleTimeout> timeout,
                 detail::SenderTimes times = {});

  /// \throws takt::Error for options that cannot work, and if the progress cannot be saved.
  MlflowDelivered run(const Watcher& watch = {});

 private:
  void deliver(DirectoryTurn& turn, const Watcher& watch, MlflowDelivered& delivered);
  void report(const detail::MlflowClient& client, const DirectoryTurn& turn, bool sent, bool ended,
              MlflowDelivered& delivered) const;
  bool send(detail::MlflowClient& client, DirectoryTurn& turn, const Watcher& watch, std::size_t max_left);

  std::string directory_;
  MlflowOptions options_;
  std::shared_ptr<IdleTimeout> timeout_;
  detail::SenderTimes times_;
};

}  // namespace cli
TAKT_END_NAMESPACE
