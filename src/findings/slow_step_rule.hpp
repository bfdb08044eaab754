// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/step_history.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Distances between consecutive slow steps.
struct StepGaps {
  enum class Are {
    irregular,
    equal,  ///< at least 90 % have the same length
    alike   ///< at least 90 % are within 5 % of the median
  };
  Are are = Are::irregular;
  std::uint64_t length = 0;  ///< median, in steps
};

/// Any thread.
StepGaps gaps_of(const SlowSteps& slow);

}  // namespace detail
TAKT_END_NAMESPACE
