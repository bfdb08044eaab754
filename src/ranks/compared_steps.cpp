// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_steps.hpp"

#include <takt/detail/counter.hpp>

#include <algorithm>
#include <tuple>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using RegionPlaces = std::map<JobRegion, std::size_t>;

/// The place at which most ranks have most of their steps; of equally many the one with more steps, then the first by
/// name, so that the order of ranks does not matter.
std::string main_place(const std::vector<RankOfJob>& ranks) {
  struct Votes {
    std::size_t ranks = 0;
    std::uint64_t rows = 0;
  };
  std::map<std::string, Votes> votes;
  for (const RankOfJob& each : ranks) {
    const RankSteps::Batches* const main = each.steps->main_batches();
    if (main == nullptr) { continue; }
    Votes& here = votes[main->path];
    ++here.ranks;
    here.rows = bounded_sum(here.rows, main->rows);
  }
  const auto most = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.ranks, a.second.rows) < std::tie(b.second.ranks, b.second.rows);
  });
  return most == votes.end() ? "" : most->first;
}

/// Each region's place among those of all ranks, to which new ones are added.
std::vector<std::size_t> match_regions(const std::vector<JobRegion>& of_rank, RegionPlaces& places,
                                       std::vector<JobRegion>& all) {
  std::vector<std::size_t> matched;
  for (const JobRegion& each : of_rank) {
    const auto [place, is_new] = places.emplace(each, all.size());
    if (is_new) { all.push_back(each); }
    matched.push_back(place->second);
  }
  return matched;
}

/// The numbers of the steps that all have.
std::vector<std::int64_t> common_steps(const std::vector<const RankSteps::Batches*>& all) {
  std::vector<std::int64_t> common;
  if (all.empty()) { return common; }
  const auto fewest = std::min_element(all.begin(), all.end(),
                                       [](const auto* a, const auto* b) { return a->steps.size() < b->steps.size(); });
  for (const auto& [number, step] : (*fewest)->steps) {
    const bool everywhere =
        std::all_of(all.begin(), all.end(), [n = number](const auto* each) { return each->steps.count(n) != 0; });
    if (everywhere) { common.push_back(number); }
  }
  return common;
}

/// Leaves out every second of `steps` until they are at most so many. Returns the stride that it has come to.
std::uint64_t thin_steps(std::vector<std::int64_t>& steps, std::size_t most, std::uint64_t stride) {
  while (steps.size() > most && stride < RankSteps::kMostStride) {
    stride *= 2;
    const auto is_left_out = [&](std::int64_t number) { return !is_kept_step(number, stride); };
    steps.erase(std::remove_if(steps.begin(), steps.end(), is_left_out), steps.end());
  }
  steps.resize(std::min(steps.size(), most));
  return stride;
}

/// What one rank says of its streams is worth nothing where another one does not.
bool all_tell_exposed(const std::vector<const RankSteps::Batches*>& batches, std::int64_t number) {
  return std::all_of(batches.begin(), batches.end(), [number](const auto* each) {
    return each->steps.at(number).exposed_ns != RankSteps::Step::kUnknown;
  });
}

}  // namespace

ComparedSteps step_times_of(const std::vector<RankOfJob>& ranks, std::size_t most_values) {
  const std::string path = main_place(ranks);
  std::vector<JobRank> who;
  std::vector<JobRegion> regions;
  RegionPlaces region_places;
  std::vector<const RankSteps::Batches*> batches;
  std::vector<std::vector<std::size_t>> places;
  std::uint64_t every = 1;
  for (const RankOfJob& each : ranks) {
    const RankSteps::Batches* const at_path = each.steps->batches_at(path);
    if (at_path == nullptr) { continue; }
    who.push_back(each.who);
    batches.push_back(at_path);
    places.push_back(match_regions(each.steps->regions(), region_places, regions));
    every = std::max(every, each.steps->stride());
  }
  std::vector<std::int64_t> steps = common_steps(batches);
  every = thin_steps(steps, most_values / (StepTimes::layers(regions.size()) * std::max<std::size_t>(who.size(), 1)),
                     every);
  std::vector<bool> tells;
  tells.reserve(steps.size());
  for (const std::int64_t number : steps) { tells.push_back(all_tell_exposed(batches, number)); }
  const auto unexposed = static_cast<std::size_t>(std::count(tells.begin(), tells.end(), false));
  StepTimes times(std::move(who), std::move(regions), steps.size());
  for (std::size_t rank = 0; rank < batches.size(); ++rank) {
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const RankSteps::Step& step = batches[rank]->steps.at(steps[at]);
      times.step_ns(rank, at) = step.ns;
      if (tells[at]) { times.exposed_ns(rank, at) = static_cast<std::uint64_t>(step.exposed_ns); }
      for (const auto& [region, ns] : step.regions) {
        std::uint64_t& sum = times.region_ns(places[rank][region], rank, at);
        sum = bounded_sum(sum, ns);
      }
    }
  }
  return {std::move(times), every, ranks.size() - batches.size(), unexposed, std::move(steps)};
}

}  // namespace detail
TAKT_END_NAMESPACE
