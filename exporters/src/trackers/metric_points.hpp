// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include "trackers/system_metrics.hpp"
#include "trackers/tracker_names.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One value of one metric, as trackers keep it.
struct MetricPoint {
  /// What it was made of. The points of each source are a sequence that does not depend on how rows and metrics were
  /// shared out to snapshots: which ones of each source were delivered is all that has to be known to go on from there.
  enum class Source : std::uint8_t { row, metric, total, sample, job };
  static constexpr std::size_t kSources = 5;
  static constexpr std::uint64_t kNoIndex = ~std::uint64_t{0};  ///< behind a loss, where nobody can tell the number

  double value = 0;
  std::int64_t timestamp_ms = 0;
  std::int64_t step = 0;
  std::uint64_t index = 0;  ///< among the points of its source
  std::uint32_t key = 0;    ///< for MetricPoints::key()
  Source source = Source::row;
};

/// How much of a region becomes metrics. Who goes on with a run has to keep to the one that it was begun with: the
/// numbers of points hang on it.
enum class MetricSet : std::uint8_t {
  full,  ///< six metrics a region and window, and six of the whole run
  few,   ///< at most three a region; the rest is for summary.json
};

/// Turns rows, metrics and samples into points: the same ones from the same, wherever and whenever. Knows no
/// clock. Layout of names: docs/mlflow.md. One thread at a time.
class MetricPoints {
 public:
  static constexpr std::int64_t kWindowNs = 10'000'000'000;

  /// Names as the program has them, with those that stand in for them.
  using Renamed = std::vector<std::pair<std::string, std::string>>;

  /// \param every_step a point for each step instead of one for each window of at least `window_ns`.
  explicit MetricPoints(bool every_step, MetricSet set = MetricSet::full, std::int64_t window_ns = kWindowNs)
      : every_step_(every_step), set_(set), window_ns_(window_ns) {}

  /// Appends to `points` what follows from rows, metrics and samples not seen before; of a finished snapshot the
  /// totals, too.
  void take(const Snapshot& snapshot, std::vector<MetricPoint>& points);
  /// Appends the figures over ranks, all of them each time. REQUIRES: snapshot.job, and that the snapshot was taken.
  void take_job(const Snapshot& snapshot, std::vector<MetricPoint>& points);

  /// Rows, metrics and samples with lower numbers are as if they had never been: whoever began has not seen them.
  /// Before take().
  void begin_at(std::uint64_t row, std::uint64_t metric, std::uint64_t sample = 0) noexcept;
  /// The numbers of the first ones that were seen; the least to come, while there was none.
  std::uint64_t first_row() const noexcept { return rows_.first; }
  std::uint64_t first_metric() const noexcept { return metrics_.first; }
  std::uint64_t first_sample() const noexcept { return samples_.first; }

  /// The least numbers of rows, metrics and samples that are new to it.
  std::uint64_t next_row() const noexcept { return rows_.next; }
  std::uint64_t next_metric() const noexcept { return metrics_.next; }
  std::uint64_t next_sample() const noexcept { return samples_.next; }

  /// Points of rows that were made before the last rows came, and the end of the run cut their windows short.
  std::uint64_t before_end() const noexcept { return before_end_; }

  const std::string& key(std::uint32_t key) const { return keys_[key]; }
  /// Samples become points, too: as the tracker's own client names them, and as rarely. Their step is the number of
  /// the window. Before take().
  void report_system(SystemNaming naming, std::int64_t window_ns) { system_.emplace(naming, window_ns); }
  /// Metrics that are not a number become points, too. Before take().
  void keep_nans() noexcept { keeps_nans_ = true; }
  /// Names stay as the program gave them, for a tracker that takes all of UTF-8. Before take().
  void keep_names() noexcept { names_.take_utf8(); }
  /// Metrics that were not a number, and left out.
  std::uint64_t nans() const noexcept { return nans_; }
  /// The names that became others since the last call; of a region its path, and what stands before it.
  Renamed take_renamed() { return std::exchange(renamed_, {}); }

