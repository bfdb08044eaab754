// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_series.hpp"

#include <takt/detail/counter.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::size_t rounded_up(std::size_t whole, std::size_t parts) noexcept { return (whole + parts - 1) / parts; }

/// The nearest of ordered samples.
std::uint64_t sample_at(const std::vector<std::uint64_t>& samples, double share) {
  return samples[static_cast<std::size_t>(std::lround(share * static_cast<double>(samples.size() - 1)))];
}

StepBand band_of(std::vector<std::uint64_t> samples) {
  std::sort(samples.begin(), samples.end());
  return {sample_at(samples, 0.1), sample_at(samples, 0.5), sample_at(samples, 0.9)};
}

bool takes_more(const StepPhase& a, const StepPhase& b) noexcept { return a.total_ns > b.total_ns; }

/// The largest ones; what the others took together behind them, where that adds up to something.
std::vector<StepPhase> largest(std::vector<StepPhase> phases, bool add_up) {
  std::stable_sort(phases.begin(), phases.end(), takes_more);
  if (phases.size() <= PageSeries::kMostPhases) { return phases; }
  StepPhase rest;
  rest.path = StepPhase::kRest;
  rest.ns.resize(phases.front().ns.size());
  for (std::size_t at = PageSeries::kMostPhases - 1; at < phases.size(); ++at) {
    rest.total_ns = bounded_sum(rest.total_ns, phases[at].total_ns);
    for (std::size_t group = 0; group < rest.ns.size(); ++group) {
      rest.ns[group] = bounded_sum(rest.ns[group], phases[at].ns[group]);
    }
  }
  phases.resize(PageSeries::kMostPhases - 1);
  if (add_up) { phases.push_back(std::move(rest)); }
  return phases;
}

}  // namespace

PageSeries::PageSeries(const SeriesHistory& history, std::size_t most_blocks)
    : steps(history.steps()),
      warmup(history.warmup()),
      worst(history.worst()),
      breaks(history.breaks()),
      all_breaks(history.all_breaks()) {
  SeriesHistory joined = history;
  while (joined.blocks().size() > most_blocks) { joined.halve(); }
  blocks = joined.blocks();
  stride = joined.stride();
  add_bands();
  add_phases(joined.columns());
}

void PageSeries::add_bands() {
  std::size_t samples = 0;
  for (const StepBlock& each : blocks) { samples += each.samples.size(); }
  if (samples < kFewestSamples) { return; }
  blocks_a_band = std::max(rounded_up(blocks.size(), kMostBands), rounded_up(kFewestSamples * blocks.size(), samples));
  std::vector<std::uint64_t> waiting;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    waiting.insert(waiting.end(), blocks[at].samples.begin(), blocks[at].samples.end());
    const bool is_last = (at + 1) % blocks_a_band == 0 || at + 1 == blocks.size();
    if (is_last && !waiting.empty()) { bands.push_back(band_of(std::exchange(waiting, {}))); }
  }
}

void PageSeries::add_phases(const std::vector<HistoryColumn>& columns) {
  blocks_a_group = std::max<std::size_t>(rounded_up(blocks.size(), kMostGroups), 1);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    StepPhase phase;
    phase.path = columns[column].path;
    phase.ns.resize(rounded_up(blocks.size(), blocks_a_group));
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      const std::uint64_t ns = column < blocks[at].columns.size() ? blocks[at].columns[column] : 0;
      phase.total_ns = bounded_sum(phase.total_ns, ns);
      phase.ns[at / blocks_a_group] = bounded_sum(phase.ns[at / blocks_a_group], ns);
    }
    if (phase.total_ns != 0) { (columns[column].on_stream ? streams : phases).push_back(std::move(phase)); }
  }
  phases = largest(std::move(phases), true);
  streams = largest(std::move(streams), false);
}

std::uint64_t PageSeries::least_ns() const noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (const StepBlock& each : blocks) { least = std::min(least, each.least_ns); }
  return least;
}

std::uint64_t PageSeries::most_ns() const noexcept {
  std::uint64_t most = 0;
  for (const StepBlock& each : blocks) { most = std::max(most, each.most_ns); }
  return most;
}

double PageSeries::mean_ns() const noexcept {
  std::uint64_t sum = 0;
  for (const StepBlock& each : blocks) { sum = bounded_sum(sum, each.sum_ns); }
  return steps == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(steps);
}

std::int64_t last_step_of(const StepBlock& block) noexcept {
  const std::uint64_t further = block.steps == 0 ? 0 : block.steps - 1;
  const std::uint64_t room = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) -
                             static_cast<std::uint64_t>(block.first_step);  // modulo 2^64: also of negative numbers
  return further > room ? std::numeric_limits<std::int64_t>::max()
                        : static_cast<std::int64_t>(static_cast<std::uint64_t>(block.first_step) + further);
}

}  // namespace detail
TAKT_END_NAMESPACE
