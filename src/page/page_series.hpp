// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "history/series_history.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What most steps of some neighbouring blocks took, in ns: 10, 50 and 90 % of them took no more.
struct StepBand {
  std::uint64_t low_ns = 0;
  std::uint64_t median_ns = 0;
  std::uint64_t high_ns = 0;
};

/// What one part of the steps took, in all of them and in each of the page's groups of blocks.
struct StepPhase {
  /// In place of a path: the phases that are too small for a place of their own.
  static constexpr std::uint32_t kRest = 0xFFFFFFFD;

  std::uint32_t path = 0;  ///< as HistoryColumn::path, or kRest
  std::uint64_t total_ns = 0;
  std::vector<std::uint64_t> ns;
};

/// A series as a page draws it: its history joined to as many blocks, bands and phases as there is room for.
struct PageSeries {
  static constexpr std::size_t kMostBands = 512;
  static constexpr std::size_t kMostGroups = 384;  ///< of blocks, by which phases are told
  static constexpr std::size_t kMostPhases = 10;
  static constexpr std::size_t kFewestSamples = 32;  ///< that a band rests on

  /// \param history finished, with steps.
  PageSeries(const SeriesHistory& history, std::size_t most_blocks);

  std::vector<StepBlock> blocks;
  std::uint64_t stride = 1;  ///< most steps that a block has
  std::uint64_t steps = 0;
  std::uint64_t warmup = 0;
  std::size_t blocks_a_band = 1;
  std::vector<StepBand> bands;  ///< none where there are fewer than kFewestSamples steps
  std::size_t blocks_a_group = 1;
  std::vector<StepPhase> phases;   ///< of the host, those that add up to the period of the steps; the largest first
  std::vector<StepPhase> streams;  ///< stream spans of paths; the largest first
  std::vector<WorstStep> worst;    ///< the longest first
  std::vector<std::uint64_t> breaks;
  std::uint64_t all_breaks = 0;

  std::uint64_t least_ns() const noexcept;
  std::uint64_t most_ns() const noexcept;
  double mean_ns() const noexcept;  ///< of all steps, warm-up included

 private:
  void add_bands();
  void add_phases(const std::vector<HistoryColumn>& columns);
};

/// The number of the block's last step, if they count on from the first.
std::int64_t last_step_of(const StepBlock& block) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
