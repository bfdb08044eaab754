// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/mlflow.hpp>

#include "base/folder_files.hpp"
#include "cli/rank.hpp"
#include "mlflow/mlflow_client.hpp"
#include "trackers/file_lease.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What came of the delivery of one folder.
struct Delivered {
  enum class Outcome {
    all,        ///< nothing is left, and the run has ended there
    so_far,     ///< nothing is left, but the run goes on
    some,       ///< the server did not take everything
    busy,       ///< another process is at it
    not_sent,   ///< this rank has no run of its own
    unreadable  ///< nothing was found
  };
  Outcome outcome = Outcome::some;
  std::string why;              ///< for all but `all` and `so_far`
  std::uint64_t points = 0;     ///< that the server took now
  std::uint64_t was_there = 0;  ///< that it had already, though nobody knew
  std::uint64_t waiting = 0;
  std::uint64_t left_out = 0;  ///< refused by the server, so far
  std::string run_id;
  std::string server;  ///< that was asked
};

/// Sends what the journal in a folder has and MLflow has not, as the exporter in the program would have: the same points.
/// One thread at a time.
class Delivery {
 public:
  /// Told of points that were delivered now, and those that are known to wait.
  using Watcher = std::function<void(std::uint64_t, std::uint64_t)>;

  Delivery(std::string folder, MlflowOptions options, std::chrono::milliseconds patience,
           detail::SenderTimes times = {});

  /// \throws takt::Error for options that cannot work, and where nobody could find out later how far it got.
  Delivered run(const Watcher& watch = {});

 private:
  Delivered deliver(const RunInfo& run, const Watcher& watch);
  bool send(detail::MlflowClient& client, const Watcher& watch, std::size_t most_left);

  std::string folder_;
  std::shared_ptr<const detail::FolderFiles> files_;
  MlflowOptions options_;
  std::chrono::milliseconds patience_;
  detail::SenderTimes times_;
  detail::FileLease lease_;
};

}  // namespace cli
TAKT_END_NAMESPACE
