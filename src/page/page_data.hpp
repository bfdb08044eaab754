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

/// Times of most steps in neighbouring blocks, in ns: the 10th, 50th and 90th percentile.
struct StepBand {
  std::uint64_t low_ns = 0;
  std::uint64_t median_ns = 0;
  std::uint64_t high_ns = 0;
};

/// Time of one phase of the steps, in total and per group of blocks.
struct StepPhase {
  /// Used instead of a path: phases too small to be shown separately.
  static constexpr std::uint32_t kRest = 0xFFFFFFFD;

  std::uint32_t path = 0;  ///< as HistoryColumn::path, or kRest
  std::uint64_t total_ns = 0;
  std::vector<std::uint64_t> ns;
};

/// A series for drawing: its history reduced to the page's maximum of blocks, bands and phases.
struct PageSeries {
  static constexpr std::size_t kMaxBands = 512;
  static constexpr std::size_t kMaxGroups = 384;  ///< of blocks, for phases
  static constexpr std::size_t kMaxPhases = 10;
  static constexpr std::size_t kMinSamples = 32;  ///< minimum per band

  /// \param history finished, with steps.
  PageSeries(const SeriesHistory& history, std::size_t max_blocks);

  std::vector<StepBlock> blocks;
  std::uint64_t stride = 1;  ///< maximum steps per block
  std::uint64_t steps = 0;
  std::uint64_t warmup = 0;
  std::size_t blocks_a_band = 1;
  std::vector<StepBand> bands;  ///< empty if there are fewer than kMinSamples steps
  std::size_t blocks_a_group = 1;
  std::vector<StepPhase> phases;   ///< host phases, which add up to the period of the steps; largest first
  std::vector<StepPhase> streams;  ///< stream spans of paths; largest first
  std::vector<WorstStep> worst;    ///< longest first
  std::vector<std::uint64_t> breaks;
  std::uint64_t all_breaks = 0;

  std::uint64_t min_ns() const noexcept;
  std::uint64_t max_ns() const noexcept;
  double mean_ns() const noexcept;  ///< all steps, including warm-up

 private:
  void add_bands();
  void add_phases(const std::vector<HistoryColumn>& columns);
};

/// Returns the number of the block's last step, assuming consecutive numbers.
std::int64_t last_step_of(const StepBlock& block) noexcept;

/// Paths of the call tree that a page shows: if there are too many, those with the most time, with their ancestors. The
/// page numbers them in the order of its table. Value type; not thread-safe.
class PagePaths {
 public:
  static constexpr std::size_t kMax = 200;
  static constexpr std::size_t kMaxHistograms = 48;
  static constexpr std::size_t kLongestName = 80;  ///< in columns; longer names are cut in the middle
  static constexpr int kNone = -1;

  /// \param snapshot must outlive this object.
  explicit PagePaths(const Snapshot& snapshot);

  /// Indices into Snapshot::paths; each follows its parent and precedes the parent's next child.
  const std::vector<std::uint32_t>& shown() const noexcept { return shown_; }
  std::size_t left_out() const noexcept { return snapshot_.paths.size() - shown_.size(); }
  /// Number of shown paths without a histogram.
  std::size_t without_histogram() const noexcept;
  /// Returns the page's number of a path; kNone if it is not shown or invalid.
  int number(std::uint32_t path) const noexcept { return path < numbers_.size() ? numbers_[path] : kNone; }
  /// Maps paths of another snapshot, such as of one rank of the job, to the page's numbers, by name and kind.
  std::vector<int> numbers_in(const Snapshot& other) const;
  /// Returns the figures of a rank of the job, by the page's numbers.
  JsonText figures_in(const Snapshot& rank) const;

  /// Returns a member for each path, with its histogram in eight classes per octave.
  JsonText json() const;

 private:
  void choose();
  void choose_histograms();

  const Snapshot& snapshot_;
  std::vector<std::uint32_t> shown_;
  std::vector<int> numbers_;
  std::vector<bool> has_histogram_;  // by path
};

// Data of a page's script, as JSON. Times are in ns; step times have four significant digits. Any thread.
//
// run      name, id, rank (-1: several), world_size; wall_ns
// ranks    rank, wall_ns; paths (by place in the list below: calls, total, self, mean, p50, p99, maximum; or null);
//          series, as below
// paths    as in docs/files.md, but parent is -1 at the top; so_far_ns (with open calls), share, histogram (first
//          class, then counts; class c is 2^(c/8) to 2^((c+1)/8) ns)
// series   path, label, steps, warmup, stride (maximum steps a block), runs (first step, steps a block, blocks); mean,
//          least, most by block (of one step: only mean); bands (blocks; low, median, high); group (blocks); phases and
//          streams (path: index, "between" or "rest"; total_ns; ns: mean a step by group); breaks in the pace, of
//          all_breaks; has_epochs; worst (step, ns, path)
// metrics  name, points, not_finite, last; first step and mean, least, most by block
// heat     null, or ranks, ranks_a_row, first step by column, last, cells by row: thousandths above the median

/// Returns times in ns as an array.
template <class Values>
JsonText times_json(const Values& values) {
  constexpr int kDigits = 4;
  JsonText out = JsonText::array();
  for (const auto& each : values) { out.push_back(JsonText::rounded(static_cast<double>(each), kDigits)); }
  return out;
}

/// Adds minimum, maximum and mean of each block; for blocks of one step, only its time.
void add_blocks(JsonText& json, const std::vector<StepBlock>& blocks);

/// \param paths page numbers of the series' paths.
JsonText series_json(const PageSeries& series, const std::vector<int>& paths);

/// \param max_blocks above 0; with more, neighbouring blocks are combined.
JsonText metric_json(const std::string& name, const MetricHistory& history, std::size_t max_blocks);

}  // namespace detail
TAKT_END_NAMESPACE
