// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/sampled_state.hpp"

#include "journal/journal_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// More than a process can have. A file that tells of more is not worth the memory.
constexpr std::size_t kMostMeters = 1024;
constexpr std::size_t kMostQuantities = 64;
constexpr std::size_t kMostEnergies = std::size_t{1} << 16U;

void take_figures(const Meter& from, Meter& to) {
  to.samples = from.samples;
  to.first_ns = from.first_ns;
  to.last_ns = from.last_ns;
  to.figures = from.figures;
  to.energy = from.energy;
  to.slowed = from.slowed;
  to.slowed_ns = from.slowed_ns;
}

}  // namespace

bool SampledState::use(MetersRecord& record) {
  const bool sound = record.meters.size() <= kMostMeters && record.unsampled.size() <= kMostMeters &&
                     std::all_of(record.meters.begin(), record.meters.end(),
                                 [](const Meter& each) { return each.quantities.size() <= kMostQuantities; });
  if (!sound) { return false; }
  for (std::size_t at = 0; at < std::min(record.meters.size(), meters_.size()); ++at) {
    Meter& now = record.meters[at];
    if (now.quantities == meters_[at].quantities) { take_figures(meters_[at], now); }
  }
  meters_ = std::move(record.meters);
  unsampled_ = std::move(record.unsampled);
  // Energies of meters that are no more, in a file that says so.
  const auto is_gone = [this](const auto& energy) { return energy.meter >= meters_.size(); };
  steps_.erase(std::remove_if(steps_.begin(), steps_.end(), is_gone), steps_.end());
  regions_.erase(std::remove_if(regions_.begin(), regions_.end(), is_gone), regions_.end());
  return true;
}

bool SampledState::is_sound(const SampledRecord& record) const {
  const std::size_t count = record.meters.size();
  const auto is_meter = [count](const auto& energy) { return energy.meter < count; };
  if (count > meters_.size() || record.steps.size() > kMostEnergies || record.regions.size() > kMostEnergies) {
    return false;
  }
  for (std::size_t at = 0; at < count; ++at) {
    const Meter& each = record.meters[at];
    const bool fits = each.figures.empty() || each.figures.size() == meters_[at].quantities.size();
    if (!fits || each.slowed.size() > kMostQuantities) { return false; }
  }
  return std::all_of(record.steps.begin(), record.steps.end(), is_meter) &&
         std::all_of(record.regions.begin(), record.regions.end(), is_meter);
}

bool SampledState::use(SampledRecord& record) {
  if (!is_sound(record)) { return false; }
  for (std::size_t at = 0; at < record.meters.size(); ++at) { take_figures(record.meters[at], meters_[at]); }
  steps_ = std::move(record.steps);
  regions_ = std::move(record.regions);
  return true;
}

bool SampledState::use_samples(const Frame& frame) {
  std::vector<Sample> samples;
  bool sound = read_samples(frame.payload, samples);
  for (Sample& sample : samples) {
    // Of a meter that no frame has told of nobody knows what the values are.
    const bool known = sample.meter < meters_.size() && sample.values.size() == meters_[sample.meter].quantities.size();
    sound = sound && known;
    if (known && sequences_.insert(sample.sequence).second) { samples_.push_back(std::move(sample)); }
  }
  return sound;
}

void SampledState::move_into(Snapshot& snapshot) {
  snapshot.meters = meters_;
  snapshot.unsampled = unsampled_;
  snapshot.step_energies = steps_;
  snapshot.region_energies = regions_;
  snapshot.samples.insert(snapshot.samples.end(), std::make_move_iterator(samples_.begin()),
                          std::make_move_iterator(samples_.end()));
  samples_.clear();
}

}  // namespace detail
TAKT_END_NAMESPACE
