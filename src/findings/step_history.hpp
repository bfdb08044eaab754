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
  std::uint64_t place = 0;  ///< index among all steps of the series
  std::int64_t step = 0;
  std::uint64_t excess_ns = 0;  ///< time above the median of its neighbours
  double ratio = 0;             ///< length divided by that median
  bool after_break = false;     ///< it follows the end of an Epoch, or another Batch
};

/// Slow steps of a series that are attributed to one region. Value type; not thread-safe.
class SlowSteps {
 public:
  static constexpr std::size_t kMaxGaps = 64;

  /// Adds the next slow step, in ascending order of place.
  void add(const SlowStep& step);

  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t after_breaks() const noexcept { return after_breaks_; }
  std::uint64_t excess_ns() const noexcept { return excess_ns_; }
  /// Sum of squared excesses, in ns squared.
  double excess_squares() const noexcept { return excess_squares_; }
  /// Mean of each step's length divided by the median of its neighbours.
  double mean_ratio() const noexcept { return steps_ == 0 ? 0 : ratios_ / static_cast<double>(steps_); }
  std::int64_t first_step() const noexcept { return first_step_; }
  std::int64_t last_step() const noexcept { return last_step_; }
  /// Number of the step with the largest excess, and that excess.
  std::int64_t worst_step() const noexcept { return worst_step_; }
  std::uint64_t worst_excess_ns() const noexcept { return worst_excess_ns_; }
  /// Number of times that each distance between consecutive slow steps occurred; at most kMaxGaps distances.
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

/// Time of a region in one step, without the regions inside it.
struct OwnTime {
  std::uint32_t path = 0;  ///< index into Snapshot::paths, or kNoIndex
  std::uint64_t ns = 0;
};

/// Returns the own times of the regions inside the row's Batch, by path. The rest of the row's length is outside these
/// regions. The row must belong to `snapshot`. Any row contents are safe: nothing wraps or is negative. Any thread.
std::vector<OwnTime> own_times(const Snapshot& snapshot, const Row& row);

/// The same for stream spans, for regions that have any. A comm region inside another region is not subtracted from it:
/// communication usually runs on its own streams, in parallel with computing. Any thread.
std::vector<OwnTime> own_stream_times(const Snapshot& snapshot, const Row& row);

/// Consecutive points of a metric.
struct MetricBlock {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
};

/// Points of one user metric in bounded memory: blocks of consecutive points, which double in size when the buffer is
/// full. Value type; not thread-safe.
class MetricHistory {
 public:
  static constexpr std::size_t kMaxBlocks = 512;

  void add(const Metric& metric);

  const std::vector<MetricBlock>& blocks() const noexcept { return blocks_; }
  std::uint64_t points() const noexcept { return points_; }
  /// Number of NaN or infinite points, which are in no block.
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

/// Consecutive steps of one series. Value type; not thread-safe.
struct StepBlock {
  static constexpr std::size_t kMaxSamples = 8;

  std::uint64_t steps = 0;
  std::uint64_t warmup = 0;     ///< number of these that are warm-up
  std::int64_t first_step = 0;  ///< number of the first one
  std::int64_t begin_ns = 0;    ///< start of the first one, since the start of the run
  std::int64_t end_ns = 0;      ///< end of the last one
  std::uint64_t sum_ns = 0;     ///< sum of their lengths
  std::uint64_t min_ns = ~std::uint64_t{0};
  std::uint64_t max_ns = 0;
  std::uint64_t usual_steps = 0;       ///< steps after warm-up with a known period
  std::uint64_t usual_ns = 0;          ///< sum of their periods, each capped at its neighbours' usual range
  std::vector<std::uint64_t> samples;  ///< evenly chosen lengths, ascending
  std::vector<std::uint64_t> columns;  ///< sums in ns, as SeriesHistory::columns(); trailing zeros may be missing
};

/// Adds the length of one step to the block's samples.
void add_sample(StepBlock& block, std::uint64_t ns);
/// Adds the columns of one step.
void add_columns(StepBlock& block, const std::vector<std::uint64_t>& columns);
/// Appends the steps of `behind` to `block`. \param odd keep the odd samples if there are too many.
void join(StepBlock& block, const StepBlock& behind, bool odd);

/// Key of a column. The host-time columns add up to the periods of the steps.
struct HistoryColumn {
  /// Used instead of a path: the time from the end of the previous Batch to the start of this one.
  static constexpr std::uint32_t kBetween = 0xFFFFFFFE;

  /// Index into Snapshot::paths, kNoIndex or kBetween. The Batch's own path holds the time that no region covers.
  std::uint32_t path = 0;
  bool on_stream = false;  ///< true: all stream spans of the path; false: host time without inner regions
};

/// A step that was longer than others.
struct WorstStep {
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;  ///< since the start of the run
  std::uint64_t ns = 0;       ///< length of its Batch
  std::uint32_t path = 0;  ///< path with the largest excess over the neighbours: as HistoryColumn::path, or the Batch
};

/// Steps of one Batch path on one thread, in bounded memory: blocks of consecutive steps, which double in size when the
/// buffer is full. Value type; not thread-safe.
class SeriesHistory {
 public:
  static constexpr std::size_t kChunk = 64;  ///< steps that are judged together
  static constexpr std::size_t kMaxWorst = 32;
  static constexpr std::size_t kMaxBreaks = 1024;
  static constexpr std::size_t kMaxSlowPaths = 32;
  static constexpr std::size_t kBeginning = 256;
  /// A slow step takes kSlow times its neighbours' median and is kSlowDeviations of their deviations above it.
  static constexpr double kSlow = 2;
  static constexpr double kSlowDeviations = 6;

