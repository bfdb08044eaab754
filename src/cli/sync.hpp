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

/// The figures over ranks as the directories of a run tell them.
struct JobOfDirectories {
  std::shared_ptr<const Job> job;  ///< null: there are none to tell, or not yet
  bool waits = false;              ///< there will be: a rank has not ended
  std::string warning;             ///< who is missing, or waited for; empty: nobody
};

/// Reads the journals of the ranks that stand beside that of rank 0: memory is that of a few ranks, of the paths, and
/// of the steps by which ranks are compared, which are bounded.
/// \param directory of rank 0.
/// \param run as its journal tells it.
/// \param told of so many ranks the figures were delivered: there are none to tell but those of more.
JobOfDirectories job_of_directories(const std::string& directory, const RunInfo& run, std::uint64_t reported);

/// What came of the delivery of one directory.
enum class Outcome {
  all,        ///< nothing is left, and the run has ended there
  written,    ///< all is in a file that another command sends: there is no key, or sending is not wished
  so_far,     ///< nothing is left, but the run goes on
  some,       ///< not everything could be delivered
  busy,       ///< another process is at it
  not_sent,   ///< this rank has no run of its own
  unreadable  ///< nothing was found
};

/// Told of what was delivered, and of all that is known so far: points, or rows.
using Watcher = std::function<void(std::uint64_t done, std::uint64_t whole)>;

/// The turn of this process to deliver the directory of one rank to one tracker: what is the same for all of them. One
/// thread at a time.
class DirectoryTurn {
 public:
  DirectoryTurn(std::string directory, const detail::Tracker& tracker);
  /// Gives the lease back.
  ~DirectoryTurn() { lease_.release(); }
  DirectoryTurn(const DirectoryTurn&) = delete;
  DirectoryTurn& operator=(const DirectoryTurn&) = delete;

  /// Reads what run it is, and takes the lease. Returns false, with the outcome and why, where there is nothing to
  /// deliver from here.
  /// \throws takt::Error where the lease cannot be had by anybody.
  bool begin(bool all_ranks, Outcome& outcome, std::string& why);

  const std::string& directory() const noexcept { return directory_; }
  const std::shared_ptr<const detail::DirectoryFiles>& files() const noexcept { return files_; }
  const RunInfo& run() const noexcept { return run_; }
  /// Somebody has delivered a part of it: there is a cursor.
  bool is_started() const noexcept { return is_started_; }
  std::string cursor_file() const { return tracker_.cursor_file(directory_); }
  /// Returns false where it cannot be read, or is longer than `most` bytes.
  bool read_cursor(std::size_t max, std::string& text) const;

  /// Whether the turn is still this process's; if not, problem() says why.
  bool lasts() { return lease_.refresh(); }
  /// The lease that guards the cursor.
  detail::FileLease& lease() noexcept { return lease_; }
  bool is_lost() const noexcept { return !lease_.held(); }
  const std::string& problem() const noexcept { return lease_.problem(); }

  /// The figures over ranks, where this is rank 0's directory; read the first time.
  const JobOfDirectories& job();
  // What is known of them, once they were asked for.
  bool waits_for_ranks() const { return job_ && job_->waits; }
  std::string job_warning() const { return job_ ? job_->warning : ""; }
  /// Figures of so many ranks were delivered: those of more alone are read and shown. Before job() and read().
  void set_reported_ranks(std::uint64_t ranks) noexcept { reported_ranks_ = ranks; }

  /// What a part of the journal is.
  enum class Part {
    rows,   ///< there may be more
    end,    ///< the last: the run has said that it ended
    death,  ///< the last: its process is gone, and has not said so
    job     ///< the last once more, where the figures over ranks are there, with these
  };
  /// Returns false where it takes no more.
  using Show = std::function<bool(Snapshot& snapshot, Part part)>;
  struct Reading {
    bool whole;  ///< all parts were taken
    bool ended;  ///< the run will not go on, nor does a rank whose figures are waited for
  };
  /// Shows the run as the journal tells it, from its beginning, part by part.
  Reading read(const Show& show);

 private:
  Reading read_journal(const Show& show, Snapshot& snapshot) const;

  const std::string directory_;
  const detail::Tracker tracker_;
  const std::shared_ptr<const detail::DirectoryFiles> files_;
  RunInfo run_;
  bool is_started_ = false;
  std::uint64_t reported_ranks_ = 0;
  std::optional<JobOfDirectories> job_;  // once it was asked for
  detail::FileLease lease_;
};

/// A bar on stderr, in one line, where that is a terminal and no dumb one; nothing elsewhere. One thread at a time.
class Progress {
 public:
  explicit Progress(std::string label);
  /// Takes the line away.
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

/// "[#####.....]  50 %  1 000 of 2 000". Any thread.
std::string progress_bar(std::uint64_t done, std::uint64_t whole);

/// What a delivery may do between two questions whether the lease is still its own.
constexpr std::chrono::milliseconds kDeliverySlice(200);

/// How long the deliveries of a call, one after the other, go on while a server takes nothing. One thread at a time.
class IdleTimeout {
 public:
  explicit IdleTimeout(std::chrono::milliseconds max) : max_(max) {}

  /// A delivery begins, or goes on after something else.
  /// \param answers so far, that took something.
  void begin(std::uint64_t answers) {
    answers_ = answers;
    began_ = std::chrono::steady_clock::now();
    last_ = began_;
  }
  /// \param asking a request is under way, which has a time limit of its own; but once patience was lost, a moment has
  /// to do for those of all further deliveries until the server takes something.
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
