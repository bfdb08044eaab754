// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/ruler.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

void Ruler::start_at(std::uint64_t ticks) noexcept {
  segments_ = clock_->segments();  // before they are read, so that go_on() notices one that comes meanwhile
  const Clock::Segment segment = clock_->segment(source_, ticks);
  origin_ticks_ = ticks;
  last_ = ticks << kCodeBits >> kCodeBits;
  if (ticks < segment.from_ticks) {  // read on another core, before the clock was started
    origin_ns_ = segment.base_ns;
    longest_step_ = 0;
    multiplier_ = way_ = 0;
    return;
  }
  const Wide exact = static_cast<Wide>(ticks - segment.from_ticks) * segment.multiplier;
  origin_ns_ = segment.base_ns + static_cast<std::uint64_t>(exact >> 32U);
  way_ = static_cast<std::uint64_t>(exact) & 0xFFFFFFFFU;
  multiplier_ = segment.multiplier;
  const bool short_ways = segment.until_ticks - ticks > kFarthest && segment.multiplier <= kLargestMultiplier;
  longest_step_ = short_ways ? kLongestStep : 0;
}

TAKT_COLD void Ruler::go_far(Event event) noexcept { start_at(unwrap(event, last_ticks())); }

}  // namespace detail
TAKT_END_NAMESPACE
