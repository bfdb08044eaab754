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

/// One value of one metric, as trackers store it.
struct MetricPoint {
  /// Origin of a point. The points of each source form a sequence that does not depend on how rows and metrics were
  /// split into snapshots, so the delivered numbers of each source suffice to resume.
  enum class Source : std::uint8_t { row, metric, total, sample, job };
  static constexpr std::size_t kSources = 5;
  static constexpr std::uint64_t kNoIndex = ~std::uint64_t{0};  ///< after dropped data, when the number is unknown

  double value = 0;
  std::int64_t timestamp_ms = 0;
  std::int64_t step = 0;
  std::uint64_t index = 0;  ///< number among the points of its source
  std::uint32_t key = 0;    ///< see MetricPoints::key()
  Source source = Source::row;
};

/// Number of metrics per region. A resumed run must keep the set that it started with: the points' numbers depend on
/// it.
enum class MetricSet : std::uint8_t {
  full,  ///< six metrics per region and window, and six for the whole run
  few,   ///< at most three per region; the rest is in summary.json
};

/// Converts rows, metrics and samples to points: equal input gives equal points in any process, at any time. Uses no
/// clock. Layout of names: docs/mlflow.md. One thread at a time.
class MetricPoints {
 public:
  static constexpr std::int64_t kWindowNs = 10'000'000'000;

  /// Pairs of the program's name and its replacement.
  using Renamed = std::vector<std::pair<std::string, std::string>>;

  /// \param every_step one point per step instead of one per window of at least `window_ns`.
  explicit MetricPoints(bool every_step, MetricSet set = MetricSet::full, std::int64_t window_ns = kWindowNs)
      : every_step_(every_step), set_(set), window_ns_(window_ns) {}

  /// Appends points for new rows, metrics and samples, and the totals of a finished snapshot.
  void take(const Snapshot& snapshot, std::vector<MetricPoint>& points);
  /// Appends the figures over ranks, all of them each time. REQUIRES: snapshot.job, and the snapshot was taken.
  void take_job(const Snapshot& snapshot, std::vector<MetricPoint>& points);

  /// Ignores rows, metrics and samples with lower numbers: the original exporter has not seen them. Call before take().
  void begin_at(std::uint64_t row, std::uint64_t metric, std::uint64_t sample = 0) noexcept;
  /// Returns the numbers of the first row, metric and sample seen; before that, the smallest accepted.
  std::uint64_t first_row() const noexcept { return rows_.first; }
  std::uint64_t first_metric() const noexcept { return metrics_.first; }
  std::uint64_t first_sample() const noexcept { return samples_.first; }

  /// Returns the smallest numbers of rows, metrics and samples that count as new.
  std::uint64_t next_row() const noexcept { return rows_.next; }
  std::uint64_t next_metric() const noexcept { return metrics_.next; }
  std::uint64_t next_sample() const noexcept { return samples_.next; }

  /// Returns the number of row points made before the final rows, whose windows the end of the run cuts short.
  std::uint64_t before_end() const noexcept { return before_end_; }

  const std::string& key(std::uint32_t key) const { return keys_[key]; }
  /// Also converts samples to points, with the names and the interval of the tracker's own client. Their step is the
  /// number of the window. Call before take().
  void report_system(SystemNaming naming, std::int64_t window_ns) { system_.emplace(naming, window_ns); }
  /// Also converts NaN metrics to points. Call before take().
  void keep_nans() noexcept { keeps_nans_ = true; }
  /// Keeps the program's names, for a tracker that accepts all of UTF-8. Call before take().
  void keep_names() noexcept { names_.take_utf8(); }
  /// Returns the number of NaN metrics left out.
  std::uint64_t nans() const noexcept { return nans_; }
  /// Returns the names changed since the last call; for a region, its path with prefix.
  Renamed take_renamed() { return std::exchange(renamed_, {}); }

 private:
  enum Leaf { kMean, kP50, kP95, kMax, kTotal, kCount, kStep, kShare, kLeaves };
  using Leaves = std::array<std::uint32_t, kLeaves>;  // keys
  struct Column {
    Summary host;
    Summary device;
  };
  struct Window {
    bool follows = false;  // not the first window of its series
    std::int64_t steps = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t step = 0;
    std::uint64_t items = 0;
    std::uint64_t period_ns = 0;  // of the steps that count for throughput, in ns
    std::int64_t periods = 0;
    std::map<std::uint32_t, Column> columns;  // by path; ordered, so that points are
    Summary exposed_comm;
    Summary exposed_io;
  };
  /// Sequence numbers of the rows, metrics or samples seen.
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
  std::optional<SystemMetrics> system_;  // none: samples are ignored
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
  std::map<std::pair<std::uint64_t, bool>, Leaves> leaves_;          // by series, path, and whether device
  std::map<std::pair<std::uint32_t, bool>, Leaves> exposed_leaves_;  // by series, and whether IO
};

/// Reports which names were changed for a tracker.
/// \param takes the names that the tracker accepts.
/// \param number of such messages before in this run; few are printed, because the number of causes is limited.
void report_renamed(const std::string& cause, const std::string& takes, const MetricPoints::Renamed& renamed,
                    int number);

}  // namespace detail
TAKT_END_NAMESPACE
