// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_format.hpp"
#include "journal/sample_records.hpp"

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the frames of a journal say of samples. Each use() returns whether that can be. One thread at a time.
class SampledState {
 public:
  bool use(MetersRecord& record);
  bool use(SampledRecord& record);
  bool use_samples(const Frame& frame);
  /// From here on a number that comes again is another sample.
  void end_export() noexcept { sequences_.clear(); }

  /// Meters and energies become the newest ones; new samples are added.
  void move_into(Snapshot& snapshot);
  /// The new samples, which are here no more.
  std::vector<Sample> take() noexcept { return std::exchange(samples_, {}); }
  void put(std::vector<Sample> samples) noexcept { samples_ = std::move(samples); }

 private:
  bool is_sound(const SampledRecord& record) const;

  std::vector<Meter> meters_;
  std::vector<Unsampled> unsampled_;
  std::vector<StepEnergy> steps_;
  std::vector<RegionEnergy> regions_;
  std::vector<Sample> samples_;  // new ones
  std::unordered_set<std::uint64_t> sequences_;
};

}  // namespace detail
TAKT_END_NAMESPACE
