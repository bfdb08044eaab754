// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_steps.hpp"

#include <algorithm>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kFurtherPaths = "(further paths)";

std::uint64_t not_negative(std::int64_t ns) { return ns < 0 ? 0 : static_cast<std::uint64_t>(ns); }

/// "Forward/Attention": below the Batch.
std::string name_below(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch) {
  std::string name;
  for (std::uint32_t at = path; at != batch && at < snapshot.paths.size(); at = snapshot.paths[at].parent) {
    name = snapshot.paths[at].name + (name.empty() ? "" : "/") + name;
  }
  return name;
}

/// Numbers may all be odd, or all end in 1: so they are mixed first (the finalizer of MurmurHash3).
bool is_kept(std::int64_t number, std::uint64_t stride) {
  auto mixed = static_cast<std::uint64_t>(number);
  mixed = (mixed ^ (mixed >> 33U)) * 0xFF51AFD7ED558CCDU;
  mixed = (mixed ^ (mixed >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return ((mixed ^ (mixed >> 33U)) & (stride - 1)) == 0;
}

/// Each region's place in `times`, by name; those of other ranks are added.
std::vector<std::size_t> match_regions(const std::vector<JobRegion>& of_rank, std::vector<JobRegion>& all) {
  std::vector<std::size_t> places;
  for (const JobRegion& each : of_rank) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const JobRegion& other) { return other.name == each.name; });
    places.push_back(static_cast<std::size_t>(found - all.begin()));
    if (found == all.end()) { all.push_back(each); }
  }
  return places;
}

/// The numbers of the steps that all have.
std::vector<std::int64_t> common_steps(const std::vector<const RankSteps::Batches*>& all) {
  std::vector<std::int64_t> common;
  if (all.empty()) { return common; }
  for (const auto& [number, step] : all.front()->steps) {
    const bool everywhere =
        std::all_of(all.begin(), all.end(), [n = number](const auto* each) { return each->steps.count(n) != 0; });
    if (everywhere) { common.push_back(number); }
  }
  return common;
}

}  // namespace

std::uint32_t RankSteps::region_of(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch) {
  const bool known = path < snapshot.paths.size();
  const auto [place, is_new] = places_.emplace(known ? name_below(snapshot, path, batch) : kFurtherPaths,
                                               static_cast<std::uint32_t>(regions_.size()));
  if (is_new) { regions_.push_back({place->first, known ? snapshot.paths[path].kind : Kind::other}); }
  return place->second;
}

RankSteps::Regions RankSteps::own_times(const Snapshot& snapshot, const Row& row, std::uint32_t batch) {
  std::map<std::uint32_t, std::int64_t> own;  // by path
  for (const Cell& each : row.cells) { own[each.path] += each.host_ns; }
  for (const Cell& each : row.cells) {
    const bool below = each.path < snapshot.paths.size() && snapshot.paths[each.path].parent != PathStats::kNoParent;
    const auto parent = below ? own.find(snapshot.paths[each.path].parent) : own.end();
    if (parent != own.end()) { parent->second -= each.host_ns; }
  }
  Regions regions;
  for (const auto& [path, ns] : own) {
    if (path != batch) { regions.emplace_back(region_of(snapshot, path, batch), not_negative(ns)); }
  }
  return regions;
}

void RankSteps::keep(Batches& batches, std::int64_t number, Step step) const {
  if (!is_kept(number, batches.stride)) { return; }
  batches.steps.emplace(number, std::move(step));
  while (batches.steps.size() > most_) {
    batches.stride *= 2;
    for (auto at = batches.steps.begin(); at != batches.steps.end();) {
      at = is_kept(at->first, batches.stride) ? std::next(at) : batches.steps.erase(at);
    }
  }
}

void RankSteps::add(const Snapshot& snapshot) {
  for (const Row& row : snapshot.rows) {
    if (row.series >= snapshot.series.size() || row.warmup) { continue; }
    if (row.series >= series_.size()) { series_.resize(row.series + std::size_t{1}); }
    const std::uint32_t batch = snapshot.series[row.series].path;
    Batches& batches = series_[row.series];
    if (batches.rows++ == 0) { batches.path = snapshot.path_name(batch); }
    if (!is_kept(row.step, batches.stride)) { continue; }
    keep(batches, row.step, {not_negative(row.host_ns), own_times(snapshot, row, batch)});
  }
}

const RankSteps::Batches* RankSteps::main_batches() const noexcept {
  const auto most = std::max_element(series_.begin(), series_.end(),
                                     [](const Batches& a, const Batches& b) { return a.rows < b.rows; });
  return most == series_.end() || most->rows == 0 ? nullptr : &*most;
}

StepTimes step_times_of(const std::vector<RankOfJob>& ranks) {
  std::vector<JobRank> who;
  std::vector<JobRegion> regions;
  std::vector<const RankSteps::Batches*> batches;
  std::vector<std::vector<std::size_t>> places;
  for (const RankOfJob& each : ranks) {
    const RankSteps::Batches* const main = each.steps->main_batches();
    if (main == nullptr || (!batches.empty() && main->path != batches.front()->path)) { continue; }
    who.push_back(each.who);
    batches.push_back(main);
    places.push_back(match_regions(each.steps->regions(), regions));
  }
  const std::vector<std::int64_t> steps = common_steps(batches);
  StepTimes times(std::move(who), std::move(regions), steps.size());
  for (std::size_t rank = 0; rank < batches.size(); ++rank) {
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const RankSteps::Step& step = batches[rank]->steps.at(steps[at]);
      times.step_ns(rank, at) = step.ns;
      for (const auto& [region, ns] : step.regions) { times.region_ns(places[rank][region], rank, at) += ns; }
    }
  }
  return times;
}

}  // namespace detail
TAKT_END_NAMESPACE
