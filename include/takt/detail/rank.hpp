// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kAllRanks = -1;

/// Of this process: that of its Session, else what TAKT_RANK or the launcher says. Any thread; reads the environment.
TAKT_EXPORT int this_rank() noexcept;

/// What TAKT_PROFILER_RANK says, kAllRanks where it is not set. Any thread; reads the environment.
TAKT_EXPORT int profiler_rank() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
