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

/// For batches that can be had once only: SYNTHETIC is left out.
struct NoSynthetic {};
/// The same as a value: takt::trials(session, loader, takt::no_synthetic).
inline constexpr NoSynthetic no_synthetic;

TAKT_END_NAMESPACE

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// Is the loader or the model the limit? Around the loader of a training loop:
///
///     for (auto&& batch : takt::trials(session, loader)) { step(batch); }
///
/// Without TAKT_TRIALS (or options) that is the loop itself. With it the loop runs trials: SYNTHETIC, the body with the
/// first batch again and again; IO, the loader alone; FULL, both. Each has one trial to warm up and three measured
/// ones. Then the loop ends as if the data had ended, unless TrialOptions::go_on. Results are in Snapshot::trials,
/// trials.json and, on rank 0, on stdout. What is recorded meanwhile is in no figure of the run. docs/trials.md has the
/// rules. A process runs trials in one loop at a time, and once: later loops with takt::trials() end at once, or with
/// go_on are loops without, unless its trials were cut off.
/// \param loader what a range-based for takes. Of an lvalue a reference is held, anything else is moved in.
/// \throws takt::Error, when the loop begins, for options that cannot be.
template <class Range>
detail::TrialRange<Range, true> trials(const Session& session, Range&& loader,
                                       TrialOptions options = TrialOptions::from_env()) {
  return {session, std::forward<Range>(loader), std::move(options)};
}
/// The same without SYNTHETIC.
template <class Range>
detail::TrialRange<Range, false> trials(const Session& session, Range&& loader, NoSynthetic,
                                        TrialOptions options = TrialOptions::from_env()) {
  return {session, std::forward<Range>(loader), std::move(options)};
}

/// The same for a loop that pulls its batches:
///
///     {
///       auto trials = takt::trials(session);
///       while (auto batch = trials.next([&] { return loader.next(); })) { step(*batch); }
///     }
///
/// Where the loop is left by break, its trials end with the object and not before: what is recorded until then is in no
/// figure of the run. So it has a scope of its own, with the loop.
inline detail::TrialPull<true> trials(const Session& session, TrialOptions options = TrialOptions::from_env()) {
  return {session, std::move(options)};
}
/// The same without SYNTHETIC.
inline detail::TrialPull<false> trials(const Session& session, NoSynthetic,
                                       TrialOptions options = TrialOptions::from_env()) {
  return {session, std::move(options)};
}

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: hands on what is pulled.
class TrialPull {
 public:
  template <class Pull>
  decltype(auto) next(Pull&& pull) {
    return pull();
  }
};

/// Compiled out: the loader itself.
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
