// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/findings.hpp"
#include "findings/run_view.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Why a rule abstains that goes by when steps were.
inline constexpr const char* kTimeOfOthers = "trials or measurements ran, and it is not told apart when";

// The rules: each adds what it concludes of the run, or what the figures lack for it. thresholds.hpp has from when on
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

}  // namespace detail
TAKT_END_NAMESPACE
