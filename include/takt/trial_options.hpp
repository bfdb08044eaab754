// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <functional>
#include <string>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// Which trials run, and how (takt/trials.hpp). from_env() starts from the variables in brackets; what is set in code
/// wins. Functions are called on the thread of the loop, and may throw.
struct TrialOptions {
  bool io = false;         ///< [TAKT_TRIALS=io,synthetic,full, or some of them, or all] the loader alone
  bool synthetic = false;  ///< [TAKT_TRIALS] the body alone, with the first batch again and again
  bool full = false;       ///< [TAKT_TRIALS] both
  int steps = 100;         ///< [TAKT_TRIALS_STEPS] of one trial at most, 1 to 100 000
  /// [TAKT_TRIALS_SECONDS] a trial begins no step after so long; 0: however long. In a run of several ranks only the
  /// steps count, as ranks that take different numbers of steps would wait for each other.
  double seconds = 10;
  /// [TAKT_TRIALS_GO_ON=0|1] the loop goes on after the trials, instead of ending. Where these are cut off it ends all
  /// the same.
  bool go_on = false;

  /// Has the loader begin again when its data end, so that another pass can be taken of a range, or of what is pulled.
  /// Not needed for a range whose iterators are forward iterators.
  std::function<void()> reset;
  std::function<void()> save;     ///< before the trials: weights, random state, the place of the loader
  std::function<void()> restore;  ///< after them, where the loop goes on: puts all of it back
  /// Waits at the end of each trial for what the loop has left to devices. Not needed for streams that regions have.
  std::function<void()> wait;
  std::function<void()> barrier;  ///< before each trial, so that those of all ranks run at once

  std::int64_t items = 0;   ///< samples in a batch; 0: as takt::BatchTraits or the items() of Batch regions tell
  std::string batch_place;  ///< where the data of a batch lie, if you know: "host", "device"

  bool any() const noexcept { return io || synthetic || full; }

  /// The defaults, changed by the environment. A value that is not understood is reported once with the values that
  /// are, and left at its default.
  TAKT_EXPORT static TrialOptions from_env();
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
