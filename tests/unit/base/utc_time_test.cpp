// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <ctime>

TEST_CASE("UTC: dates and times equal those of the C library") {
  constexpr std::int64_t kDayS = 86'400;
  std::int64_t wrong = 0;
  for (std::int64_t day = -800'000; day <= 800'000; ++day) {  // about 2,200 years before and after 1970
    const std::time_t unix_s = day * kDayS + (day * 7919 % kDayS + kDayS) % kDayS;
    std::tm parts = {};
    gmtime_r(&unix_s, &parts);
    const takt::detail::UtcTime time = takt::detail::utc_time(unix_s);
    const bool same = time.year == parts.tm_year + 1900 && static_cast<int>(time.month) == parts.tm_mon + 1 &&
                      static_cast<int>(time.day) == parts.tm_mday && static_cast<int>(time.hour) == parts.tm_hour &&
                      static_cast<int>(time.minute) == parts.tm_min && static_cast<int>(time.second) == parts.tm_sec;
    wrong += same ? 0 : 1;
  }
  CHECK(wrong == 0);
}
