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

/// The first that is not before the path. Where none is missing between, that is as far from the first as its number.
std::vector<TimeInStep>::iterator find_path(std::vector<TimeInStep>& times, std::uint32_t path) noexcept {
  if (times.empty() || times.back().path < path) { return times.end(); }
  if (path <= times.front().path) { return times.begin(); }
  const std::size_t far = path - times.front().path;
  if (far < times.size() && times[far].path == path) { return times.begin() + static_cast<std::ptrdiff_t>(far); }
  return std::lower_bound(times.begin(), times.end(), path,
                          [](const TimeInStep& each, std::uint32_t value) { return each.path < value; });
}

/// \param value of a cell; below 0: it has none.
template <class Value>
std::vector<TimeInStep> times_by_path(const Row& row, Value value) {
  std::vector<TimeInStep> times;
  times.reserve(row.cells.size());
  for (const Cell& each : row.cells) {
    const std::int64_t ns = value(each);
    if (ns < 0) { continue; }
    auto at = find_path(times, each.path);
    if (at == times.end()) {
      times.push_back({each.path});
      at = times.end() - 1;
    } else if (at->path != each.path) {
      at = times.insert(at, {each.path});
    }
    at->ns = bounded_sum(at->ns, static_cast<std::uint64_t>(ns));
  }
  return times;
}

/// \param beside whether what a path took was beside what the path around it did, and not part of it.
template <class Beside>
std::vector<OwnTime> without_inner(std::vector<TimeInStep> times, const Snapshot& snapshot, const Row& row,
                                   Beside beside) {
  for (const TimeInStep& each : times) {
    if (each.path >= snapshot.paths.size() || beside(snapshot.paths[each.path])) { continue; }
    const std::uint32_t parent = snapshot.paths[each.path].parent;
    const auto above = find_path(times, parent);
    if (parent == PathStats::kNoParent || above == times.end() || above->path != parent) { continue; }
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

}  // namespace

std::vector<OwnTime> own_times(const Snapshot& snapshot, const Row& row) {
  const auto host_ns = [](const Cell& cell) { return std::max<std::int64_t>(cell.host_ns, 0); };
  return without_inner(times_by_path(row, host_ns), snapshot, row, [](const PathStats&) { return false; });
}

std::vector<OwnTime> own_stream_times(const Snapshot& snapshot, const Row& row) {
  const auto device_ns = [](const Cell& cell) { return cell.device_ns; };
  return without_inner(times_by_path(row, device_ns), snapshot, row,
                       [](const PathStats& path) { return path.kind == Kind::comm; });
}

}  // namespace detail
TAKT_END_NAMESPACE
