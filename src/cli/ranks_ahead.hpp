// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/rank.hpp"
#include "cli/run_plan.hpp"

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The journals of a run in order, read ahead on a few threads of its own: most of the time goes into that. One thread
/// at a time.
class RanksAhead {
 public:
  /// Called for several ranks at the same time, on any thread.
  using Read = std::function<Rank(const PlannedRank&)>;

  /// What comes of them is added up on one thread, for which more would wait; and each of them holds two ranks.
  static constexpr unsigned kMostThreads = 4;
  /// As many threads as the process has processors, kMostThreads at most.
  static unsigned usual_threads() noexcept;

  /// \param plan outlives this.
  /// \param threads at most; where none can be had, and of one, next() reads itself.
  RanksAhead(const RunPlan& plan, Read read, unsigned threads = usual_threads());
  /// Waits for the reading that is under way.
  ~RanksAhead();
  RanksAhead(const RanksAhead&) = delete;
  RanksAhead& operator=(const RanksAhead&) = delete;

  /// The next one. REQUIRES: there is one. \throws what reading it has thrown.
  Rank next();

 private:
  struct Slot {
    bool is_read = false;
    Rank rank;
    std::exception_ptr error;
  };

  void work();
  bool may_begin() const noexcept { return begun_ < taken_ + slots_.size(); }

  const RunPlan& plan_;
  const Read read_;
  std::mutex mutex_;  // of what follows
  std::condition_variable read_one_;
  std::condition_variable took_one_;
  std::vector<Slot> slots_;  // a rank's is that of its place by their number
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cli
TAKT_END_NAMESPACE
