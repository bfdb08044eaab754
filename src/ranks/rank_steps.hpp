// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/step_times.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The steps of one rank, taken from its rows as they come by. Of many steps about every second, fourth, eighth and so
/// on stays, chosen by its number alone, so that all ranks keep the same ones. Warm-up is left out. A value; one thread
/// at a time.
class RankSteps {
 public:
  /// What regions took themselves, in ns, by their place in regions().
  using Regions = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  struct Step {
    std::uint64_t ns = 0;
    Regions regions;
  };
  /// The outermost Batches at one place on one thread.
  struct Batches {
    std::string path;
    std::uint64_t rows = 0;
    std::uint64_t stride = 1;            ///< a power of two: about one of so many is kept
    std::map<std::int64_t, Step> steps;  ///< by number; of equal ones the first
  };

  /// Keeps at most so many steps of each series, one or more.
  explicit RankSteps(std::size_t most = 1) : most_(most) {}

  /// Takes the rows of a snapshot of the rank.
  void add(const Snapshot& snapshot);

  /// The series with most rows; nullptr: there are no rows.
  const Batches* main_batches() const noexcept;
  const std::vector<JobRegion>& regions() const noexcept { return regions_; }

 private:
  std::uint32_t region_of(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch);
  Regions own_times(const Snapshot& snapshot, const Row& row, std::uint32_t batch);
  void keep(Batches& batches, std::int64_t number, Step step) const;

  std::size_t most_;
  std::vector<Batches> series_;
  std::vector<JobRegion> regions_;
  std::map<std::string, std::uint32_t> places_;  // of regions, by name
};

/// Who a rank is among those that are compared, and its steps.
struct RankOfJob {
  JobRank who;
  const RankSteps* steps;
};

/// The steps that all these ranks have at the place of the first one's; ranks without rows there are left out. None in
/// common: 0 steps.
StepTimes step_times_of(const std::vector<RankOfJob>& ranks);

}  // namespace detail
TAKT_END_NAMESPACE
