// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include "trackers/file_lease.hpp"
#include "trackers/tracker.hpp"

#include <chrono>
#include <memory>
#include <string>

#include <sys/types.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How the folder of a run stands with a tracker when an exporter begins.
enum class Claim {
  ours,   ///< nobody has begun, and this process holds the lease; or there is no folder
  begun,  ///< another exporter has begun, or takt sync
  taken,  ///< another process holds the lease, or nobody can
};

/// A run as one tracker takes it from the process that it goes on in: what differs from tracker to tracker. One thread
/// at a time.
class LiveRun {
 public:
  virtual ~LiveRun() = default;
  /// Before all else, once.
  /// \param why of Claim::begun the cursor; of Claim::taken what stands in the way.
  /// \param lease what a cursor in the folder may be written with; nullptr: there is none. It outlives the run.
  /// Returns false where it leaves the run to others; a line has said so.
  virtual bool begin(const Snapshot& snapshot, Claim claim, const std::string& why, FileLease* lease) = 0;
  /// Also sends, for a slice of time, while the run goes on.
  virtual ExportResult take(const Snapshot& snapshot) = 0;
  virtual bool flush(std::chrono::milliseconds deadline) = 0;
  /// Nothing comes after it. A line has said what remains.
  virtual bool finish(std::chrono::milliseconds deadline) = 0;
  /// Nothing more will be delivered from here, so that takt sync may at once.
  virtual bool stopped() const noexcept { return false; }

 protected:
  LiveRun() = default;
  LiveRun(const LiveRun&) = default;
  LiveRun(LiveRun&&) = default;
  LiveRun& operator=(const LiveRun&) = default;
  LiveRun& operator=(LiveRun&&) = default;
};

/// What sending may take in a call before the run has ended. A request that takes longer goes on in the next one:
/// whoever ends the run never has to wait for a silent server first.
constexpr std::chrono::milliseconds kLiveSlice(500);

/// What every tracker's exporter does with its run: leaves it to rank 0, to the parent of a fork, or to whoever has
/// begun; begins it once; and holds the lease of the run folder, so that takt sync waits. As an Exporter: one thread at
/// a time.
class LiveDelivery {
 public:
  /// \param all_ranks not only rank 0 delivers.
  /// \param run none: nothing is delivered.
  LiveDelivery(const Tracker& tracker, bool all_ranks, std::unique_ptr<LiveRun> run);
  /// Gives the lease back. In a forked child it leaves the run alone: closing a connection would say goodbye in the
  /// parent's name.
  ~LiveDelivery();
  LiveDelivery(const LiveDelivery&) = delete;
  LiveDelivery& operator=(const LiveDelivery&) = delete;

  // As those of Exporter.
  void begin(const Snapshot& snapshot);
  ExportResult export_snapshot(const Snapshot& snapshot);
  bool flush(std::chrono::milliseconds deadline);
  bool shutdown(std::chrono::milliseconds deadline);

 private:
  bool is_forked() const;
  Claim claim(std::string& why);
  bool may_deliver();
  void leave() noexcept;

  const Tracker tracker_;
  const bool all_ranks_;
  FileLease lease_;
  std::unique_ptr<LiveRun> run_;
  std::string directory_;  // of the run; may be empty
  bool begun_ = false;
  bool left_ = false;  // to others: all of it, or what was not delivered
  const pid_t pid_;
};

}  // namespace detail
TAKT_END_NAMESPACE
