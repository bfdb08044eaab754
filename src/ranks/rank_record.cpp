// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_record.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

void add_path(RankRecord& record, std::uint32_t rank, const RankPathName& name, Kind kind, const Summary& host,
              const Summary& device, std::uint64_t open_ns) {
  RankPath& path = record.paths.try_emplace(name).first->second;
  path.kind = std::min(path.kind, kind);
  path.host.merge(host);
  add_rank(path.host_totals, rank, bounded_sum(host.total_ns(), open_ns));
  if (device.n() == 0) { return; }
  path.device.merge(device);
  add_rank(path.device_totals, rank, device.total_ns());
}

RankRecord record_of(const Snapshot& snapshot) {
  struct Place {
    Kind kind = Kind::other;
    Summary host;
    Summary device;
    std::uint64_t open_ns = 0;
  };
  std::map<RankPathName, Place> places;
  std::vector<RankPathName> names;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& each = snapshot.paths[path];
    RankPathName name = each.parent == kNoIndex ? RankPathName() : names[each.parent];
    name.push_back(each.name);
    Place& place = places[name];
    place.kind = std::min(place.kind, each.kind);
    place.host.merge(each.host);
    place.device.merge(each.device);
    place.open_ns = bounded_sum(place.open_ns, snapshot.time_so_far_ns(path) - each.host.total_ns());
    names.push_back(std::move(name));
  }
  RankRecord record;
  const auto rank = static_cast<std::uint32_t>(std::max(snapshot.run.rank, 0));
  add_rank(record.wall, rank, static_cast<std::uint64_t>(std::max<std::int64_t>(snapshot.wall_ns, 0)));
  for (const auto& [name, place] : places) {
    add_path(record, rank, name, place.kind, place.host, place.device, place.open_ns);
  }
  return record;
}

void merge_into(RankRecord& record, const RankRecord& from) {
  merge_into(record.wall, from.wall);
  for (const auto& [name, path] : from.paths) {
    RankPath& here = record.paths.try_emplace(name).first->second;
    here.kind = std::min(here.kind, path.kind);
    here.host.merge(path.host);
    here.device.merge(path.device);
    merge_into(here.host_totals, path.host_totals);
    merge_into(here.device_totals, path.device_totals);
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
