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

/// How long is waited for what. Tests wait less.
struct WandbTimes {
  SenderTimes tries;                            ///< those for connecting and between tries
  std::chrono::milliseconds transmit{15'000};   ///< from one request with rows to the next, at the least
  std::chrono::milliseconds heartbeat{30'000};  ///< of silence, at the most
  std::chrono::milliseconds file{600'000};      ///< that a file may take
};

/// What was sent of a log before.
struct WandbSent {
  bool started = false;      ///< the server has the run from this log: `behind` holds
  bool by_others = false;    ///< not from here, but wandb sync may have sent a part of it
  bool complete = false;     ///< and was told everything: it is asked whether it still has that, and sent nothing
  std::uint64_t lines = 0;   ///< of the log, that the server has
  std::uint64_t events = 0;  ///< of metrics of the system, likewise
  WandbBehind behind;
  std::string run;            ///< "entity/project/id", where it has begun
  std::string run_directory;  ///< where `takt sync` goes on with it; empty: there is none
};

/// Sends a log of W&B to its server while it grows, as the official client does: line n of the log is line n behind
/// those that the server had before the log, so that a line that is sent again from here overwrites itself. Before it
/// goes on, and after each outage, it asks what the server has: lines that are not the log's stay, the rest of the log
/// stands behind them, and what a run has but once is left to whoever wrote them. Memory is that of one request. One
/// thread at a time.
class WandbUpload {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Whether there is a way to send from here: not without libcurl.
  static bool available() noexcept;
  /// \throws takt::Error for a server or files of certificates that cannot work.
  static void check(const WandbOptions& options);

  /// Writes down, for whoever goes on, that the server has `run` from now on, and behind what. False: not now, and no
  /// line is sent before it has, as nobody could tell later which of the server's lines are the log's.
  using Started = std::function<bool(const std::string& run, const WandbBehind& behind)>;

  /// \param log_file in the directory of the run; it may not be there yet.
  /// \param sent by an earlier process.
  /// \param begun empty: nobody goes on.
  /// \throws takt::Error as check().
  WandbUpload(const WandbOptions& options, const std::string& log_file, WandbSent sent = {}, Started started = {},
              const WandbTimes& times = {});
  ~WandbUpload();
  WandbUpload(const WandbUpload&) = delete;
  WandbUpload& operator=(const WandbUpload&) = delete;

  /// Sends until `until`; a request that has not ended by then goes on in the next call. Returns whether nothing is
  /// left that is due.
  /// \param all what is there is due, and not only what has waited long enough. The end of the log is always due.
  bool deliver(Time until, bool all = false);
  /// Says that the run has ended without files that are not there yet.
  void give_up_files();

  /// The server knows that the run has ended. With all its files, the log is marked as uploaded, which the client
  /// heeds.
  bool ended() const noexcept;
  bool complete() const noexcept;
  /// Nothing more will be sent; a line has said why.
  bool stopped() const noexcept;
  std::uint64_t lines() const noexcept;    ///< that the server has
  std::uint64_t events() const noexcept;   ///< metrics of the system that it has, in lines
  std::uint64_t answers() const noexcept;  ///< that brought it on
  bool asking() const noexcept;            ///< a request is under way, which has a time limit of its own
  /// Where it sends to, without user and password.
  const std::string& url() const noexcept;
  const std::string& run() const noexcept;  ///< "entity/project/id", as the server says; empty before it has
  /// What uploads what is left without putting anything there twice.
  std::string command() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Somebody has pressed "stop" at W&B: says so, and tells the program by `on_stop`, if there is one. Any thread.
void report_wandb_stop(const std::function<void()>& on_stop);

/// A log that grows, and the rows of it that a server has not been told of. One thread at a time.
class WandbLogTail {
 public:
  /// \param log for people; `directory` has it.
  WandbLogTail(std::string log, std::shared_ptr<const DirectoryFiles> directory);

  /// Reads from the first record on, once more where that was done before.
  void start(const WandbThere& there, const WandbBehind& behind);
  /// Where `stream` has no lines: the next ones, as many as one request may carry. Those before `known_lines`, and of
  /// metrics of the system those before `known_events`, are passed over. False: what is there is no such log;
  /// problem() says why.
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
