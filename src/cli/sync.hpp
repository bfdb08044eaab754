// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "trackers/tracker.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/config.hpp>
#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Figures over ranks, from the directories of a run.
struct JobOfDirectories {
  std::shared_ptr<const Job> job;  ///< null: not available, or not yet
  bool waits = false;              ///< available later: a rank has not ended
  std::string warning;             ///< missing or awaited ranks; empty: none
};

/// Reads the journals of the ranks next to that of rank 0. Memory is bounded: a few ranks, the paths, and the steps by
/// which ranks are compared.
/// \param directory of rank 0.
/// \param run from its journal.
/// \param reported number of ranks whose figures were delivered: only figures of more ranks are returned.
JobOfDirectories job_of_directories(const std::string& directory, const RunInfo& run, std::uint64_t reported);

/// Result of the delivery of one directory.
enum class Outcome {
  all,        ///< all data is delivered, and the run has ended
  written,    ///< all data is in a file for another command: there is no key, or sending is off
  so_far,     ///< all data so far is delivered; the run is active
  some,       ///< some data could not be delivered
  busy,       ///< another process is delivering
  not_sent,   ///< this rank has no run of its own
  unreadable  ///< no data found
};

/// Receives the delivered and the known total number of points or rows.
using Watcher = std::function<void(std::uint64_t done, std::uint64_t whole)>;

/// Exclusive delivery of one rank's directory to one tracker: the part that all trackers share. One thread at a time.
class DirectoryTurn {
 public:
  DirectoryTurn(std::string directory, const detail::Tracker& tracker);
  /// Releases the lease.
  ~DirectoryTurn() { lease_.release(); }
  DirectoryTurn(const DirectoryTurn&) = delete;
  DirectoryTurn& operator=(const DirectoryTurn&) = delete;

  /// Identifies the run and takes the lease. Returns false, with the outcome and the reason, if there is nothing to
  /// deliver from here.
  /// \throws takt::Error if no process can take the lease.
  bool begin(bool all_ranks, Outcome& outcome, std::string& why);

  const std::string& directory() const noexcept { return directory_; }
  const std::shared_ptr<const detail::DirectoryFiles>& files() const noexcept { return files_; }
  const RunInfo& run() const noexcept { return run_; }
  /// Returns true if a part has been delivered: there is a cursor.
  bool is_started() const noexcept { return is_started_; }
  std::string cursor_file() const { return tracker_.cursor_file(directory_); }
  /// Returns false if it cannot be read, or is longer than `max` bytes.
  bool read_cursor(std::size_t max, std::string& text) const;

  /// Returns true if this process still holds the lease; else problem() has the reason.
  bool lasts() { return lease_.refresh(); }
  /// Lease that guards the cursor.
  detail::FileLease& lease() noexcept { return lease_; }
  bool is_lost() const noexcept { return !lease_.held(); }
  const std::string& problem() const noexcept { return lease_.problem(); }

  /// Returns the figures over ranks, if this is rank 0's directory; read at the first call.
  const JobOfDirectories& job();
  // State of the figures, valid after job().
  bool waits_for_ranks() const { return job_ && job_->waits; }
  std::string job_warning() const { return job_ ? job_->warning : ""; }
  /// Sets the number of ranks of delivered figures: only figures of more ranks are shown. Call before job() and read().
  void set_reported_ranks(std::uint64_t ranks) noexcept { reported_ranks_ = ranks; }

  /// Kind of a part of the journal.
  enum class Part {
    rows,   ///< more parts may follow
    end,    ///< last part: the run has recorded its end
    death,  ///< last part: the process does not exist and has recorded no end
    job     ///< last part again, with the figures over ranks
  };
  /// Returns false to stop.
  using Show = std::function<bool(Snapshot& snapshot, Part part)>;
  struct Reading {
    bool whole;  ///< all parts were taken
    bool ended;  ///< the run has ended, as have ranks whose figures are awaited
  };
  /// Passes the journal's run to `show`, from the start, part by part.
  Reading read(const Show& show);

 private:
  Reading read_journal(const Show& show, Snapshot& snapshot) const;

  const std::string directory_;
  const detail::Tracker tracker_;
  const std::shared_ptr<const detail::DirectoryFiles> files_;
  RunInfo run_;
  bool is_started_ = false;
  std::uint64_t reported_ranks_ = 0;
  std::optional<JobOfDirectories> job_;  // set by job()
  detail::FileLease lease_;
};

/// Progress bar in one line on stderr if that is a capable terminal; otherwise silent. One thread at a time.
class Progress {
 public:
  explicit Progress(std::string label);
  /// Erases the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool visible() const noexcept { return visible_; }
  void show(std::uint64_t done, std::uint64_t whole);

 private:
  std::string label_;
  bool visible_;
  bool drawn_ = false;
};

/// Returns "[#####.....]  50 %  1 000 of 2 000". Any thread.
std::string progress_bar(std::uint64_t done, std::uint64_t whole);

/// Maximum work of a delivery between two checks of the lease.
constexpr std::chrono::milliseconds kDeliverySlice(200);

/// Time limit of consecutive deliveries while a server accepts nothing. One thread at a time.
class IdleTimeout {
 public:
  explicit IdleTimeout(std::chrono::milliseconds max) : max_(max) {}

  /// Starts or resumes a delivery.
  /// \param answers number of answers so far that accepted data.
  void begin(std::uint64_t answers) {
    answers_ = answers;
    began_ = std::chrono::steady_clock::now();
    last_ = began_;
  }
  /// Returns false on a timeout. \param asking a request with its own time limit is in flight. After a timeout, further
  /// requests get only a moment until the server accepts data.
  bool lasts(std::uint64_t answers, bool asking) {
    const auto now = std::chrono::steady_clock::now();
    if (std::exchange(answers_, answers) != answers) {
      last_ = now;
      lost_ = false;
    }
    const bool lasts = lost_ ? asking && now - began_ <= kMoment : asking || now - last_ <= max_;
    lost_ = lost_ || !lasts;
    return lasts;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds kMoment{1000};

  const std::chrono::milliseconds max_;
  std::uint64_t answers_ = 0;
  Time began_;
  Time last_;
  bool lost_ = false;
};

}  // namespace cli
TAKT_END_NAMESPACE
