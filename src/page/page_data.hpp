// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/json_text.hpp"
#include "findings/step_history.hpp"

#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
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
  static constexpr std::size_t kMaxBands = 512;
  static constexpr std::size_t kMaxGroups = 384;  ///< of blocks, by which phases are told
  static constexpr std::size_t kMaxPhases = 10;
  static constexpr std::size_t kMinSamples = 32;  ///< that a band rests on

  /// \param history finished, with steps.
  PageSeries(const SeriesHistory& history, std::size_t max_blocks);

  std::vector<StepBlock> blocks;
  std::uint64_t stride = 1;  ///< most steps that a block has
  std::uint64_t steps = 0;
  std::uint64_t warmup = 0;
  std::size_t blocks_a_band = 1;
  std::vector<StepBand> bands;  ///< none where there are fewer than kMinSamples steps
  std::size_t blocks_a_group = 1;
  std::vector<StepPhase> phases;   ///< of the host, those that add up to the period of the steps; the largest first
  std::vector<StepPhase> streams;  ///< stream spans of paths; the largest first
  std::vector<WorstStep> worst;    ///< the longest first
  std::vector<std::uint64_t> breaks;
  std::uint64_t all_breaks = 0;

  std::uint64_t min_ns() const noexcept;
  std::uint64_t max_ns() const noexcept;
  double mean_ns() const noexcept;  ///< of all steps, warm-up included

 private:
  void add_bands();
  void add_phases(const std::vector<HistoryColumn>& columns);
};

/// The number of the block's last step, if they count on from the first.
std::int64_t last_step_of(const StepBlock& block) noexcept;

/// The places of the call tree that a page shows: of too many those that took most, with all that they lie in. A page
/// has numbers of its own for them, in the order of its table. A value; one thread at a time.
class PagePaths {
 public:
  static constexpr std::size_t kMax = 200;
  static constexpr std::size_t kMaxHistograms = 48;
  static constexpr std::size_t kLongestName = 80;  ///< in columns; a longer one is cut in the middle
  static constexpr int kNone = -1;

  /// \param snapshot has to outlive this.
  explicit PagePaths(const Snapshot& snapshot);

  /// Indices into Snapshot::paths, each behind its parent and in front of the parent's next child.
  const std::vector<std::uint32_t>& shown() const noexcept { return shown_; }
  std::size_t left_out() const noexcept { return snapshot_.paths.size() - shown_.size(); }
  /// Paths that are shown, and whose histogram is not.
  std::size_t without_histogram() const noexcept;
  /// The page's number of a path of the snapshot; kNone: it is not shown, or is none.
  int number(std::uint32_t path) const noexcept { return path < numbers_.size() ? numbers_[path] : kNone; }
  /// The page's numbers of the paths of another snapshot, such as that of one rank of the job, by name and kind.
  std::vector<int> numbers_in(const Snapshot& other) const;

  /// A member for each path, and its histogram in eight classes an octave.
  JsonText json() const;

 private:
  void choose();
  void choose_histograms();

  const Snapshot& snapshot_;
  std::vector<std::uint32_t> shown_;
  std::vector<int> numbers_;
  std::vector<bool> has_histogram_;  // by path
};

// What a page's script draws, as JSON. docs/page.md has the fields. Times of steps have four significant digits. Any
// thread.

/// Times in ns as an array.
template <class Values>
JsonText times_json(const Values& values) {
  constexpr int kDigits = 4;
  JsonText out = JsonText::array();
  for (const auto& each : values) { out.push_back(JsonText::rounded(static_cast<double>(each), kDigits)); }
  return out;
}

/// The least, the most and the mean of each block; where blocks are of one step, its time alone.
void add_blocks(JsonText& json, const std::vector<StepBlock>& blocks);

/// \param paths the page's numbers of the paths that the series speaks of.
JsonText series_json(const PageSeries& series, const std::vector<int>& paths);

JsonText metric_json(const std::string& name, const MetricHistory& history);

}  // namespace detail
TAKT_END_NAMESPACE
