// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/utc_time.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kEraDays = 146'097;     // of 400 years, after which the calendar repeats itself
constexpr std::int64_t kBefore1970 = 719'468;  // days from March 1 of the year 0 on
constexpr unsigned kMonthDays[] = {31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29};  // from March on

std::int64_t floor_of(std::int64_t number, std::int64_t divisor) noexcept {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

/// Days from March 1 of the first year of an era to that of the year `years` later.
std::int64_t days_of(std::int64_t years) noexcept { return 365 * years + years / 4 - years / 100 + years / 400; }

}  // namespace

UtcTime utc_time(std::int64_t unix_s) noexcept {
  UtcTime time;
  const std::int64_t days = floor_of(unix_s, kDayS);
  const auto second = static_cast<unsigned>(unix_s - days * kDayS);
  time.hour = second / 3600;
  time.minute = second / 60 % 60;
  time.second = second % 60;
  const std::int64_t era = floor_of(days + kBefore1970, kEraDays);
  const std::int64_t day_of_era = days + kBefore1970 - era * kEraDays;
  std::int64_t years = day_of_era / 366;  // too few by one at most, in the first hundreds of years
  while (days_of(years + 1) <= day_of_era) { ++years; }
  auto day = static_cast<unsigned>(day_of_era - days_of(years));
  unsigned month = 0;
  while (day >= kMonthDays[month]) { day -= kMonthDays[month++]; }
  time.day = day + 1;
  time.month = (month + 2) % 12 + 1;
  time.year = 400 * era + years + (month >= 10 ? 1 : 0);
  return time;
}

}  // namespace detail
TAKT_END_NAMESPACE
