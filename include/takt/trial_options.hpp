// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

TAKT_BEGIN_NAMESPACE

/// What trials (takt/trials.hpp) may be told about batches of type B. Specialise it with any of
///
///     static std::int64_t items(const B&);        // how many samples are in it
///     static const char* place(const B&);         // where its data lie: "host", "device"; static storage
///     static B again(const B&);                   // the same batch once more, in place of its copy
///
/// A pointer to a batch, or an optional, is asked about what it holds.
template <class B, class = void>
struct BatchTraits {};

namespace detail {

/// What is known of a batch.
struct BatchFacts {
  std::int64_t items = 0;       ///< 0: not known
  const char* place = nullptr;  ///< nullptr: not known
};

template <template <class> class Check, class B, class = void>
struct TellsOfBatch : std::false_type {};
template <template <class> class Check, class B>
struct TellsOfBatch<Check, B, std::void_t<Check<B>>> : std::true_type {};

template <class B>
using BatchItems = decltype(std::int64_t{BatchTraits<B>::items(std::declval<const B&>())});
template <class B>
using BatchPlace = decltype(static_cast<const char*>(BatchTraits<B>::place(std::declval<const B&>())));
template <class B>
using BatchAgain = decltype(B(BatchTraits<B>::again(std::declval<const B&>())));
template <class B>
using BatchHolds = decltype(*std::declval<const B&>(), static_cast<bool>(std::declval<const B&>()));

template <class B>
inline constexpr bool reports_of_batch = TellsOfBatch<BatchItems, B>::value || TellsOfBatch<BatchPlace, B>::value;

template <class B>
BatchFacts facts_of(const B& batch) {
  if constexpr (!reports_of_batch<B> && TellsOfBatch<BatchHolds, B>::value) {
    return batch ? facts_of(*batch) : BatchFacts{};
  } else {
    BatchFacts facts;
    if constexpr (TellsOfBatch<BatchItems, B>::value) { facts.items = BatchTraits<B>::items(batch); }
    if constexpr (TellsOfBatch<BatchPlace, B>::value) { facts.place = BatchTraits<B>::place(batch); }
    return facts;
  }
}

/// What an optional holds, or the batch itself.
template <class B>
struct HeldBatch {
  using Type = B;
};
template <class B>
struct HeldBatch<std::optional<B>> {
  using Type = B;
};

/// Whether a batch can be had once more.
template <class B>
inline constexpr bool can_be_again = TellsOfBatch<BatchAgain, B>::value || std::is_copy_constructible_v<B> ||
                                     (!std::is_same_v<typename HeldBatch<B>::Type, B> &&
                                      TellsOfBatch<BatchAgain, typename HeldBatch<B>::Type>::value);

/// The same batch once more. REQUIRES: can_be_again<B>.
template <class B>
B again_of(const B& batch) {
  using Held = typename HeldBatch<B>::Type;
  if constexpr (TellsOfBatch<BatchAgain, B>::value) {
    return BatchTraits<B>::again(batch);
  } else if constexpr (!std::is_same_v<Held, B> && TellsOfBatch<BatchAgain, Held>::value) {
    return batch ? B(BatchTraits<Held>::again(*batch)) : B();
  } else {
    return batch;
  }
}

}  // namespace detail

/// Which trials run, and how (takt/trials.hpp). from_env() starts from the variables in brackets; what is set in code
/// wins. Functions are called on the thread of the loop, and may throw.
struct TrialOptions {
  bool io = false;         ///< [TAKT_TRIALS=io,synthetic,full, or some of them, or all] the loader alone
  bool synthetic = false;  ///< [TAKT_TRIALS] the body alone, with the first batch again and again
  bool full = false;       ///< [TAKT_TRIALS] both
  int steps = 100;         ///< [TAKT_TRIALS_STEPS] of one trial at most, 1 to 100 000
  /// [TAKT_TRIALS_SECONDS] a trial begins no step after so long, up to 24 h; 0: however long. In a run of several
  /// ranks only the steps count, as ranks that take different numbers of steps would wait for each other.
  std::chrono::milliseconds time_limit = std::chrono::seconds(10);
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
