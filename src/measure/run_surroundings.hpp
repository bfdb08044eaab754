// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>
#include <takt/sample.hpp>

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Notes on each run what meters told from the last sample before it to the first one behind it: clock, slow-downs, and
/// how busy other processes kept the machine. What was not sampled stays unknown. Any thread.
/// \param samples in the order of their times, for each meter.
/// \param runs in the order of their times.
void note_surroundings(const std::vector<Meter>& meters, const std::vector<Sample>& samples,
                       std::vector<MeasuredRun>& runs);

/// What the notes on runs come to. Any thread.
MeasuredNotes notes_on(const std::vector<MeasuredRun>& runs) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
