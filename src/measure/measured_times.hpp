// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/measurement.hpp>
#include <takt/sample.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Predicted and measured costs of a model: columns of results.csv.
inline constexpr std::array<const char*, 3> kModelCosts = {"latency_ms", "memory_mb", "energy_j"};

inline constexpr std::size_t kMaxFeatures = 32;  ///< of a measurement
inline constexpr std::size_t kMaxFeatureBytes = 60;

/// Returns true for a name of a feature: up to kMaxFeatureBytes letters, digits, '_', '.' and '-', so that it needs no
/// quotes in CSV and on a command line. Any thread.
bool is_feature_name(std::string_view name) noexcept;

/// Returns statistics of these times. Percentiles use the nearest-rank method. Any thread.
MeasuredTimes measured_times(std::vector<std::int64_t> times_ns);

/// Returns true if the median's interval is at most `share` of the median wide.
bool is_narrow(const MeasuredTimes& times, double share) noexcept;

/// Minimum number of values for an interval.
inline constexpr std::uint64_t kMinForMedian = 6;

/// Returns the rank that bounds the 95 % interval of the median of n sorted independent values: the largest k with 1 -
/// 2 P(B <= k - 1) >= 0.95, B being the number of heads in n coin tosses (David and Nagaraja, Order Statistics, 3rd
/// edition, section 7.1). The bounds are the k-th values from both ends. 0 if n < kMinForMedian. Any thread.
std::uint64_t rank_of_median_end(std::uint64_t n) noexcept;

/// Sets the memory and energy of a measurement from its hook and sensors. If no sensor has energy, `no_energy` gets the
/// first reason that a sensor gives; without one it stays unchanged. Any thread.
void conclude_costs(Measurement& measurement);

/// Adds sensor notes to each run, from the last sample before it to the first one after it: clock, slow-downs, and the
/// machine's load by other processes. Values without samples stay unknown. Any thread.
/// \param samples ordered by time for each sensor.
/// \param runs ordered by time.
void note_surroundings(const std::vector<Sensor>& sensors, const std::vector<Sample>& samples,
                       std::vector<MeasuredRun>& runs);

/// Summarises the notes on runs. Any thread.
MeasuredNotes notes_on(const std::vector<MeasuredRun>& runs) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
