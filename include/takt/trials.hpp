// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/session.hpp>
#include <takt/trial_options.hpp>
#include <takt/trial_results.hpp>

#include <utility>

#if TAKT_ENABLED
#include <takt/detail/trial_pull.hpp>
#include <takt/detail/trial_range.hpp>
#else
#include <type_traits>
#endif

TAKT_BEGIN_NAMESPACE

/// For batches that cannot be produced again: skips SYNTHETIC.
struct NoSynthetic {};
/// Same as a value: takt::trials(session, loader, takt::no_synthetic).
inline constexpr NoSynthetic no_synthetic;

TAKT_END_NAMESPACE

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// Finds out if the loader or the model limits a training loop. Put it around the loader:
///
///     for (auto&& batch : takt::trials(session, loader)) { step(batch); }
///
/// The wait for each batch is a region takt::IO, unless TrialOptions::time_loader is false. Without TAKT_TRIALS (or
/// options) this is the plain loop. Otherwise the loop runs trials: SYNTHETIC, the body with the first batch repeated;
/// IO, the loader alone; FULL, both. Each has one warm-up trial and three measured ones, unless options say otherwise.
/// Then the loop ends as if the data had ended, unless TrialOptions::go_on is set. Results are in Snapshot::trials,
/// trials.json and, on rank 0, on stdout. Data recorded meanwhile are excluded from the run's statistics.
/// docs/trials.md has the rules. A process runs trials once, in one loop. Later loops with takt::trials() end at once;
/// with go_on they are plain loops, unless the trials were cut off.
/// \param loader anything that a range-based for takes. An lvalue is held by reference, anything else is moved in.
/// \throws takt::Error at the start of the loop, for invalid options.
template <class Range>
detail::TrialRange<Range, true> trials(const Session& session, Range&& loader,
                                       TrialOptions options = TrialOptions::from_env()) {
  return {session, std::forward<Range>(loader), std::move(options)};
}
/// Same, without SYNTHETIC.
template <class Range>
detail::TrialRange<Range, false> trials(const Session& session, Range&& loader, NoSynthetic,
                                        TrialOptions options = TrialOptions::from_env()) {
  return {session, std::forward<Range>(loader), std::move(options)};
}

/// Same, for a loop that pulls its batches:
///
///     {
///       auto trials = takt::trials(session);
///       while (auto batch = trials.next([&] { return loader.next(); })) { step(*batch); }
///     }
///
/// After a break, the trials end only with the object: data recorded until then are excluded from the run's statistics.
/// So give it a scope of its own, with the loop.
inline detail::TrialPull<true> trials(const Session& session, TrialOptions options = TrialOptions::from_env()) {
  return {session, std::move(options)};
}
/// Same, without SYNTHETIC.
inline detail::TrialPull<false> trials(const Session& session, NoSynthetic,
                                       TrialOptions options = TrialOptions::from_env()) {
  return {session, std::move(options)};
}

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: returns the pulled batch.
class TrialPull {
 public:
  template <class Pull>
  decltype(auto) next(Pull&& pull) {
    return pull();
  }
};

/// Compiled out: returns the loader itself.
template <class Range, class... Options,
          std::enable_if_t<!std::is_same_v<std::decay_t<Range>, TrialOptions> &&
                               !std::is_same_v<std::decay_t<Range>, NoSynthetic>,
                           int> = 0>
Range trials(const Session&, Range&& loader, const Options&...) {
  return std::forward<Range>(loader);
}
inline TrialPull trials(const Session&) { return {}; }
inline TrialPull trials(const Session&, const TrialOptions&) { return {}; }
inline TrialPull trials(const Session&, const NoSynthetic&) { return {}; }
inline TrialPull trials(const Session&, const NoSynthetic&, const TrialOptions&) { return {}; }

TAKT_END_OFF_NAMESPACE

#endif
