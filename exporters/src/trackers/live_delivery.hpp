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

/// Whoever takes a run in parts, and passes over what it has taken before. One thread at a time.
class RunConsumer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~RunConsumer() = default;
  /// Returns false where nothing more will be taken.
  virtual bool take(const Snapshot& snapshot) = 0;
  /// The least numbers of rows, metrics and samples that it has not taken.
  virtual std::uint64_t next_row() const noexcept = 0;
  virtual std::uint64_t next_metric() const noexcept = 0;
  /// By default it lacks none.
  virtual std::uint64_t next_sample() const noexcept { return ~std::uint64_t{0}; }
  /// What it keeps in memory is not too much yet.
  virtual bool has_space() const noexcept { return true; }
  /// There is a journal: without room, what comes can wait there.
  virtual void found_journal() noexcept {}
  /// Makes room, until `until`. Returns whether nothing is left to deliver.
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

/// Shows a taker the run that goes on in this process: the snapshots that the exporter is shown, so that a disk that
/// fails delays no delivery; and the journal, where the taker has no room for more, or where rows, metrics or samples
/// are missing before a snapshot, as the exporter was held up for longer than memory lasts. From there it comes back to
/// the snapshots when it has caught up with them. All of these are numbered, so that what is taken is the same either
/// way. Without a journal, or with one that stands still, what is missing stays so. One thread at a time.
/// (docs/decisions/0017-feeding-mlflow.md)
class JournalFeed {
 public:
  using Time = RunConsumer::Time;

  /// \param taker not owned.
  /// \param directory of the run; empty: there is no journal.
  JournalFeed(RunConsumer& consumer, const Tracker& tracker, std::string directory);
  ~JournalFeed();
  JournalFeed(const JournalFeed&) = delete;
  JournalFeed& operator=(const JournalFeed&) = delete;

  /// What the exporter begins with: rows of later steps are missing, too, where it was never shown one. May be left
  /// out.
  void begin(const Snapshot& snapshot);
  /// Returns false where nothing more will be taken.
  bool take(const Snapshot& snapshot);
  /// As the taker's deliver(), with what the journal has to add. Returns false where that is not all by `until`, and
  /// where the taker takes no more of it.
  bool deliver(Time until);
  /// What the taker lacks is in the journal, not in memory.
  bool is_behind() const noexcept { return behind_; }

 private:
  /// Numbers of rows, of metrics, or of samples.
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
  bool refused_ = false;  // by the taker: nothing more is read for it
  Snapshot read_;         // of the journal
  // What the newest snapshot says: the journal may repeat an older value.
  std::map<std::string, std::string> params_;
  std::map<std::string, std::string> tags_;
  Shown rows_;
  Shown metrics_;
  Shown samples_;
  std::unique_ptr<const Snapshot> last_;  // of the run, while the journal has more that comes before
};

/// How the directory of a run stands with a tracker when an exporter begins.
enum class Claim {
  ours,     ///< nobody has begun, and this process holds the lease; or there is no directory
  started,  ///< another exporter has begun, or takt sync
  taken,    ///< another process holds the lease, or nobody can
};

/// A run as one tracker takes it from the process that it goes on in: what differs from tracker to tracker. One thread
/// at a time.
class LiveRun {
 public:
  virtual ~LiveRun() = default;
  /// Before all else, once.
  /// \param why of Claim::begun the cursor; of Claim::taken what stands in the way.
  /// \param lease what a cursor in the directory may be written with; nullptr: there is none. It outlives the run.
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
/// begun; begins it once; and holds the lease of the run directory, so that takt sync waits. As an Exporter: one
/// thread at
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
  bool started_ = false;
  bool left_ = false;  // to others: all of it, or what was not delivered
  const pid_t pid_;
};

}  // namespace detail
TAKT_END_NAMESPACE
