// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/rank.hpp>

#include "record/clock.hpp"

#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Process-wide switches, which need no Session: the first two are read at the first recording. Values that are not
/// understood are reported (fault cause "environment.<variable>") and left at their default.
struct ProcessEnvironment {
  bool disabled = false;                       ///< TAKT_DISABLE=1
  ClockChoice clock = ClockChoice::automatic;  ///< TAKT_CLOCK=counter|monotonic
  int profiler_rank = kAllRanks;               ///< TAKT_PROFILER_RANK=<rank>|all
};
ProcessEnvironment read_process_environment();

/// The names of those variables.
std::vector<std::string_view> process_variable_names();

}  // namespace detail
TAKT_END_NAMESPACE
