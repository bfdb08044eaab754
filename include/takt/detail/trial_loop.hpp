// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a loop in trials asks libtakt, once for each batch. Without trials none of it is called but begin_trials().

#include <takt/session.hpp>
#include <takt/trial_options.hpp>

#include <cstdint>
#include <memory>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {

class TrialLoop;

/// What a loop that asks for a batch is to do.
enum class TrialTurn : std::uint8_t {
  take,   ///< take one from the loader, drop it, and ask again
  give,   ///< take one, and give it to the body
  again,  ///< give the kept one; if there is none, take one and keep it
  end,    ///< end, as if the data had ended
  go_on   ///< be a loop without trials from now on
};

struct TrialLoopEnd {
  /// Where the trials have not come to their end, they are cut off.
  TAKT_EXPORT void operator()(TrialLoop* loop) const noexcept;
};
using TrialLoopPointer = std::unique_ptr<TrialLoop, TrialLoopEnd>;

/// A loop begins. nullptr: it is one without trials.
/// \param may_repeat whether a batch may be given again.
/// \throws takt::Error for options that cannot be.
TAKT_EXPORT TrialLoopPointer begin_trials(const Session& session, const TrialOptions& options, bool may_repeat);
/// The step before is over.
TAKT_EXPORT TrialTurn next_turn(TrialLoop& loop);
/// The data have ended: calls TrialOptions::reset. False: there is none.
TAKT_EXPORT bool reset_data(TrialLoop& loop);
/// They begin again.
TAKT_EXPORT void begun_again(TrialLoop& loop) noexcept;
/// They cannot, or there are none when they do: the trials are over.
/// \param can_begin_again false: not even with a TrialOptions::reset.
TAKT_EXPORT void data_ended(TrialLoop& loop, bool can_begin_again);
/// The trials are over, and the loop is one without from now on.
/// \param has_batch whether the loader had one for it.
TAKT_EXPORT void batch_ended(TrialLoop& loop, bool has_batch, bool can_begin_again) noexcept;
/// Tells of the batch of this step; of one that is kept, where it lies.
TAKT_EXPORT void note_batch(TrialLoop& loop, const BatchFacts& facts, bool kept) noexcept;
/// Around the copy of the kept batch: on the clock of the trials.
TAKT_EXPORT std::uint64_t begin_copy(TrialLoop& loop) noexcept;
TAKT_EXPORT void end_copy(TrialLoop& loop, std::uint64_t started) noexcept;

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