  /// Adds a row of this series; the row belongs to `snapshot`.
  void add(const Snapshot& snapshot, const Row& row);
  /// Processes an incomplete chunk.
  void finish();
  /// Doubles the number of steps per block.
  void halve();

  bool is_empty() const noexcept { return steps_ == 0 && chunk_.empty(); }
  /// Number of steps in blocks.
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t warmup() const noexcept { return warmup_; }
  /// Steps per block, except the last block and the last one before a halving. A power of two.
  std::uint64_t stride() const noexcept { return stride_; }
  const std::vector<StepBlock>& blocks() const noexcept { return blocks_; }
  const std::vector<HistoryColumn>& columns() const noexcept { return columns_; }
  /// Slow steps after warm-up, by the path with the largest excess; see WorstStep::path.
  const std::map<std::uint32_t, SlowSteps>& slow() const noexcept { return slow_; }
  /// Returns the longest steps after warm-up by Batch length, longest first.
  std::vector<WorstStep> worst() const;
  /// Times of the first kBeginning steps, each with the time since the previous Batch if known.
  const std::vector<std::uint64_t>& beginning() const noexcept { return beginning_; }
  /// Steps that follow the end of an Epoch, or another Batch. Ascending indices among all steps; only the first
  /// kMaxBreaks are kept.
  const std::vector<std::uint64_t>& breaks() const noexcept { return breaks_; }
  std::uint64_t all_breaks() const noexcept { return all_breaks_; }
  std::size_t bytes() const noexcept;

 private:
  /// A step in the current chunk.
  struct Step {
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;
    std::uint64_t ns = 0;
    std::uint64_t between_ns = 0;  // before the step, if has_period
    bool has_period = false;
    bool warmup = false;
    std::vector<std::uint64_t> columns;

    std::uint64_t whole_ns() const noexcept { return ns + between_ns; }
    std::uint64_t column(std::size_t place) const noexcept { return place < columns.size() ? columns[place] : 0; }
  };
  /// Steps of a chunk on one level; normally the whole chunk.
  struct Part {
    const Step* first = nullptr;
    const Step* last = nullptr;  // one past the last
    const Step* begin() const noexcept { return first; }
    const Step* end() const noexcept { return last; }
  };
  /// Typical times in a part.
  struct Usual {
    Part steps;
    double median_ns = 0;
    double spread_ns = 0;
    std::vector<double> columns;  // medians; filled in if a step is slow
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
  std::uint64_t joined_ = 0;  // pairs of blocks joined, to alternate odd and even samples
  std::vector<HistoryColumn> columns_;
  std::map<std::pair<std::uint32_t, bool>, std::size_t> places_;  // column indices
  std::size_t last_column_ = 0;                                   // last one requested
  std::vector<StepBlock> blocks_;
  std::vector<Step> chunk_;  // newest steps, not yet in blocks
  std::map<std::uint32_t, SlowSteps> slow_;
  std::vector<WorstStep> worst_;  // min-heap by length
  std::vector<std::uint64_t> beginning_;
  std::vector<std::uint64_t> breaks_;
  std::uint64_t all_breaks_ = 0;
};

}  // namespace detail

/// Steps and logged metrics of one process in bounded memory. Findings and the run page use it. Rows and metrics are
/// added as they arrive, live or from the journal. Value type; not thread-safe.
class StepHistory {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 20U;
  static constexpr std::size_t kMaxSeries = 16;
  static constexpr std::size_t kMaxMetrics = 32;
  static constexpr std::size_t kMinBlocks = 64;  ///< of a series; with fewer, its blocks are never joined

  /// Joins blocks of steps while they exceed about max_bytes. Metrics take at most 0.8 MB more.
  explicit StepHistory(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  /// Adds the rows and metrics of a snapshot.
  void add(const Snapshot& snapshot) { add(snapshot, snapshot.rows, snapshot.metrics); }
  /// Adds rows and metrics that belong to the snapshot.
  void add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics);
  /// Returns the complete history, including the newest steps, which otherwise wait for later neighbours. More can be
  /// added afterwards.
  StepHistory finished() const;

  /// Indexed as Snapshot::series. Series without rows, and those beyond the first kMaxSeries with rows, are empty.
  const std::vector<detail::SeriesHistory>& series() const noexcept { return series_; }
  /// Returns the index of the series with the largest total Batch time; series().size() if no series has rows.
  std::size_t main_series() const noexcept;
  const std::map<std::string, detail::MetricHistory>& metrics() const noexcept { return metrics_; }
  /// Number of series rows and metric points that were dropped because the limits were reached.
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
