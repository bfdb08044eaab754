// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/tracker.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <sys/types.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

class JournalReader;

/// A consumer that reads a run incrementally and skips duplicates. One thread at a time.
class RunConsumer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~RunConsumer() = default;
  /// Returns false if the consumer accepts nothing more.
  virtual bool take(const Snapshot& snapshot) = 0;
  /// Returns the smallest numbers of rows, metrics and samples that the consumer does not have.
  virtual std::uint64_t next_row() const noexcept = 0;
  virtual std::uint64_t next_metric() const noexcept = 0;
  /// By default the consumer misses no samples.
  virtual std::uint64_t next_sample() const noexcept { return ~std::uint64_t{0}; }
  /// Returns whether the consumer can buffer more data.
  virtual bool has_space() const noexcept { return true; }
  /// Reports that a journal exists, so that data can wait there when the buffer is full.
  virtual void found_journal() noexcept {}
  /// Delivers buffered data until `until`. Returns whether nothing is left to deliver.
  virtual bool deliver(Time until) {
    (void)until;
    return true;
  }

 protected:
  RunConsumer() = default;
  RunConsumer(const RunConsumer&) = default;
  RunConsumer(RunConsumer&&) = default;
  RunConsumer& operator=(const RunConsumer&) = default;
  RunConsumer& operator=(RunConsumer&&) = default;
};

/// Feeds a consumer from the run of this process. Passes on the exporter's snapshots, so a failing disk delays no
/// delivery. Reads the journal instead if the consumer's buffer is full, or if data is missing before a snapshot
/// because the exporter was delayed too long. Returns to the snapshots once it has caught up. Rows, metrics and samples
/// are numbered, so both sources give the same result. Without a journal, or if the journal has stopped, missing data
/// stays missing. One thread at a time. (docs/decisions/0017-feeding-mlflow.md)
class JournalFeed {
 public:
  using Time = RunConsumer::Time;

  /// \param consumer not owned.
  /// \param directory run directory; empty: no journal.
  JournalFeed(RunConsumer& consumer, const Tracker& tracker, std::string directory);
  ~JournalFeed();
  JournalFeed(const JournalFeed&) = delete;
  JournalFeed& operator=(const JournalFeed&) = delete;

  /// Records the exporter's starting point, so that later rows count as missing even if no snapshot was ever shown.
  /// Optional.
  void begin(const Snapshot& snapshot);
  /// Returns false if the consumer accepts nothing more.
  bool take(const Snapshot& snapshot);
  /// Like the consumer's deliver(), including the journal's data. Returns false if not all was delivered by `until`, or
  /// if the consumer accepts nothing more.
  bool deliver(Time until);
  /// Returns whether the consumer's missing data is in the journal, not in memory.
  bool is_behind() const noexcept { return behind_; }

 private:
  /// Sequence numbers of the rows, metrics or samples shown.
  struct Shown {
    void begin(std::uint64_t number) noexcept;
    bool started = false;
    std::uint64_t first = 0;
    std::uint64_t next = 0;
  };
  bool give(const Snapshot& snapshot);
  bool lacks(const Snapshot& snapshot) const;
  void fall_behind(const Snapshot& snapshot);
  void note(const Snapshot& snapshot);
  bool read_journal(Time until);
  bool has_caught_up(bool at_end, const Snapshot& snapshot) const;

  RunConsumer& consumer_;
  const Tracker tracker_;
  const std::string directory_;
  std::unique_ptr<JournalReader> journal_;
  bool has_journal_ = false;
  bool behind_ = false;
  bool refused_ = false;  // by the consumer: nothing more is read for it
  Snapshot read_;         // from the journal
  // Values of the newest snapshot: the journal may repeat an older one.
  std::map<std::string, std::string> params_;
  std::map<std::string, std::string> tags_;
  Shown rows_;
  Shown metrics_;
  Shown samples_;
  std::unique_ptr<const Snapshot> last_;  // last snapshot of the run, while the journal still has earlier data
};

/// State of a run directory for a tracker when an exporter starts.
enum class Claim {
  ours,     ///< delivery has not started, and this process holds the lease; or there is no directory
  started,  ///< another exporter or takt sync has started delivery
  taken,    ///< another process holds the lease, or the lease cannot be taken
};

/// Delivery of a run by one tracker, within the process that records the run. One thread at a time.
class LiveRun {
 public:
  virtual ~LiveRun() = default;
  /// Starts delivery; called first, and once.
  /// \param why the cursor's path for Claim::started; the obstacle for Claim::taken.
  /// \param lease required to write a cursor in the directory; nullptr if there is none. It outlives the run.
  /// Returns false, after a report, if it leaves the run to others.
  virtual bool begin(const Snapshot& snapshot, Claim claim, const std::string& why, FileLease* lease) = 0;
  /// Also sends, for a slice of time, during the run.
  virtual ExportResult take(const Snapshot& snapshot) = 0;
  virtual bool flush(std::chrono::milliseconds deadline) = 0;
  /// Ends delivery, and reports the data that remains.
  virtual bool finish(std::chrono::milliseconds deadline) = 0;
  /// Returns whether this process delivers nothing more, so that takt sync may start at once.
  virtual bool stopped() const noexcept { return false; }

 protected:
  LiveRun() = default;
  LiveRun(const LiveRun&) = default;
  LiveRun(LiveRun&&) = default;
  LiveRun& operator=(const LiveRun&) = default;
  LiveRun& operator=(LiveRun&&) = default;
};

/// Maximum time for sending in one call before the run has ended. A longer request continues in the next call, so
/// ending the run never first waits for a silent server.
constexpr std::chrono::milliseconds kLiveSlice(500);

/// Common part of all tracker exporters. Leaves the run to rank 0, to the parent of a fork, or to a delivery that has
/// started; starts it once; and holds the lease of the run directory, so that takt sync waits. Like an Exporter: one
/// thread at a time.
class LiveDelivery {
 public:
  /// \param all_ranks deliver on all ranks, not only rank 0.
  /// \param run may be null: nothing is delivered.
  LiveDelivery(const Tracker& tracker, bool all_ranks, std::unique_ptr<LiveRun> run);
  /// Releases the lease. In a forked child, leaks the run: closing a connection would end it for the parent.
  ~LiveDelivery();
  LiveDelivery(const LiveDelivery&) = delete;
  LiveDelivery& operator=(const LiveDelivery&) = delete;

  // Same contracts as Exporter.
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
  std::string directory_;  // run directory; may be empty
  bool started_ = false;
  bool left_ = false;  // delivery, or its rest, is left to others
  const pid_t pid_;
};

}  // namespace detail
TAKT_END_NAMESPACE
