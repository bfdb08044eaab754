// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/findings.hpp"
#include "findings/run_view.hpp"

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Reason to skip rules that depend on when steps ran.
inline constexpr const char* kTimeOfOthers = "trials or measurements ran at times that were not recorded";

// The rules. Each adds its findings, or a skipped rule if data is missing. The constants below are their thresholds.
// All: any thread.

/// never_ended: regions that are missing from all times.
void add_never_ended(const RunView& view, Conclusions& said);
/// lost: dropped steps, metrics or stream spans.
void add_losses(const RunView& view, Conclusions& said);

/// input_bound, output_bound, communication_bound: a part of each step that overlaps with nothing.
void add_bounds(const RunView& view, Conclusions& said);
/// slow_steps: single steps that take much longer than others.
void add_slow_steps(const RunView& view, Conclusions& said);
/// change_point, drift: steps become slower or faster during the run.
void add_changes(const RunView& view, Conclusions& said);

/// warm_up: the first steps take longer than others.
void add_warm_up(const RunView& view, Conclusions& said);
/// start_up, after_steps: time before the first and after the last step.
void add_start_and_end(const RunView& view, Conclusions& said);
/// between_steps: time between steps that no earlier rule has reported.
void add_between_steps(const RunView& view, Conclusions& said);

/// stopped, slept: the process did not run, or the machine slept.
void add_stops(const RunView& view, Conclusions& said);
/// processors_busy, oversubscribed: the Session's thread was runnable but had no processor.
void add_busy_processors(const RunView& view, Conclusions& said);
/// Runs after the rules for steps. Withdraws slow_steps, warm_up, change_point and drift if the thread waited for a
/// processor for at least half of their time, which may explain them. If that wait is unknown, their sentence says so.
/// Periodic slow steps stay, because the scheduler causes none.
void leave_to_scheduler(const RunView& view, Conclusions& said);
/// own_cost: Takt takes a part of the run.
void add_own_cost(const RunView& view, Conclusions& said);
/// uncovered: no region was open on the Session's thread, and no earlier rule explains it.
void add_uncovered(const RunView& view, Conclusions& said);

// Thresholds of the rules, with reasons. docs/findings.md has them for readers, with error rates.

/// Half the width of a two-sided 95 % interval, in standard deviations of a normal distribution.
inline constexpr double kNormal95 = 1.96;

// Minimum sample sizes.

/// Minimum number of steps after warm-up with a period; with fewer, shares and medians are mostly chance.
inline constexpr double kMinSteps = 32;
/// Minimum number of windows for a confidence interval.
inline constexpr std::size_t kMinRunWindows = 16;
/// Maximum number of windows. Shorter windows would correlate; 64 suffice to find a change, and blocks locate it.
inline constexpr std::size_t kMaxRunWindows = 64;

// Minimum shares of a step or of the run.

/// Minimum share of a step, by the lower end of the interval. Other tools call a loader's share high at 20 % and
/// mention it from 5 % on.
inline constexpr double kMinBoundShare = 0.10;
/// Minimum share of the run lost to slow steps; less changes no decision.
inline constexpr double kMinSlowShare = 0.02;
/// The same for one or two slow steps, which may not recur.
inline constexpr double kMinFewSlowShare = 0.05;
inline constexpr std::uint64_t kFewSlowSteps = 3;
/// Minimum share of the time from the first to the last step. Most runs validate between steps; a fifth of the time is
/// more than most intend.
inline constexpr double kMinBetweenShare = 0.20;
/// Minimum share of the run before the first or after the last step, and in ns, because short runs are mostly start-up.
inline constexpr double kMinOutsideShare = 0.20;
inline constexpr double kMinOutsideNs = 5e9;
/// Minimum share of the run that slow steps at its start cost.
inline constexpr double kMinWarmupShare = 0.05;
/// Minimum mean excess of these, as a share of a usual step, and in standard deviations of the later steps.
inline constexpr double kMinWarmupLonger = 0.75;
inline constexpr double kMinWarmupDeviations = 4;
/// Minimum length of the run, in ns, for rules about the process and Takt: a shorter run is mostly start and end.
inline constexpr double kShortestRunNs = 1e9;
/// Minimum share of the run for which a thread was runnable without a processor. An idle machine has 0.1 %.
inline constexpr double kMinWaitShare = 0.05;
/// Minimum share of the run in which the process was stopped.
inline constexpr double kMinStoppedShare = 0.01;
/// Minimum share of the run that Takt itself takes.
inline constexpr double kMinOwnShare = 0.02;
/// Minimum share of the run with no region open on the Session's thread.
inline constexpr double kMinUncoveredShare = 0.20;
/// Minimum share of the recorded data that was dropped.
inline constexpr double kMinLostShare = 0.01;

// Changes over time.

/// Minimum number of steps after warm-up with a period. With fewer, autocorrelation gives false changes in over 1 % of
/// runs.
inline constexpr double kMinStepsOverTime = 240;
/// Minimum number of windows on each side of a change.
inline constexpr std::size_t kMinWindowsASide = 4;
/// Minimum relative change of the level.
inline constexpr double kMinChange = 0.02;
/// Minimum number of effectively independent windows; with fewer, the scatter itself is uncertain.
inline constexpr double kMinIndependentOverTime = 6;
/// A Brownian bridge gets this far from 0 in 0.4 % of all cases (Kolmogorov). With few windows the critical value is
/// kShiftCritical (1 + kShiftFew / independent windows).
inline constexpr double kShiftCritical = 1.75;
inline constexpr double kShiftFew = 7;
/// Student's t quantile that a slope must exceed: 0.1 %, two-sided.
inline constexpr double kSlopeSure = 0.9995;
/// Maximum number of changes; a run with more has another kind of noise.
inline constexpr std::size_t kMaxChanges = 3;

}  // namespace detail
TAKT_END_NAMESPACE
