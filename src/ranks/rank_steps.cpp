// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_steps.hpp"

#include "base/statistics.hpp"
#include "findings/step_history.hpp"

#include <takt/detail/memory.hpp>
#include <takt/snapshot.hpp>

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<double> window_medians(const std::vector<double>& by_step) {
  std::vector<double> medians;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, by_step.size());
    const auto begin = by_step.begin() + static_cast<std::ptrdiff_t>(steps.first);
    medians.push_back(median({begin, begin + static_cast<std::ptrdiff_t>(steps.steps())}));
  }
  return medians;
}

std::vector<double> window_distances(const std::vector<double>& by_step) {
  const std::vector<double> medians = window_medians(by_step);
  std::vector<double> distances;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, by_step.size());
    const auto n = static_cast<double>(steps.steps());
    const double wider = std::sqrt(n / (n - 1));
    for (std::size_t step = steps.first; step < steps.last; ++step) {
      distances.push_back(wider * std::fabs(by_step[step] - medians[window]));
    }
  }
  return distances;
}

namespace {

constexpr const char* kFurtherPaths = "(further paths)";

std::uint64_t positive_ns(std::int64_t ns) { return ns < 0 ? 0 : static_cast<std::uint64_t>(ns); }

/// Returns the path below the Batch: "Forward/Attention".
std::string name_below(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch) {
  std::string name;
  for (std::uint32_t at = path; at != batch && at < snapshot.paths.size(); at = snapshot.paths[at].parent) {
    name = snapshot.paths[at].name + (name.empty() ? "" : "/") + name;
  }
  return name;
}

/// Excludes waits for data, which are the rank's own.
std::int64_t exposed_ns(const Snapshot& snapshot, const Row& row) {
  const bool on_streams =
      std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& each) { return each.device_ns >= 0; });
  if (!on_streams && row.complete) { return 0; }
  const Exposed exposed = Exposed::of(snapshot, row);
  const bool known = exposed.comm_ns || exposed.other_ns;
  if (!known || !row.complete) { return RankSteps::Step::kUnknown; }
  return static_cast<std::int64_t>(
      bounded_sum(positive_ns(exposed.comm_ns.value_or(0)), positive_ns(exposed.other_ns.value_or(0))));
}

}  // namespace

std::size_t values_of_a_rank(std::size_t ranks) noexcept {
  constexpr std::size_t kOfAll = std::size_t{1} << 23U;
  const std::size_t count = std::max<std::size_t>(ranks, 1);
  return std::min(std::clamp<std::size_t>(kOfAll / count, 1U << 10U, 1U << 16U), kMaxComparedValues / count);
}

/// Mixes the number first (the finalizer of MurmurHash3), because all numbers may be odd or end in 1.
bool is_kept_step(std::int64_t number, std::uint64_t stride) noexcept {
  auto mixed = static_cast<std::uint64_t>(number);
  mixed = (mixed ^ (mixed >> 33U)) * 0xFF51AFD7ED558CCDU;
  mixed = (mixed ^ (mixed >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return ((mixed ^ (mixed >> 33U)) & (stride - 1)) == 0;
}

std::uint32_t RankSteps::region_of(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch, bool on_stream) {
  const bool known = path < snapshot.paths.size();
  const JobRegion region{known ? name_below(snapshot, path, batch) : kFurtherPaths,
                         known ? snapshot.paths[path].kind : Kind::other, on_stream};
  const auto [place, is_new] = places_.emplace(region, static_cast<std::uint32_t>(regions_.size()));
  if (is_new) { regions_.push_back(region); }
  return place->second;
}

RankSteps::Step RankSteps::step_of(const Snapshot& snapshot, const Row& row, std::uint32_t batch, Named& named) {
  Step step;
  step.ns = positive_ns(row.host_ns);
  const auto add = [&](const std::vector<OwnTime>& times, bool on_stream) {
    step.regions.reserve(step.regions.size() + times.size());
    for (const OwnTime& each : times) {
      const auto [place, is_new] = named.emplace(std::make_tuple(each.path, batch, on_stream), 0);
      if (is_new) { place->second = region_of(snapshot, each.path, batch, on_stream); }
      step.regions.emplace_back(place->second, each.ns);
    }
  };
  add(own_times(snapshot, row), false);
  add(own_stream_times(snapshot, row), true);
  step.exposed_ns = exposed_ns(snapshot, row);
  return step;
}

void RankSteps::thin() {
  const bool none = stride_ >= kMaxStride;
  if (!none) { stride_ *= 2; }
  for (Batches& each : series_) {
    for (auto at = each.steps.begin(); at != each.steps.end();) {
      if (!none && is_kept_step(at->first, stride_)) {
        ++at;
        continue;
      }
      values_ -= at->second.values();
      at = each.steps.erase(at);
    }
  }
}

void RankSteps::add(const Snapshot& snapshot, const std::vector<Row>& rows) {
  Named named;  // valid for this snapshot only; the next may be of another rank
  for (const Row& row : rows) {
    if (row.series >= snapshot.series.size() || row.warmup) { continue; }
    if (row.series >= series_.size()) { series_.resize(row.series + std::size_t{1}); }
    const std::uint32_t batch = snapshot.series[row.series].path;
    Batches& batches = series_[row.series];
    if (batches.rows++ == 0) { batches.path = snapshot.path_name(batch); }
    if (!is_kept_step(row.step, stride_)) { continue; }
    const auto [step, is_new] = batches.steps.try_emplace(row.step);
    if (!is_new) { continue; }
    step->second = step_of(snapshot, row, batch, named);
    values_ += step->second.values();
    while (values_ > max_values_) { thin(); }
  }
}

const RankSteps::Batches* RankSteps::main_batches() const noexcept {
  const auto max = std::max_element(series_.begin(), series_.end(),
                                    [](const Batches& a, const Batches& b) { return a.rows < b.rows; });
  return max == series_.end() || max->rows == 0 ? nullptr : &*max;
}

const RankSteps::Batches* RankSteps::batches_at(const std::string& path) const noexcept {
  const Batches* max = nullptr;
  for (const Batches& each : series_) {
    if (each.rows != 0 && each.path == path && (max == nullptr || max->rows < each.rows)) { max = &each; }
  }
  return max;
}

}  // namespace detail
TAKT_END_NAMESPACE
