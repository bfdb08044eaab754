// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/sample.hpp>

#include "sample/energy_points.hpp"

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one meter tells of a stretch of time, such as a measured run.
struct MeterWindow {
  std::uint32_t meter = 0;
  Meter figures;  ///< its identity, and figures of the samples in the window
  bool has_energy = false;
  WindowEnergy energy;  ///< between the two ends, which lie between samples
};

/// Of each meter that was sampled between the two times. A pure function. Any thread.
/// \param samples in the order of their numbers, with those of each meter before and behind the window: without them
///        its energy cannot be told.
std::vector<MeterWindow> meter_windows(const std::vector<Meter>& meters, const std::vector<Sample>& samples,
                                       std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace detail
TAKT_END_NAMESPACE
