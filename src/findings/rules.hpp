// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/findings.hpp"
#include "findings/run_view.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

// The rules: each adds what it concludes of the run, or what the figures lack for it. Each is in a file of its name;
// thresholds.hpp has from when on they speak. All: any thread.

/// input_bound, output_bound, communication_bound: a part of each step that nothing overlaps.
void add_bounds(const RunView& view, Conclusions& said);
/// slow_steps: single steps that take much longer than others.
void add_slow_steps(const RunView& view, Conclusions& said);

}  // namespace detail
TAKT_END_NAMESPACE
