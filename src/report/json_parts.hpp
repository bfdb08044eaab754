// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/json_text.hpp"

#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Members that summary.json and `takt report --json` share.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns member `job` of summary.json; null if the snapshot is of a single rank.
JsonText job_json(const Snapshot& snapshot);

/// Adds the members of a comparison to an object: findings, steps, one_step_in, ranks_left_out, steps_unexposed,
/// efficiency, pipeline.
void add_comparison(JsonText& job, const RankComparison& comparison);

/// \param path_name returns a path's name.
JsonText throughput_json(const std::vector<JobThroughput>& all,
                         const std::function<std::string(std::uint32_t path)>& path_name);

// Members of summary.json. All: any thread.

/// A member that is null, or has no elements, is unknown.
JsonText machine_json(const MachineInfo& machine);
/// Returns member `threads` of a path; null if unknown.
JsonText threads_json(const PathStats& path);
/// Returns a list of Epochs with their number, in the order of their ends.
JsonText epochs_json(const Snapshot& snapshot);
JsonText sensors_json(const Snapshot& snapshot);
JsonText unsampled_json(const Snapshot& snapshot);
JsonText step_energies_json(const Snapshot& snapshot);
JsonText region_energies_json(const Snapshot& snapshot);
JsonText region_memories_json(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
