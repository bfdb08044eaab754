// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merged_meters.hpp"

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

std::int64_t sampled_ns(const Meter& meter) {
  // Differences wrap: a journal may say anything.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(meter.last_ns) -
                                   static_cast<std::uint64_t>(meter.first_ns));
}

}  // namespace

std::uint32_t MergedMeters::add_meter(const Meter& meter, const Snapshot& rank, const std::string& label) {
  Owned owned{meter, ranks_};
  const bool of_rank = meter.kind == Meter::Kind::device || meter.kind == Meter::Kind::process;
  owned.meter.name = (of_rank ? label : rank.run.host) + ", " + meter.name;
  const auto number = static_cast<std::uint32_t>(meters_.size());
  // Of what has no id, each is another one.
  const std::string id = meter.id.empty() ? std::to_string(number) : rank.run.host + " " + meter.id;
  const auto [place, is_new] = places_.emplace(std::make_pair(meter.kind, id), number);
  if (is_new) {
    meters_.push_back(std::move(owned));
  } else if (Owned& there = meters_[place->second]; sampled_ns(meter) > sampled_ns(there.meter)) {
    there = std::move(owned);
  }
  return place->second;
}

void MergedMeters::add(const Snapshot& rank, const std::string& label, std::uint32_t first_series) {
  std::vector<std::uint32_t> places;
  for (const Meter& each : rank.meters) { places.push_back(add_meter(each, rank, label)); }
  for (StepEnergy each : rank.step_energies) {
    if (each.meter >= places.size()) { continue; }
    each.meter = places[each.meter];
    each.series += first_series;
    steps_.emplace_back(ranks_, each);
  }
  for (RegionEnergy each : rank.region_energies) {
    if (each.meter >= places.size()) { continue; }
    each.meter = places[each.meter];
    regions_.emplace_back(ranks_, std::move(each));
  }
  for (const Unsampled& each : rank.unsampled) { unsampled_.emplace(each.what, each.why); }
  ++ranks_;
}

void MergedMeters::move_into(Snapshot& sum) {
  for (const auto& [rank, each] : steps_) {
    if (meters_[each.meter].rank == rank) { sum.step_energies.push_back(each); }
  }
  for (auto& [rank, each] : regions_) {
    if (meters_[each.meter].rank == rank) { sum.region_energies.push_back(std::move(each)); }
  }
  for (Owned& each : meters_) { sum.meters.push_back(std::move(each.meter)); }
  for (const auto& [what, why] : unsampled_) { sum.unsampled.push_back({what, why}); }
}

}  // namespace cli
TAKT_END_NAMESPACE
