// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One step of a trial, from the request for its batch to the next request.
struct TrialStep {
  std::uint64_t ns = 0;
  std::uint64_t items = 0;    ///< samples; 0 if not reported
  std::uint64_t copy_ns = 0;  ///< part of ns spent copying the kept batch
  bool boundary = false;      ///< the loader restarted during the step
};

/// One measured trial.
struct Trial {
  std::vector<TrialStep> steps;
  std::uint64_t wait_ns = 0;  ///< after the last step, until its streams finished
  std::uint64_t begun_again = 0;
  std::int64_t begin_unix_ns = 0;
  std::int64_t end_unix_ns = 0;

  bool has_all_items() const noexcept;
};

/// Returns the rate of trials of one kind, with its interval (docs/trials.md has the rules). Counts batches if a step
/// has no items. Any thread.
/// \param has_device the loop uses streams or a wait function: copying time is then not subtracted.
TrialRate rate_of(const std::vector<Trial>& trials, bool has_device);

/// Makes each kind count samples if at least one does, assuming equal samples per step. Any thread.
void count_samples(TrialResults& results, const std::array<bool, kTrialKinds>& counted);

/// Converts rates to other items: `factor` of them equal one previous item. Any thread.
void scale(TrialRate& rate, double factor) noexcept;

/// Threshold for FULL relative to the slower of IO and SYNTHETIC. At or above it, FULL is bound by that one; below it,
/// loading and computing do not overlap.
inline constexpr double kBound = 0.9;

/// Sets `finding` or `unreported` from the three rates and their intervals (docs/trials.md has the rules). Any thread.
void conclude_trials(TrialResults& results);

}  // namespace detail
TAKT_END_NAMESPACE
