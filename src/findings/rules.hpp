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

/// Why a rule abstains that goes by when steps were.
inline constexpr const char* kTimeOfOthers = "trials or measurements ran, and it is not told apart when";

// The rules: each adds what it concludes of the run, or what the figures lack for it. The constants say from when on
// they speak. All: any thread.

/// never_ended: regions whose time is in no figure.
void add_never_ended(const RunView& view, Conclusions& said);
/// lost: steps, metrics or stream spans that were recorded, or should have been.
void add_losses(const RunView& view, Conclusions& said);

/// input_bound, output_bound, communication_bound: a part of each step that nothing overlaps.
void add_bounds(const RunView& view, Conclusions& said);
/// slow_steps: single steps that take much longer than others.
void add_slow_steps(const RunView& view, Conclusions& said);
/// change_point, drift: steps that take longer, or less long, than earlier ones.
void add_changes(const RunView& view, Conclusions& said);

/// warm_up: the first steps take longer than others.
void add_warm_up(const RunView& view, Conclusions& said);
/// start_up, after_steps: time before the first step, and behind the last one.
void add_start_and_end(const RunView& view, Conclusions& said);
/// between_steps: time from a step to the next that no rule before this one has told of.
void add_between_steps(const RunView& view, Conclusions& said);

/// stopped, slept: the process did not run, or the machine slept.
void add_stops(const RunView& view, Conclusions& said);
/// processors_busy, oversubscribed: the thread of the Session was ready to run, and got no processor.
void add_busy_processors(const RunView& view, Conclusions& said);
/// After the rules for steps: withdraws slow_steps, warm_up, change_point and drift where the thread waited for a
/// processor for half of their time or longer, which may explain them. Where that wait is not known, their sentence
/// says so. Slow steps at equal distances stay: the scheduler makes none.
void leave_to_scheduler(const RunView& view, Conclusions& said);
/// own_cost: Takt takes a part of the run.
void add_own_cost(const RunView& view, Conclusions& said);
/// uncovered: no region tells what the thread of the Session did, and no rule before this one.
void add_uncovered(const RunView& view, Conclusions& said);

// From when on rules speak, and why. docs/findings.md has the same for readers, and how often each is wrong.

/// Half the width of a two-sided 95 % interval, in standard deviations of a normal distribution.
inline constexpr double kNormal95 = 1.96;

// How much there has to be.

/// Of steps after warm-up, with a period: below it shares and medians are those of chance.
inline constexpr double kMinSteps = 32;
/// Of windows, for an interval.
inline constexpr std::size_t kMinRunWindows = 16;
/// More make them so short that neighbours are alike; a change is found as well in 64, and its place in the blocks.
inline constexpr std::size_t kMaxRunWindows = 64;

// What part of a step or of the run is worth a line.

/// Of a step, by the lower end of the interval: half of where others call a loader's share high (20 %), above where
/// they begin to mention it (5 %).
inline constexpr double kMinBoundShare = 0.10;
/// Of the run, lost to slow steps. What takes less moves no decision.
inline constexpr double kMinSlowShare = 0.02;
/// The same of one or two steps, which may well not come again.
inline constexpr double kMinFewSlowShare = 0.05;
inline constexpr std::uint64_t kFewSlowSteps = 3;
/// Of the time from the first step to the last one. Most runs validate between steps; a fifth of the time is more than
/// most mean to spend on it.
inline constexpr double kMinBetweenShare = 0.20;
/// Of the run, before the first step or behind the last one; and in ns, as a short run is mostly that.
inline constexpr double kMinOutsideShare = 0.20;
inline constexpr double kMinOutsideNs = 5e9;
/// Of the run, by steps at its beginning that take longer than others.
inline constexpr double kMinWarmupShare = 0.05;
/// By how much these are longer on average, of what is usual, and in standard deviations of the steps behind them.
inline constexpr double kMinWarmupLonger = 0.75;
inline constexpr double kMinWarmupDeviations = 4;
/// Of the run, in ns, for what is said of the process and of Takt: a shorter one is mostly its own start and end.
inline constexpr double kShortestRunNs = 1e9;
/// Of the run, for which a thread was ready to run and had no processor. An idle machine has 0.1 %.
inline constexpr double kMinWaitShare = 0.05;
/// Of the run, in which the process was stopped.
inline constexpr double kMinStoppedShare = 0.01;
/// Of the run, that Takt itself takes. It promises next to nothing.
inline constexpr double kMinOwnShare = 0.02;
/// Of the run, in which no region was open on the thread of the Session.
inline constexpr double kMinUncoveredShare = 0.20;
/// Of what was recorded, and is lost.
inline constexpr double kMinLostShare = 0.01;

// Changes over time.

/// Steps, after warm-up and with a period. Of fewer that are much alike more than one run in a hundred seems to change.
inline constexpr double kMinStepsOverTime = 240;
/// Windows on each side of a change.
inline constexpr std::size_t kMinWindowsASide = 4;
/// By how much the level changes, of what it was.
inline constexpr double kMinChange = 0.02;
/// Of windows, if each were independent of its neighbours. Below it their scatter itself is hardly known.
inline constexpr double kMinIndependentOverTime = 6;
/// A Brownian bridge gets so far from 0 in 0.4 % of all cases (Kolmogorov). Where few windows tell how they scatter,
/// it takes more: kShiftCritical (1 + kShiftFew / independent windows).
inline constexpr double kShiftCritical = 1.75;
inline constexpr double kShiftFew = 7;
/// The quantile of Student's t that a slope has to pass: 0.1 %, both ways.
inline constexpr double kSlopeSure = 0.9995;
/// Changes that are looked for, at most: a run that has more has noise of another kind.
inline constexpr std::size_t kMaxChanges = 3;

}  // namespace detail
TAKT_END_NAMESPACE
