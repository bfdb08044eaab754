// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/measurement.hpp>
#include <takt/sample.hpp>

#include <array>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The names of what is predicted and measured of a model: columns of results.csv.
inline constexpr std::array<const char*, 3> kModelCosts = {"latency_ms", "memory_mb", "energy_j"};

/// What these times come to. A percentile is the least time that so many do not pass (nearest rank). Any thread.
MeasuredTimes measured_times(std::vector<std::int64_t> times_ns);

/// Whether the interval of the median is at most such a share of it wide.
bool is_narrow(const MeasuredTimes& times, double share) noexcept;

/// Fewer values have no interval.
inline constexpr std::uint64_t kMinForMedian = 6;

/// Of n independent values in order, the largest k for which the k-th from each end hold their median between them in
/// 95 of 100 cases at least: 1 - 2 P(B <= k - 1), B being how many of n throws of a coin show heads (David and
/// Nagaraja, Order Statistics, 3rd edition, section 7.1). 0: fewer than kMinForMedian. Any thread.
std::uint64_t rank_of_median_end(std::uint64_t n) noexcept;

/// Fills in the memory and the energy of a measurement, from what its hook and its meters have told. Where meters tell
/// no energy, it names the first reason; where there is none of a meter, `no_energy` stays as it is. Any thread.
void conclude_costs(Measurement& measurement);

/// Notes on each run what meters told from the last sample before it to the first one behind it: clock, slow-downs, and
/// how busy other processes kept the machine. What was not sampled stays unknown. Any thread.
/// \param samples in the order of their times, for each meter.
/// \param runs in the order of their times.
void note_surroundings(const std::vector<Sensor>& sensors, const std::vector<Sample>& samples,
                       std::vector<MeasuredRun>& runs);

/// What the notes on runs come to. Any thread.
MeasuredNotes notes_on(const std::vector<MeasuredRun>& runs) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
