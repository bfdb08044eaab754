// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/track_lanes.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint32_t TrackLanes::place(std::int64_t begin_ns, std::int64_t end_ns) {
  if (end_ns <= begin_ns) { return 0; }  // lies inside whatever is there
  const auto count = static_cast<std::uint32_t>(lanes_.size());
  for (std::uint32_t lane = 0; lane < count; ++lane) {
    if (lanes_[lane].take({begin_ns, end_ns})) { return lane; }
  }
  if (count == kMostLanes) { return kNone; }
  lanes_.emplace_back().take({begin_ns, end_ns});
  return count;
}

bool TrackLanes::Lane::take(Stretch span) {
  if (outermost_.empty() || outermost_.back().end_ns <= span.begin_ns) {  // the usual one
    outermost_.push_back(span);
    if (outermost_.size() > kMost) { shorten(); }
    return true;
  }
  if (outermost_.back().begin_ns < span.begin_ns) { return false; }  // the usual other one: it lies across the last
  const auto first =
      std::lower_bound(outermost_.begin(), outermost_.end(), span,
                       [](const Stretch& each, const Stretch& its) { return each.end_ns <= its.begin_ns; });
  auto last = first;
  for (; last != outermost_.end() && last->begin_ns < span.end_ns; ++last) {
    // What lies inside an outermost one is not known any more, so that nothing more goes there.
    if (last->begin_ns < span.begin_ns || last->end_ns > span.end_ns) { return false; }
  }
  if (first == last) {
    outermost_.insert(first, span);
  } else {
    *first = span;
    outermost_.erase(first + 1, last);
  }
  return true;
}

/// Those in the middle become one. What began long ago and has not ended, as an Epoch, began among the oldest.
void TrackLanes::Lane::shorten() {
  const auto quarter = static_cast<std::ptrdiff_t>(outermost_.size() / 4);
  const auto first = outermost_.begin() + quarter;
  const auto last = outermost_.end() - quarter;
  first->end_ns = (last - 1)->end_ns;
  outermost_.erase(first + 1, last);
}

}  // namespace detail
TAKT_END_NAMESPACE
