// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Appends what samples say of energy, memory, and how devices were used. A statement a line, printable. Any thread.
void add_sampled(const Snapshot& snapshot, std::vector<std::string>& lines);

/// The same of what is not sampled, and what the figures have to be read with.
void add_sample_caveats(const Snapshot& snapshot, std::vector<std::string>& lines);

/// "power cap, heat", of bits of Slowdown. Any thread.
std::string slowdown_names(std::uint32_t bits);

/// The energy of steps that people read: those of the series that took longest, and by all meters of one kind together.
/// `steps` is 0 where there is none. Any thread.
struct EnergyOfSteps {
  std::uint32_t series = 0;
  std::uint64_t steps = 0;
  double joules_a_step = 0;
  double joules_an_item = 0;  ///< 0: there are no items
  double error = 0;           ///< share of these, at most
};
EnergyOfSteps energy_of_steps(const Snapshot& snapshot, Sensor::Kind kind);
/// Of one meter.
EnergyOfSteps energy_of_steps(const Snapshot& snapshot, std::uint32_t sensor);

/// Appends what the figures of single paths do not contain, or contain beside what one expects. A statement a line,
/// printable. Any thread.
void add_path_notes(const Snapshot& snapshot, std::vector<std::string>& lines);

}  // namespace detail
TAKT_END_NAMESPACE
