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

/// What came of the delivery of one directory.
struct MlflowDelivered {
  Outcome outcome = Outcome::some;
  std::string why;              ///< for all but `all` and `so_far`
  std::uint64_t points = 0;     ///< that the server took now
  std::uint64_t was_there = 0;  ///< that it had already, though nobody knew
  std::uint64_t waiting = 0;
  std::uint64_t left_out = 0;     ///< refused by the server, so far
  std::size_t missing_files = 0;  ///< likewise, or never written
  std::string run_id;
  std::string server;   ///< that was asked
  std::string warning;  ///< on the figures over ranks; mostly empty
};

/// Sends what the journal in a directory has and MLflow has not, as the exporter in the program would have: the same
/// points. One thread at a time.
class MlflowDelivery {
 public:
  /// \param patience of the call that this is a part of; not nullptr.
  MlflowDelivery(std::string directory, MlflowOptions options, std::shared_ptr<IdleTimeout> timeout,
                 detail::SenderTimes times = {});

  /// \throws takt::Error for options that cannot work, and where nobody could find out later how far it got.
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
