// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A time in the Gregorian calendar, UTC.
struct UtcTime {
  std::int64_t year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

/// \param unix_s in seconds since 1970, also before that. Not gmtime_r(), whose lock a forked child may find held for
/// ever.
TAKT_EXPORT UtcTime utc_time(std::int64_t unix_s) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
