// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/step_history.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How many steps lie from one slow step to the next.
struct StepGaps {
  enum class Are {
    irregular,
    equal,  ///< nine in ten have the same length
    alike   ///< nine in ten are within 5 % of the median
  };
  Are are = Are::irregular;
  std::uint64_t length = 0;  ///< in the middle
};

/// Any thread.
StepGaps gaps_of(const SlowSteps& slow);

}  // namespace detail
TAKT_END_NAMESPACE
