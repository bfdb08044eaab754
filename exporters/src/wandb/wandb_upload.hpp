// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "trackers/backoff.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_log.hpp"
#include "wandb/wandb_replay.hpp"
#include "wandb/wandb_requests.hpp"

#include <takt/config.hpp>
#include <takt/exporters/wandb.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Timeouts and intervals. Tests use shorter ones.
struct WandbTimes {
  SenderTimes tries;                            ///< times to connect and between tries
  std::chrono::milliseconds transmit{15'000};   ///< minimum interval between requests with rows
  std::chrono::milliseconds heartbeat{30'000};  ///< maximum interval between requests
  std::chrono::milliseconds file{600'000};      ///< maximum time to upload a file
};

/// Sending progress of a log by earlier processes.
struct WandbSent {
  bool started = false;      ///< the server has the run from this log, after `behind`
  bool by_others = false;    ///< wandb sync may have sent a part of the log
  bool complete = false;     ///< everything was sent; only verify that the server still has it
  std::uint64_t lines = 0;   ///< number of the log's lines on the server
  std::uint64_t events = 0;  ///< number of its system metric lines there
  WandbBehind behind;
  std::string run;            ///< "entity/project/id", once started
  std::string run_directory;  ///< run directory for `takt sync`; empty: none
};

/// Sends a W&B log to its server while it grows, like the official client. Line n of the log is line n after the
/// server's earlier lines, so a line that is sent again overwrites itself. On resume, and after each outage, it queries
/// the server's state. Lines of other logs are kept, and the rest of this log is appended after them; summary, config,
/// files and state are then left to the other writer. Memory: one request. One thread at a time.
class WandbUpload {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Returns whether this build can send: false without libcurl.
  static bool available() noexcept;
  /// \throws takt::Error if the server or certificate files cannot work.
  static void check(const WandbOptions& options);

  /// Saves, for a later process, that the server has `run`, and the lines before it. Returns false if not saved yet.
  /// Lines are only sent after that: otherwise the log's lines on the server could not be identified later.
  using Started = std::function<bool(const std::string& run, const WandbBehind& behind)>;

  /// \param log_file in the directory of the run at W&B; need not exist yet.
  /// \param sent progress of an earlier process.
  /// \param started empty: no process will resume.
  /// \throws takt::Error as check().
  WandbUpload(const WandbOptions& options, const std::string& log_file, WandbSent sent = {}, Started started = {},
              const WandbTimes& times = {});
  ~WandbUpload();
  WandbUpload(const WandbUpload&) = delete;
  WandbUpload& operator=(const WandbUpload&) = delete;

  /// Sends until `until`; an unfinished request continues in the next call. Returns whether nothing is left that is
  /// due.
  /// \param all everything is due, not only data that has waited long enough. The end of the log is always due.
  bool deliver(Time until, bool all = false);
  /// Ends the run without files that are not uploaded yet.
  void give_up_files();

  /// Returns whether the server has the run's end. complete() also requires all files; a complete log is marked as
  /// uploaded, which W&B's client respects.
  bool ended() const noexcept;
  bool complete() const noexcept;
  /// Returns whether nothing more will be sent; the reason has been reported.
  bool stopped() const noexcept;
  std::uint64_t lines() const noexcept;    ///< number of the log's lines on the server
  std::uint64_t events() const noexcept;   ///< number of its system metric lines there
  std::uint64_t answers() const noexcept;  ///< number of answers that made progress
  bool asking() const noexcept;            ///< a request is under way; requests have their own time limit
  /// Returns the server's URL, without user and password.
  const std::string& url() const noexcept;
  const std::string& run() const noexcept;  ///< "entity/project/id" from the server; empty until known
  /// Returns the command that uploads the rest without duplicates.
  std::string command() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reports that a user pressed "stop" at W&B, and calls `on_stop` if set. Any thread.
void report_wandb_stop(const std::function<void()>& on_stop);

/// Reader of a growing log that returns the rows not yet on the server. One thread at a time.
class WandbLogTail {
 public:
  /// \param log path for messages; the file is in `directory`.
  WandbLogTail(std::string log, std::shared_ptr<const DirectoryFiles> directory);

  /// Starts, or restarts, reading at the first record.
  void start(const WandbThere& there, const WandbBehind& behind);
  /// If `stream` has no lines, reads the next ones, up to the size of one request. Skips the first `known_lines` rows
  /// and the first `known_events` system metric lines. Returns false if the file is not a W&B log; problem() has the
  /// reason.
  bool read(WandbStream& stream, std::uint64_t known_lines, std::uint64_t known_events);

  const WandbReplay& replay() const noexcept { return replay_; }
  const std::string& problem() const noexcept { return reader_->problem(); }

 private:
  std::string log_;
  std::shared_ptr<const DirectoryFiles> directory_;
  std::unique_ptr<WandbLogReader> reader_;
  WandbReplay replay_;
};

}  // namespace detail
TAKT_END_NAMESPACE
