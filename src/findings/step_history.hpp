// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A step that took much longer than its neighbours.
struct SlowStep {
  std::uint64_t place = 0;  ///< its number among all steps of the series
  std::int64_t step = 0;
  std::uint64_t excess_ns = 0;  ///< by how much it was longer than the median of its neighbours
  double ratio = 0;             ///< its length by that median
  bool after_break = false;     ///< the pace breaks in front of it: an Epoch ends, or another Batch lies between
};

/// Those of a series that are slow because of one region. A value; one thread at a time.
class SlowSteps {
 public:
  static constexpr std::size_t kMaxGaps = 64;

  /// Adds the next one; their places ascend.
  void add(const SlowStep& step);

  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t after_breaks() const noexcept { return after_breaks_; }
  std::uint64_t excess_ns() const noexcept { return excess_ns_; }
  /// The sum of the squares of what each was longer, in ns squared.
  double excess_squares() const noexcept { return excess_squares_; }
  /// Their mean length, by the median of their neighbours.
  double mean_ratio() const noexcept { return steps_ == 0 ? 0 : ratios_ / static_cast<double>(steps_); }
  std::int64_t first_step() const noexcept { return first_step_; }
  std::int64_t last_step() const noexcept { return last_step_; }
  /// The number of the one that was longer by most, and by how much.
  std::int64_t worst_step() const noexcept { return worst_step_; }
  std::uint64_t worst_excess_ns() const noexcept { return worst_excess_ns_; }
  /// How often so many steps lay between one and the next, from the one to the other. Of at most kMaxGaps lengths.
  const std::map<std::uint64_t, std::uint64_t>& gaps() const noexcept { return gaps_; }

 private:
  std::uint64_t steps_ = 0;
  std::uint64_t after_breaks_ = 0;
  std::uint64_t excess_ns_ = 0;
  double excess_squares_ = 0;
  double ratios_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t last_step_ = 0;
  std::uint64_t last_place_ = 0;
  std::int64_t worst_step_ = 0;
  std::uint64_t worst_excess_ns_ = 0;
  std::map<std::uint64_t, std::uint64_t> gaps_;
};

/// What a region took in one step by itself: what the regions inside it took is left out.
struct OwnTime {
  std::uint32_t path = 0;  ///< index into Snapshot::paths, or kNoIndex
  std::uint64_t ns = 0;
};

/// Of the regions inside the row's Batch, by path. What lies in none of them is the row's length less all of these.
/// The row is one of `snapshot`. Rows may say anything: nothing wraps or is negative. Any thread.
std::vector<OwnTime> own_times(const Snapshot& snapshot, const Row& row);

/// The same of stream spans, of regions that have one. A region of kind comm inside another one is no part of it: where
/// that pays, communication has streams of its own, beside the computing. Any thread.
std::vector<OwnTime> own_stream_times(const Snapshot& snapshot, const Row& row);

/// Some consecutive points of a metric.
struct MetricBlock {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
};

/// The points of one metric of the program's, in bounded memory: blocks of consecutive points, twice as many a block
/// whenever there is no more room. A value; one thread at a time.
class MetricHistory {
 public:
  static constexpr std::size_t kMaxBlocks = 512;

  void add(const Metric& metric);

  const std::vector<MetricBlock>& blocks() const noexcept { return blocks_; }
  std::uint64_t points() const noexcept { return points_; }
  /// Points that are no number, or infinite: in no block.
  std::uint64_t not_finite() const noexcept { return not_finite_; }
  /// The newest finite value.
  double last() const noexcept { return last_; }

 private:
  void halve();

  std::vector<MetricBlock> blocks_;
  std::uint64_t stride_ = 1;
  std::uint64_t points_ = 0;
  std::uint64_t not_finite_ = 0;
  double last_ = 0;
};

/// Some consecutive steps of one series, as the history keeps them. A value; one thread at a time.
struct StepBlock {
  static constexpr std::size_t kMaxSamples = 8;

