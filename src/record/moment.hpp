// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One moment on the clock of the process, and on one that nobody slews.
struct Moment {
  std::uint64_t ns = 0;         ///< on the clock of the process; 0: no moment
  std::uint64_t steady_ns = 0;  ///< the same as `ns` while that is the processor's counter
  std::uint64_t within_ns = 0;  ///< in so much time both were read
};

}  // namespace detail
TAKT_END_NAMESPACE
