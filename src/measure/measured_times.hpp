// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What these times come to. A percentile is the least time that so many do not pass (nearest rank). Any thread.
MeasuredTimes measured_times(std::vector<std::int64_t> times_ns);

/// Whether the interval of the median is at most such a share of it wide.
bool is_narrow(const MeasuredTimes& times, double share) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
