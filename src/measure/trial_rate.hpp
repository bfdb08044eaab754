// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One step of a trial: from the request for its batch to the next one.
struct TrialStep {
  std::uint64_t ns = 0;
  std::uint64_t items = 0;    ///< samples; 0: nobody told
  std::uint64_t copy_ns = 0;  ///< of ns, in which the kept batch was copied
  bool boundary = false;      ///< the loader was begun again inside
};

/// One measured trial.
struct Trial {
  std::vector<TrialStep> steps;
  std::uint64_t wait_ns = 0;  ///< behind the last step, until its streams had done their work
  std::uint64_t begun_again = 0;
  std::int64_t begin_unix_ns = 0;
  std::int64_t end_unix_ns = 0;

  bool has_all_items() const noexcept;
};

/// The rate of trials of one kind, with its interval (docs/trials.md has the rules). Counts batches where a step is
/// without items. Any thread.
/// \param has_device the loop uses streams, or is waited for by a function: what copying takes is not left out.
TrialRate rate_of(const std::vector<Trial>& trials, bool has_device);

/// Has each kind count samples, if one of them does: the others have as many a step. Any thread.
void count_samples(TrialResults& results, const std::array<bool, kTrialKinds>& counted);

/// Counts other items: so many of them are one of those before. Any thread.
void scale(TrialRate& rate, double factor) noexcept;

/// By so much of the slower of IO and SYNTHETIC, or more, FULL is bound by that one; below, loading and computing do
/// not overlap.
inline constexpr double kBound = 0.9;

/// Sets `finding`, or `untold`, by the three rates and their intervals (docs/trials.md has the rules). Any thread.
void conclude_trials(TrialResults& results);

/// Puts the finding of the trials of `run` first, if there is one. Any thread.
void add_finding_of_trials(Snapshot& run);

}  // namespace detail
TAKT_END_NAMESPACE
