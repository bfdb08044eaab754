// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "history/slow_steps.hpp"
#include "history/step_block.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a column of a history is of. The columns of host time add up to the periods of the steps.
struct HistoryColumn {
  /// In place of a path: from the end of the Batch before to the begin of this one.
  static constexpr std::uint32_t kBetween = 0xFFFFFFFE;

  /// Index into Snapshot::paths, Cell::kOther or kBetween. The path of the Batch stands for what no region covers.
  std::uint32_t path = 0;
  bool on_stream = false;  ///< all stream spans of the path; else its host time without that of regions inside it
};

/// One step that was longer than others.
struct WorstStep {
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;  ///< since the start of the run
  std::uint64_t ns = 0;       ///< its Batch
  std::uint32_t path = 0;     ///< where it was longer than its neighbours by most: as HistoryColumn::path, or the Batch
};

/// The steps of one Batch path on one thread, in bounded memory: blocks of consecutive steps, twice as many steps a
/// block whenever there is no more room. A value; one thread at a time.
class SeriesHistory {
 public:
  static constexpr std::size_t kChunk = 64;  ///< steps that are looked at together, to tell what is usual
  static constexpr std::size_t kMostWorst = 32;
  static constexpr std::size_t kMostBreaks = 1024;
  static constexpr std::size_t kMostSlowPaths = 32;
  static constexpr std::size_t kBeginning = 256;
  /// A slow step takes so many times the median of its neighbours, and is so many of their deviations above it.
  static constexpr double kSlow = 2;
  static constexpr double kSlowDeviations = 6;

  /// Takes a row of the snapshot, of this series.
  void add(const Snapshot& snapshot, const Row& row);
  /// Takes in what waits for a full chunk.
  void finish();
  /// Twice as many steps a block.
  void halve();

  /// Whether no row was ever added.
  bool is_empty() const noexcept { return steps_ == 0 && chunk_.empty(); }
  /// In blocks.
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t warmup() const noexcept { return warmup_; }
  /// Steps a block, but for the last one and the one before a halving. A power of two.
  std::uint64_t stride() const noexcept { return stride_; }
  const std::vector<StepBlock>& blocks() const noexcept { return blocks_; }
  const std::vector<HistoryColumn>& columns() const noexcept { return columns_; }
  /// By where they were longer than their neighbours by most: as WorstStep::path. After warm-up.
  const std::map<std::uint32_t, SlowSteps>& slow() const noexcept { return slow_; }
  /// The longest ones after warm-up, by their Batch; the longest first.
  std::vector<WorstStep> worst() const;
  /// The first kBeginning steps: each with what lies in front of it, where that is known.
  const std::vector<std::uint64_t>& beginning() const noexcept { return beginning_; }
  /// Steps in front of which the pace breaks: an Epoch ends, or another Batch lies between. Places among all steps,
  /// ascending; of too many the first ones.
  const std::vector<std::uint64_t>& breaks() const noexcept { return breaks_; }
  std::uint64_t all_breaks() const noexcept { return all_breaks_; }
  std::size_t bytes() const noexcept;

 private:
  /// As it waits for its neighbours.
  struct Step {
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;
    std::uint64_t ns = 0;
    std::uint64_t between_ns = 0;  // in front of it, where has_period
    bool has_period = false;
    bool warmup = false;
    std::vector<std::uint64_t> columns;

    std::uint64_t whole_ns() const noexcept { return ns + between_ns; }
    std::uint64_t column(std::size_t place) const noexcept { return place < columns.size() ? columns[place] : 0; }
  };
  /// Steps of a chunk that are on one level: all of them, but where it changes.
  struct Part {
    const Step* first = nullptr;
    const Step* last = nullptr;  // behind them
    const Step* begin() const noexcept { return first; }
    const Step* end() const noexcept { return last; }
  };
  /// What is usual in a part.
  struct Usual {
    Part steps;
    double median_ns = 0;
    double spread_ns = 0;
    std::vector<double> columns;  // medians; filled in when a step is slow
  };
  std::size_t column_of(HistoryColumn column);
  void put(Step& step, HistoryColumn column, std::uint64_t ns);
  Step step_of(const Snapshot& snapshot, const Row& row);
  static Usual usual_of(Part steps);
  std::vector<Part> levels_of_chunk() const;
  void finish(Part steps);
  void find_slow(Usual& usual);
  std::size_t longest_column(const Step& step, Usual& usual) const;
  void take(const Step& step, const Usual& usual);
  void add_worst(const Step& step, std::uint32_t path);

  std::uint32_t batch_ = 0;  // the path of the series
  std::uint64_t steps_ = 0;
  std::uint64_t warmup_ = 0;
  std::uint64_t stride_ = 1;
  std::uint64_t joined_ = 0;  // pairs of blocks, so that odd and even samples take turns
  std::vector<HistoryColumn> columns_;
  std::map<std::pair<std::uint32_t, bool>, std::size_t> places_;  // of columns
  std::size_t last_column_ = 0;                                   // that was asked for
  std::vector<StepBlock> blocks_;
  std::vector<Step> chunk_;  // the newest, not in blocks yet
  std::map<std::uint32_t, SlowSteps> slow_;
  std::vector<WorstStep> worst_;  // a heap, the least of them first
  std::vector<std::uint64_t> beginning_;
  std::vector<std::uint64_t> breaks_;
  std::uint64_t all_breaks_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
