// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <vector>

// The memory of regions with a takt::MemoryScope.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns the resident memory of the process in bytes; below 0: unknown. Any thread.
std::int64_t resident_bytes() noexcept;

/// Notes a sample of the process's resident memory for all open MemoryScopes. Any thread.
void note_resident_sample(std::int64_t bytes) noexcept;

/// Returns the memory of regions by key, in the order of their first calls. Any thread. \throws std::bad_alloc
/// \param lost set to the number of regions beyond the bounds.
std::vector<RegionMemory> region_memories(std::uint64_t& lost);

/// Forgets the parent's regions.
void memory_after_fork() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