  std::uint64_t steps = 0;
  std::uint64_t warmup = 0;     ///< of these
  std::int64_t first_step = 0;  ///< number of the first one
  std::int64_t begin_ns = 0;    ///< of the first one, since the start of the run
  std::int64_t end_ns = 0;      ///< of the last one
  std::uint64_t sum_ns = 0;     ///< of their lengths
  std::uint64_t min_ns = ~std::uint64_t{0};
  std::uint64_t max_ns = 0;
  std::uint64_t usual_steps = 0;       ///< after warm-up, and with a known period
  std::uint64_t usual_ns = 0;          ///< their periods, each cut to what is usual among its neighbours
  std::vector<std::uint64_t> samples;  ///< lengths of some of the steps, evenly chosen; ascending
  std::vector<std::uint64_t> columns;  ///< sums in ns, by place in SeriesHistory::columns(); zeros at its end may lack
};

/// Keeps the length of one of its steps.
void add_sample(StepBlock& block, std::uint64_t ns);
/// Adds the columns of one of its steps.
void add_columns(StepBlock& block, const std::vector<std::uint64_t>& columns);
/// Adds the steps behind those of `block`. \param odd which ones of too many samples stay.
void join(StepBlock& block, const StepBlock& behind, bool odd);

/// What a column of a history is of. The columns of host time add up to the periods of the steps.
struct HistoryColumn {
  /// In place of a path: from the end of the Batch before to the begin of this one.
  static constexpr std::uint32_t kBetween = 0xFFFFFFFE;

  /// Index into Snapshot::paths, kNoIndex or kBetween. The path of the Batch stands for what no region covers.
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
  static constexpr std::size_t kMaxWorst = 32;
  static constexpr std::size_t kMaxBreaks = 1024;
  static constexpr std::size_t kMaxSlowPaths = 32;
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

/// What became of the steps of one process over its run, and of the metrics that it logged, in bounded memory: what
/// findings and the page of a run rest on. Rows and metrics fill it as they come by, live or from the journal. A value;
/// one thread at a time.
class StepHistory {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 20U;
  static constexpr std::size_t kMaxSeries = 16;
  static constexpr std::size_t kMaxMetrics = 32;
  static constexpr std::size_t kMinBlocks = 64;  ///< of a series; below that its blocks are not joined for room

  /// Blocks of steps are joined while they take more than about so many bytes. Metrics take 0.8 MB more at most.
  explicit StepHistory(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  /// Takes the rows and metrics of a snapshot.
  void add(const Snapshot& snapshot) { add(snapshot, snapshot.rows, snapshot.metrics); }
  /// Takes rows and metrics that belong to the snapshot.
  void add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics);
  /// The history with all that was added: the newest steps wait for others to be compared with. Adding may go on.
  StepHistory finished() const;

  /// By index as in Snapshot::series. Those without rows, and beyond the first kMaxSeries that had some, are empty.
  const std::vector<detail::SeriesHistory>& series() const noexcept { return series_; }
  /// The series whose Batches took most time together, as an index; series().size(): no series has rows.
  std::size_t main_series() const noexcept;
  const std::map<std::string, detail::MetricHistory>& metrics() const noexcept { return metrics_; }
  /// Rows of series, and points of metrics, for which there was no place.
  std::uint64_t rows_left_out() const noexcept { return rows_left_out_; }
  std::uint64_t points_left_out() const noexcept { return points_left_out_; }
  std::size_t bytes() const noexcept;

 private:
  void make_space();

  std::size_t max_bytes_;
  std::vector<detail::SeriesHistory> series_;
  std::size_t kept_series_ = 0;
  std::map<std::string, detail::MetricHistory> metrics_;
  std::uint64_t rows_left_out_ = 0;
  std::uint64_t points_left_out_ = 0;
};

TAKT_END_NAMESPACE
