// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kAllRanks = -1;

/// Returns the rank of this process: that of its Session, else from TAKT_RANK or the launcher. Any thread; reads the
/// environment.
TAKT_EXPORT int this_rank() noexcept;

/// Returns the rank in TAKT_PROFILER_RANK, or kAllRanks if it is not set. Any thread; reads the environment.
TAKT_EXPORT int profiler_rank() noexcept;

/// Maps a step number for a window of steps, such as a profiler's. Without trials it changes nothing. In trials
/// `number` becomes the index among the measured steps of FULL; all other steps return false and are in no window. Any
/// thread.
TAKT_EXPORT bool window_step(std::int64_t& number) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