 private:
  enum Leaf { kMean, kP50, kP95, kMax, kTotal, kCount, kStep, kShare, kLeaves };
  using Leaves = std::array<std::uint32_t, kLeaves>;  // keys
  struct Column {
    Summary host;
    Summary device;
  };
  struct Window {
    bool follows = false;  // another one
    std::int64_t steps = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t step = 0;
    std::uint64_t items = 0;
    std::uint64_t period_ns = 0;  // of the steps that count for throughput
    std::int64_t periods = 0;
    std::map<std::uint32_t, Column> columns;  // by path; in order, so that points are
    Summary exposed_comm;
    Summary exposed_io;
  };
  /// The sequence numbers of rows, of metrics, or of samples.
  struct Seen {
    bool is_new(std::uint64_t number) noexcept;

    std::uint64_t first = 0;
    std::uint64_t next = 0;
    bool started = false;
    bool has_gap = false;
  };
  struct When {
    std::int64_t timestamp_ms;
    std::int64_t step;
    MetricPoint::Source source;
  };

  void add(const Snapshot& snapshot, const Row& row);
  void add_metric(const Metric& metric);
  void add_sample(const Snapshot& snapshot, const Sample& sample);
  void close(const Snapshot& snapshot, std::uint32_t series, Window& window);
  void close_last(const Snapshot& snapshot, std::uint32_t series, Window& window);
  void add_columns(const Snapshot& snapshot, std::uint32_t series, const Window& window, const When& when);
  void add_few(const Leaves& leaves, const Column& column, std::uint64_t of_ns, const Leaves* device, const When& when);
  void add_totals(const Snapshot& snapshot);
  void add_totals_of_paths(const Snapshot& snapshot, const When& when);
  void add_exposed(std::uint32_t series, const std::string& of, const Window& window, const When& when,
                   std::uint32_t batch);
  void add_rate(const std::string& stem, double items, double steps, double period_ns, const When& when);
  void add_summary(const Leaves& leaves, const Summary& summary, const When& when);
  void add_measured(const Leaves& leaves, const Summary& summary, const When& when);
  void put(std::uint32_t key, double value, const When& when);
  bool has_gap(MetricPoint::Source source) const noexcept;

  const Leaves& leaves(const Snapshot& snapshot, std::uint32_t series, std::uint32_t path, bool device);
  Leaves make_leaves(const std::string& stem);
  std::string safe_stem(const std::string& stem);
  std::string series_name(const Snapshot& snapshot, std::uint32_t series) const;
  std::uint32_t key_of(const std::string& name);
  std::uint32_t key_of_user(const std::string& name);

  bool every_step_;
  MetricSet set_;
  std::int64_t window_ns_;
  std::vector<MetricPoint>* out_ = nullptr;  // during take()
  Seen rows_;
  Seen metrics_;
  Seen samples_;
  std::optional<SystemMetrics> system_;  // none: samples are not told
  std::array<std::uint64_t, MetricPoint::kSources> made_{};
  std::int64_t last_step_ = 0;
  bool keeps_nans_ = false;
  std::uint64_t nans_ = 0;
  Renamed renamed_;
  bool totals_made_ = false;
  std::uint64_t before_end_ = 0;
  std::vector<Window> windows_;  // by series
  TrackerNames names_;
  std::vector<std::string> keys_;
  std::map<std::string, std::uint32_t> key_numbers_;
  std::map<std::pair<std::uint64_t, bool>, Leaves> leaves_;          // by series and path, and whether of the device
  std::map<std::pair<std::uint32_t, bool>, Leaves> exposed_leaves_;  // by series, and whether of IO
};

/// Which names became what at a tracker.
/// \param takes which ones it takes.
/// \param number of such lines before, of one run: there are few of them, as causes are.
void report_renamed(const std::string& cause, const std::string& takes, const MetricPoints::Renamed& renamed,
                    int number);

}  // namespace detail
TAKT_END_NAMESPACE
