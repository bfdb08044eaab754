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

/// Returns the state of a run, at this wall-clock time, as a line of key=value pairs (docs/command.md). Any thread.
std::string watch_line(const RunReport& run, std::int64_t now_unix_ns);

/// Terminal of stdout on which each text replaces the previous one. The previous screen is restored at the end. Signals
/// are blocked until wait() takes them. One at a time, in a single-threaded process.
class Screen {
 public:
  enum class Event { none, resized, stop };

  /// Returns true if stdout is a capable terminal.
  static bool is_there();

  Screen();
  /// Restores the screen and unblocks signals.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Draws a text; lines that do not fit are counted in the last line.
  void draw(const std::string& text);
  /// Waits at most `longest` for an event. If the process was stopped meanwhile, its screen is back on return.
  Event wait(std::chrono::nanoseconds longest);
  /// Restores the terminal; further calls do nothing.
  void leave();
  /// Signal that requested the stop; 0: none.
  int stop_signal() const noexcept { return stop_signal_; }

 private:
  void enter();
  void suspend();

  sigset_t mask_before_ = {};
  bool entered_ = false;
  int stop_signal_ = 0;
};

/// A run that is read while it is written, from its ranks' journals, including later ranks. Each byte is read once. One
/// thread at a time.
class WatchedRun {
 public:
  /// Polled after each MiB or so; true stops reading until the next call.
  using Stop = std::function<bool()>;
  /// Maximum number of ranks for findings on the steps of one rank: they take 2 MiB each.
  static constexpr std::size_t kMaxHistories = 16;

  /// \param run has ranks in directories: merged files never change.
  explicit WatchedRun(RunDirectory run);

  /// Reads new data. Returns true if all of it was read.
  bool read_on(const Stop& stop = {});
  /// Returns true if there is data to report.
  bool readable() const noexcept;
  /// Returns true if no process is active: each has ended, died, or was silent for ten minutes.
  bool ended() const;
  /// Returns the report as in `takt report`. REQUIRES: readable().
  RunReport report() const;
  /// Returns why there is no data to report, and the cure.
  std::string why_unreadable() const;

  const std::string& directory() const noexcept { return run_.directory; }
  /// Number of checksummed bytes, a measure of the cost of reading.
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
