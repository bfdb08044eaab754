// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Appends energy, memory and device use from samples. One printable statement per line. Any thread.
void add_sampled(const Snapshot& snapshot, std::vector<std::string>& lines);

/// Appends missing samples and caveats of sampled figures.
void add_sample_caveats(const Snapshot& snapshot, std::vector<std::string>& lines);

/// Returns "power cap, heat" for bits of Slowdown. Any thread.
std::string slowdown_names(std::uint32_t bits);

/// Energy of steps as shown to people: the longest-running series, summed over all sensors of one kind. `steps` is 0 if
/// there is none. Any thread.
struct EnergyOfSteps {
  std::uint32_t series = 0;
  std::uint64_t steps = 0;
  double joules_a_step = 0;
  double joules_an_item = 0;  ///< 0 if there are no items
  double error = 0;           ///< maximum relative error of these
};
EnergyOfSteps energy_of_steps(const Snapshot& snapshot, Sensor::Kind kind);
/// For one sensor.
EnergyOfSteps energy_of_steps(const Snapshot& snapshot, std::uint32_t sensor);

/// Appends caveats of single paths: time that is missing from their figures or unexpectedly included. One printable
/// statement per line. Any thread.
void add_path_notes(const Snapshot& snapshot, std::vector<std::string>& lines);

}  // namespace detail
TAKT_END_NAMESPACE
