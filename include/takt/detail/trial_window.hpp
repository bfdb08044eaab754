// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// For a window of steps, such as that of a profiler. Without trials it changes nothing. In trials `number` becomes
/// that of the step among the measured ones of FULL; false in all other steps, which are in no window. Any thread.
TAKT_EXPORT bool window_step(std::int64_t& number) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
