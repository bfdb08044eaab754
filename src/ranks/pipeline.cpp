// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/pipeline.hpp"

#include "ranks/job_efficiency.hpp"

#include <charconv>
#include <cstdint>
#include <map>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kStage = "stage";
constexpr const char* kMicroBatches = "micro_batches";
constexpr unsigned kMostMicroBatches = 1'000'000;

/// What ranks of one stage spent.
struct StageTime {
  std::size_t ranks = 0;
  double steps_ns = 0;
  double busy_ns = 0;
};

/// By the numbers of ranks.
std::map<std::uint32_t, int> stages_of(const std::vector<const Snapshot*>& ranks) {
  std::map<std::uint32_t, int> stages;
  for (const Snapshot* each : ranks) {
    for (const auto& [name, number] : each->run.groups) {
      if (name == kStage) { stages.emplace(static_cast<std::uint32_t>(each->run.rank), number); }
    }
  }
  return stages;
}

unsigned micro_batches_of(const Snapshot& rank) {
  const auto found = rank.params.find(kMicroBatches);
  if (found == rank.params.end()) { return 0; }
  const std::string& text = found->second;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= kMostMicroBatches ? number : 0;
}

/// Of all ranks that tell them; 0 where they differ.
unsigned micro_batches_of(const std::vector<const Snapshot*>& ranks) {
  unsigned all = 0;
  for (const Snapshot* each : ranks) {
    const unsigned one = micro_batches_of(*each);
    if (one != 0 && all != 0 && one != all) { return 0; }
    if (one != 0) { all = one; }
  }
  return all;
}

}  // namespace

Pipeline pipeline_of(const StepTimes& times, const std::vector<const Snapshot*>& ranks) {
  const std::map<std::uint32_t, int> stages = stages_of(ranks);
  std::map<int, StageTime> spent;
  for (std::size_t rank = 0; rank < times.ranks().size(); ++rank) {
    const auto stage = stages.find(times.ranks()[rank].number);
    if (stage == stages.end()) { continue; }
    StageTime& sum = spent[stage->second];
    ++sum.ranks;
    for (std::size_t step = 0; step < times.steps(); ++step) {
      sum.steps_ns += static_cast<double>(times.step_ns(rank, step));
      sum.busy_ns += static_cast<double>(times.busy_ns(rank, step));
    }
  }
  Pipeline pipeline;
  if (spent.size() < 2 || times.steps() == 0) { return pipeline; }
  for (const auto& [stage, sum] : spent) {
    pipeline.stages.push_back({stage, sum.ranks, sum.steps_ns > 0 ? 1 - sum.busy_ns / sum.steps_ns : 0});
  }
  pipeline.micro_batches = micro_batches_of(ranks);
  if (pipeline.micro_batches != 0) {
    pipeline.ideal = ideal_bubble(static_cast<unsigned>(spent.size()), pipeline.micro_batches);
  }
  return pipeline;
}

}  // namespace detail
TAKT_END_NAMESPACE
