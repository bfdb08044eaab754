// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kAllRanks = -1;

/// Of this process: that of its Session, else what TAKT_RANK or the launcher says. Any thread; reads the environment.
TAKT_EXPORT int this_rank() noexcept;

/// What TAKT_PROFILER_RANK says, kAllRanks where it is not set. Any thread; reads the environment.
TAKT_EXPORT int profiler_rank() noexcept;

/// For a window of steps, such as that of a profiler. Without trials it changes nothing. In trials `number` becomes
/// that of the step among the measured ones of FULL; false in all other steps, which are in no window. Any thread.
TAKT_EXPORT bool window_step(std::int64_t& number) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
