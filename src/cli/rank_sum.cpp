// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank_sum.hpp"

#include "base/format.hpp"
#include "report/tree_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Of paths that ranks met in another order, parents stand before their children all the same, but children not below
/// them.
void put_in_order(Snapshot& snapshot) {
  std::vector<PathStats> ordered;
  std::vector<std::uint32_t> now(snapshot.paths.size());
  for (const std::uint32_t at : detail::tree_order(snapshot)) {
    now[at] = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(std::move(snapshot.paths[at]));
    if (ordered.back().parent != PathStats::kNoParent) { ordered.back().parent = now[ordered.back().parent]; }
  }
  snapshot.paths = std::move(ordered);
  for (Series& each : snapshot.series) { each.path = now[each.path]; }
  for (OpenRegion& each : snapshot.open) { each.path = now[each.path]; }
}

}  // namespace

void RankSum::add(const Snapshot& rank) {
  if (merged_ == 0 && !only_) {
    only_ = rank;
    return;
  }
  if (only_) { merge(*only_); }
  only_.reset();
  merge(rank);
}

Snapshot RankSum::take() {
  Snapshot sum = only_ ? std::move(*only_) : std::move(sum_);
  if (!only_) {
    meters_.move_into(sum);
    put_in_order(sum);
  }
  *this = RankSum();
  return sum;
}

void RankSum::merge(const Snapshot& rank) {
  const std::string label = detail::format("rank {}", rank.run.rank);
  add_run(rank);
  const auto first_thread = static_cast<std::uint32_t>(sum_.threads.size());
  std::vector<std::uint32_t> paths;  // here, by index there
  for (const PathStats& each : rank.paths) { paths.push_back(add_path(each, paths)); }
  for (ThreadInfo each : rank.threads) {
    each.id = static_cast<std::uint32_t>(sum_.threads.size());
    each.name = label + ", " + each.name;
    sum_.threads.push_back(each);
  }
  meters_.add(rank, label, static_cast<std::uint32_t>(sum_.series.size()));
  for (Series each : rank.series) {
    each.path = paths[each.path];
    each.thread += first_thread;
    each.process = static_cast<std::uint32_t>(sum_.run.world_size - 1);
    sum_.series.push_back(each);
  }
  for (const OpenRegion& each : rank.open) {
    sum_.open.push_back({paths[each.path], each.thread + first_thread, each.open_ns});
  }
  for (const DeviceInfo& each : rank.devices) { add_device(each, label); }
  for (TimeLineInfo each : rank.time_lines) {
    each.device = label + ", " + each.device;
    each.overlap.time_line = static_cast<std::uint32_t>(sum_.time_lines.size());
    sum_.time_lines.push_back(each);
  }
  for (const Loss& each : rank.losses) {
    sum_.losses.push_back({each.what, each.where.empty() ? label : label + ", " + each.where, each.count});
  }
}

/// A kind of device stands for all ranks; one that ranks speak differently of stands there in each way.
void RankSum::add_device(const DeviceInfo& device, const std::string& label) {
  const bool is_new = devices_.insert({device.name, device.unavailable, device.caveat}).second;
  if (!is_new) { return; }
  const bool another = std::any_of(sum_.devices.begin(), sum_.devices.end(),
                                   [&](const DeviceInfo& each) { return each.name == device.name; });
  sum_.devices.push_back(device);
  if (another) { sum_.devices.back().name += " (" + label + ")"; }
}

void RankSum::add_run(const Snapshot& rank) {
  if (merged_++ == 0) {
    sum_.run = rank.run;
    sum_.run.directory.clear();
    sum_.run.groups.clear();
    sum_.clock = rank.clock;
    sum_.finished = true;
  }
  sum_.run.rank = -1;
  sum_.run.world_size = merged_;
  sum_.run.start_unix_ns = std::min(sum_.run.start_unix_ns, rank.run.start_unix_ns);
  sum_.clock.error_ppm = std::max(sum_.clock.error_ppm, rank.clock.error_ppm);
  sum_.clock.worst_error_ppm = std::max(sum_.clock.worst_error_ppm, rank.clock.worst_error_ppm);
  sum_.clock.error_since_ns = std::max(sum_.clock.error_since_ns, rank.clock.error_since_ns);
  sum_.clock.region_cost_ns = std::max(sum_.clock.region_cost_ns, rank.clock.region_cost_ns);
  sum_.clock.resolution_ns = std::max(sum_.clock.resolution_ns, rank.clock.resolution_ns);
  sum_.clock.empty_region_ns = std::max(sum_.clock.empty_region_ns, rank.clock.empty_region_ns);
  sum_.wall_ns = std::max(sum_.wall_ns, rank.wall_ns);
  sum_.uncovered_ns = std::max(sum_.uncovered_ns, rank.uncovered_ns);
  sum_.overhead_ns += rank.overhead_ns;
  add_process(rank.process);
  sum_.finished = sum_.finished && rank.finished;
  sum_.failed = sum_.failed || rank.failed;
  sum_.killed = sum_.killed || rank.killed;
  sum_.params.insert(rank.params.begin(), rank.params.end());
  sum_.tags.insert(rank.tags.begin(), rank.tags.end());
}

/// Processor time is of all ranks; what held one of them up is told of the one that it held up longest.
void RankSum::add_process(const ProcessTimes& process) {
  ProcessTimes& sum = sum_.process;
  const bool known = process.cpu_ns != ProcessTimes::kUnknown && (merged_ == 1 || sum.cpu_ns != ProcessTimes::kUnknown);
  sum.cpu_ns = !known ? ProcessTimes::kUnknown : (merged_ == 1 ? 0 : sum.cpu_ns) + process.cpu_ns;
  sum.stopped_ns = std::max(sum.stopped_ns, process.stopped_ns);
  sum.suspended_ns = std::max(sum.suspended_ns, process.suspended_ns);
  sum.before_ns = std::max(sum.before_ns, process.before_ns);
  sum.earlier_sessions = std::max(sum.earlier_sessions, process.earlier_sessions);
  sum.waited_ns = std::max(sum.waited_ns, process.waited_ns);
  sum.processors = std::max(sum.processors, process.processors);
  sum.blocked_ns += process.blocked_ns;
}

std::uint32_t RankSum::add_path(const PathStats& path, const std::vector<std::uint32_t>& paths) {
  const bool at_top = path.parent == PathStats::kNoParent;
  const std::uint32_t parent = at_top ? PathStats::kNoParent : paths[path.parent];
  const auto [place, is_new] = places_.emplace(std::make_tuple(parent, path.name, path.kind), sum_.paths.size());
  if (is_new) {
    sum_.paths.push_back(path);
    sum_.paths.back().parent = parent;
    return place->second;
  }
  PathStats& here = sum_.paths[place->second];
  here.host.merge(path.host);
  here.device.merge(path.device);
  here.self_ns = detail::bounded_sum(here.self_ns, path.self_ns);
  here.items = detail::bounded_sum(here.items, path.items);
  here.bytes = detail::bounded_sum(here.bytes, path.bytes);
  here.skipped += path.skipped;
  here.device_pending += path.device_pending;
  here.device_lost += path.device_lost;
  return place->second;
}

}  // namespace cli
TAKT_END_NAMESPACE
