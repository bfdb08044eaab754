// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "history/own_times.hpp"

#include <takt/detail/counter.hpp>

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// A path within one step.
struct TimeInStep {
  std::uint32_t path = 0;
  std::uint64_t ns = 0;
  std::uint64_t inside_ns = 0;  // of the paths directly below it
};

bool is_before(const TimeInStep& a, std::uint32_t path) noexcept { return a.path < path; }

std::vector<TimeInStep> times_by_path(const Row& row) {
  std::vector<TimeInStep> times;
  times.reserve(row.cells.size());
  for (const Cell& each : row.cells) {
    auto at = std::lower_bound(times.begin(), times.end(), each.path, is_before);
    if (at == times.end() || at->path != each.path) { at = times.insert(at, {each.path}); }
    at->ns = bounded_sum(at->ns, each.host_ns < 0 ? 0 : static_cast<std::uint64_t>(each.host_ns));
  }
  return times;
}

}  // namespace

std::vector<OwnTime> own_times(const Snapshot& snapshot, const Row& row) {
  std::vector<TimeInStep> times = times_by_path(row);
  for (const TimeInStep& each : times) {
    const std::uint32_t parent = each.path < snapshot.paths.size() ? snapshot.paths[each.path].parent : Cell::kOther;
    const auto above = std::lower_bound(times.begin(), times.end(), parent, is_before);
    if (parent == Cell::kOther || above == times.end() || above->path != parent) { continue; }
    above->inside_ns = bounded_sum(above->inside_ns, each.ns);
  }
  const std::uint32_t batch = snapshot.series[row.series].path;
  std::vector<OwnTime> own;
  own.reserve(times.size());
  for (const TimeInStep& each : times) {
    if (each.path != batch) { own.push_back({each.path, each.ns - std::min(each.inside_ns, each.ns)}); }
  }
  return own;
}

}  // namespace detail
TAKT_END_NAMESPACE
