// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_report.hpp"
#include "findings/step_history.hpp"
#include "ranks/rank_steps.hpp"

#include <takt/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <signal.h>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// How a run stands, in one line of key=value pairs (docs/command.md), as of this wall clock. Printable. Any thread.
std::string watch_line(const RunReport& run, std::int64_t now_unix_ns);

/// The terminal of stdout, on which a text takes the place of the one before. What was on it stays, and is back when
/// this leaves. Signals wait meanwhile until wait() takes them. One at a time, in a process of one thread.
class Screen {
 public:
  enum class Event { none, resized, stop };

  /// Whether stdout is a terminal that can do this.
  static bool is_there();

  Screen();
  /// Leaves, and lets signals through.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Lines for which there is no room are counted in the last one.
  void draw(const std::string& text);
  /// Waits for something, no longer than so. A process that was stopped in between is back on its screen then.
  Event wait(std::chrono::nanoseconds longest);
  /// Gives the terminal back; further calls do nothing.
  void leave();
  /// The signal that asked to stop; 0: none has.
  int stop_signal() const noexcept { return stop_signal_; }

 private:
  void enter();
  void suspend();

  sigset_t mask_before_ = {};
  bool entered_ = false;
  int stop_signal_ = 0;
};

/// A run that is read while it is written, from the journals of its ranks, also of those that come later. Each byte is
/// read once. One thread at a time.
class WatchedRun {
 public:
  /// Asked between parts of about a MiB: whether to leave the rest for another time.
  using Stop = std::function<bool()>;
  /// Of more ranks there are no findings that rest on the steps of one rank: they take 2 MiB each.
  static constexpr std::size_t kMaxHistories = 16;

  /// \param run has ranks, in directories: nobody writes into a merged file.
  explicit WatchedRun(RunDirectory run);

  /// Reads what has come since the last call. Returns whether that was all.
  bool read_on(const Stop& stop = {});
  /// Whether there is anything to report.
  bool readable() const noexcept;
  /// No process of the run goes on: each has ended, has died, or was not heard of for ten minutes.
  bool ended() const;
  /// As `takt report` has it. REQUIRES: readable().
  RunReport report() const;
  /// Why there is nothing to report, and what to do.
  std::string why_unreadable() const;

  const std::string& directory() const noexcept { return run_.directory; }
  /// Of which checksums were made: what reading has cost.
  std::uint64_t checked_bytes() const noexcept;

 private:
  struct LiveRank {
    LiveRank(const RankDirectory& directory, std::size_t max_values);

    RankReader reader;
    std::shared_ptr<detail::RankSteps> steps;
    std::optional<StepHistory> history;
  };

  static Rank rank_of(const LiveRank& live);
  void add_ranks();
  bool read_rank_on(LiveRank& rank, const Stop& stop);

  RunDirectory run_;
  std::map<std::string, LiveRank> ranks_;  // by directory
};

}  // namespace cli
TAKT_END_NAMESPACE
