// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/energy_points.hpp"

#include <algorithm>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {

void EnergyPoints::add(std::int64_t time_ns, double joules) {
  if (covered_ns_ != kNever && time_ns <= covered_ns_) { return; }
  covered_ns_ = time_ns;
  if (!points_.empty() && joules <= points_.back().joules) { return; }
  if (added_ == 0) {
    first_ns_ = time_ns;
    first_joules_ = joules;
  }
  points_.push_back({time_ns, joules});
  ++added_;
  if (points_.size() > kMost) { points_.pop_front(); }
}

std::int64_t EnergyPoints::step_ns() const noexcept {
  return added_ < 2 ? 0 : (points_.back().time_ns - first_ns_) / static_cast<std::int64_t>(added_ - 1);
}

/// The first value behind that time.
EnergyPoints::Place EnergyPoints::behind(std::int64_t time_ns) const {
  return std::upper_bound(points_.begin(), points_.end(), time_ns,
                          [](std::int64_t time, const Point& point) { return time < point.time_ns; });
}

std::int64_t EnergyPoints::known_ns() const noexcept {
  if (points_.empty()) { return kNever; }
  const std::int64_t newest_ns = points_.back().time_ns;
  const bool flat = ended_ || covered_ns_ - newest_ns > kFlat * std::max<std::int64_t>(step_ns(), 1);
  return flat ? covered_ns_ : newest_ns;
}

bool EnergyPoints::at(std::int64_t time_ns, Edge& edge) const {
  const Place after = behind(time_ns);
  if (after == points_.begin() || time_ns > known_ns()) { return false; }
  const Point& before = *std::prev(after);
  if (after == points_.end()) {
    edge = {before.joules, points_.size() < 2 ? 0 : before.joules - std::prev(after, 2)->joules};
    return true;
  }
  const double used = after->joules - before.joules;
  const double share =
      static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after->time_ns - before.time_ns);
  edge = {before.joules + used * share, used};
  return true;
}

bool EnergyPoints::between(std::int64_t begin_ns, std::int64_t end_ns, WindowEnergy& energy) const {
  Edge begin;
  Edge end;
  if (begin_ns > end_ns || !at(begin_ns, begin) || !at(end_ns, end)) { return false; }
  energy.joules = end.joules - begin.joules;
  energy.error_joules = begin.error_joules + end.error_joules;
  energy.values = values_between(begin_ns, end_ns);
  return true;
}

std::size_t EnergyPoints::values_between(std::int64_t begin_ns, std::int64_t end_ns) const {
  return static_cast<std::size_t>(std::distance(behind(begin_ns), behind(end_ns)));
}

}  // namespace detail
TAKT_END_NAMESPACE
