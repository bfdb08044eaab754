// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "history/step_block.hpp"

#include <takt/detail/counter.hpp>

#include <algorithm>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Every second one of the ordered samples: the shape of their distribution stays.
void thin_samples(std::vector<std::uint64_t>& samples, bool odd) {
  std::size_t kept = 0;
  for (std::size_t at = odd ? 1 : 0; at < samples.size(); at += 2) { samples[kept++] = samples[at]; }
  samples.resize(kept);
}

}  // namespace

void add_sample(StepBlock& block, std::uint64_t ns) {
  std::vector<std::uint64_t>& samples = block.samples;
  samples.reserve(StepBlock::kMostSamples);
  if (samples.size() == StepBlock::kMostSamples) { thin_samples(samples, false); }
  samples.insert(std::upper_bound(samples.begin(), samples.end(), ns), ns);
}

void add_columns(StepBlock& block, const std::vector<std::uint64_t>& columns) {
  if (block.columns.size() < columns.size()) { block.columns.resize(columns.size()); }
  for (std::size_t at = 0; at < columns.size(); ++at) {
    block.columns[at] = bounded_sum(block.columns[at], columns[at]);
  }
}

void join(StepBlock& block, const StepBlock& behind, bool odd) {
  block.steps += behind.steps;
  block.warmup += behind.warmup;
  block.end_ns = behind.end_ns;
  block.sum_ns = bounded_sum(block.sum_ns, behind.sum_ns);
  block.least_ns = std::min(block.least_ns, behind.least_ns);
  block.most_ns = std::max(block.most_ns, behind.most_ns);
  block.usual_steps += behind.usual_steps;
  block.usual_ns = bounded_sum(block.usual_ns, behind.usual_ns);
  std::vector<std::uint64_t> samples;
  samples.reserve(block.samples.size() + behind.samples.size());
  std::merge(block.samples.begin(), block.samples.end(), behind.samples.begin(), behind.samples.end(),
             std::back_inserter(samples));
  if (samples.size() > StepBlock::kMostSamples) { thin_samples(samples, odd); }
  block.samples = std::move(samples);
  add_columns(block, behind.columns);
}

}  // namespace detail
TAKT_END_NAMESPACE
