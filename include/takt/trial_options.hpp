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

/// Facts about batches of type B for trials (takt/trials.hpp). Specialize it with any of
///
///     static std::int64_t items(const B&);        // number of samples in it
///     static const char* place(const B&);         // location of its data: "host", "device"; static storage
///     static B again(const B&);                   // the same batch once more, instead of a copy
///
/// For a pointer or an optional, the traits of the batch in it apply.
template <class B, class = void>
struct BatchTraits {};

namespace detail {

/// Known facts about a batch.
struct BatchFacts {
  std::int64_t items = 0;       ///< 0: unknown
  const char* place = nullptr;  ///< nullptr: unknown
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

/// Returns the content of an optional, or the batch itself.
template <class B>
struct HeldBatch {
  using Type = B;
};
template <class B>
struct HeldBatch<std::optional<B>> {
  using Type = B;
};

/// True if a batch can be produced again.
template <class B>
inline constexpr bool can_be_again = TellsOfBatch<BatchAgain, B>::value || std::is_copy_constructible_v<B> ||
                                     (!std::is_same_v<typename HeldBatch<B>::Type, B> &&
                                      TellsOfBatch<BatchAgain, typename HeldBatch<B>::Type>::value);

/// Returns the same batch once more. REQUIRES: can_be_again<B>.
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

/// Options of trials (takt/trials.hpp). from_env() reads the variables in brackets; values set in code win. Functions
/// are called on the thread of the loop and may throw.
struct TrialOptions {
  bool io = false;         ///< [TAKT_TRIALS=io,synthetic,full, or some of them, or all] the loader alone
  bool synthetic = false;  ///< [TAKT_TRIALS] the body alone, with the first batch repeated
  bool full = false;       ///< [TAKT_TRIALS] both
  int trials = 3;          ///< [TAKT_TRIALS_COUNT] measured trials of each kind, 1 to 100
  int warmup = 1;          ///< [TAKT_TRIALS_WARMUP] trials before them that are not measured, 0 to 100
  int steps = 100;         ///< [TAKT_TRIALS_STEPS] maximum steps of one trial, 1 to 100,000
  /// [TAKT_TRIALS_SECONDS] Time limit of a trial, up to 24 h: no step starts later. 0: no limit. With several ranks
  /// only the steps limit a trial, because ranks with different numbers of steps would wait for each other.
  std::chrono::milliseconds time_limit = std::chrono::seconds(10);
  /// [TAKT_TRIALS_PROGRESS] Rank 0 prints the rate on stderr after each so many steps of a trial. 0: never.
  int progress_steps = 0;
  /// [TAKT_TRIALS_GO_ON=0|1] The loop continues after the trials instead of ending. If the trials are cut off, it ends
  /// anyway.
  bool go_on = false;

  /// Restarts the loader when its data end, for another pass over a range or pull function. Not needed for a range with
  /// forward iterators.
  std::function<void()> reset;
  std::function<void()> save;     ///< called before the trials: saves weights, random state and loader position
  std::function<void()> restore;  ///< called after them if the loop continues: restores all of it
  /// Waits at the end of each trial for work that the loop left on devices. Not needed for streams of regions.
  std::function<void()> wait;
  std::function<void()> barrier;  ///< called before each trial, so that all ranks run it at once

  /// Times the wait for each batch as a region takt::IO, with and without trials. Set it to false if the loader has IO
  /// regions on the loop's thread.
  bool time_loader = true;

  std::int64_t items = 0;   ///< samples per batch; 0: from takt::BatchTraits or the items() of Batch regions
  std::string batch_place;  ///< location of a batch's data, if you know it: "host", "device"

  bool any() const noexcept { return io || synthetic || full; }

  /// Returns the defaults, overridden by the environment. An invalid value is reported once, with the valid values, and
  /// ignored.
  TAKT_EXPORT static TrialOptions from_env();
};

TAKT_END_NAMESPACE
