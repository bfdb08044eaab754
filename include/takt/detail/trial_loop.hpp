// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Interface of a loop in trials to libtakt, called once per batch. Without trials, only begin_trials() is called.

#include <takt/detail/hot.hpp>
#include <takt/key.hpp>
#include <takt/session.hpp>
#include <takt/trial_options.hpp>

#include <cstdint>
#include <memory>
#include <utility>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {

class TrialLoop;

/// Action for a loop that requests a batch.
enum class TrialTurn : std::uint8_t {
  take,   ///< take one from the loader, drop it, and ask again
  give,   ///< take one and pass it to the body
  again,  ///< pass the kept one; if none exists, take one and keep it
  end,    ///< end, as if the data had ended
  go_on   ///< continue as a loop without trials
};

struct TrialLoopEnd {
  /// Cuts the trials off if they have not finished.
  TAKT_EXPORT void operator()(TrialLoop* loop) const noexcept;
};
using TrialLoopPointer = std::unique_ptr<TrialLoop, TrialLoopEnd>;

/// Starts a loop. Returns nullptr for one without trials.
/// \param may_repeat true if a batch may be repeated.
/// \throws takt::Error for invalid options.
TAKT_EXPORT TrialLoopPointer begin_trials(const Session& session, const TrialOptions& options, bool may_repeat);
/// Reports the end of the previous step and returns the next action.
TAKT_EXPORT TrialTurn next_turn(TrialLoop& loop);
/// Calls TrialOptions::reset after the data have ended. Returns false if it is not set.
TAKT_EXPORT bool reset_data(TrialLoop& loop);
/// Reports that the data started again.
TAKT_EXPORT void begun_again(TrialLoop& loop) noexcept;
/// Ends the trials because the data cannot restart, or are empty after a restart.
/// \param can_begin_again false: not even with a TrialOptions::reset.
TAKT_EXPORT void data_ended(TrialLoop& loop, bool can_begin_again);
/// Ends the trials; the loop continues without them.
/// \param has_batch true if the loader had a batch for it.
TAKT_EXPORT void batch_ended(TrialLoop& loop, bool has_batch, bool can_begin_again) noexcept;
/// Records facts about this step's batch; for a kept batch, its location.
TAKT_EXPORT void note_batch(TrialLoop& loop, const BatchFacts& facts, bool kept) noexcept;
/// Times the copy of the kept batch on the trials' clock.
TAKT_EXPORT std::uint64_t begin_copy(TrialLoop& loop) noexcept;
TAKT_EXPORT void end_copy(TrialLoop& loop, std::uint64_t started) noexcept;

/// Times the wait for a batch as a region of IO, if wanted. Begins when it is made. One thread.
class LoaderWait {
 public:
  explicit LoaderWait(bool wanted) noexcept : wanted_(wanted) { begin(); }
  ~LoaderWait() { end(); }
  LoaderWait(const LoaderWait&) = delete;
  LoaderWait& operator=(const LoaderWait&) = delete;

  /// REQUIRES: it has ended.
  TAKT_ALWAYS_INLINE void begin() noexcept {
    if (wanted_) { region_ = begin_region(IO); }
  }
  TAKT_ALWAYS_INLINE void end() noexcept { end_region(std::exchange(region_, 0)); }

  /// Ends the wait at the end of a block.
  class End {
   public:
    explicit End(LoaderWait& wait) noexcept : wait_(wait) {}
    ~End() { wait_.end(); }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

   private:
    LoaderWait& wait_;
  };

 private:
  const bool wanted_;
  Region region_ = 0;
};

/// Times the copy of the kept batch.
class TrialCopy {
 public:
  explicit TrialCopy(TrialLoop& loop) noexcept : loop_(loop), started_(begin_copy(loop)) {}
  ~TrialCopy() { end_copy(loop_, started_); }
  TrialCopy(const TrialCopy&) = delete;
  TrialCopy& operator=(const TrialCopy&) = delete;

 private:
  TrialLoop& loop_;
  std::uint64_t started_;
};

}  // namespace detail
TAKT_END_NAMESPACE

#endif
