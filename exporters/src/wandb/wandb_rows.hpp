// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/metric_points.hpp"
#include "trackers/protobuf.hpp"
#include "trackers/system_metrics.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// W&B values are JSON that may contain NaN, Infinity and -Infinity.
/// Returns the shortest text that parses to the same bits. Any thread.
std::string wandb_json(double value);
/// Replaces invalid UTF-8 with U+FFFD. Any thread.
std::string wandb_json(std::string_view text);

/// A named value.
struct WandbItem {
  std::string key;  ///< valid UTF-8
  std::string json;
};
using WandbItems = std::vector<WandbItem>;

/// Identity of a run; empty: not set. Valid UTF-8.
struct WandbIdentity {
  std::string id;
  std::string entity;
  std::string project;
  std::string group;
  std::string job_type;
  std::string name;
  std::string notes;
  std::vector<std::string> tags;
  std::string sweep_id;
  std::string host;
  std::string commit;      ///< commit of the code
  std::string remote;      ///< address of its repository, without credentials
  std::string program;     ///< stored in the environment record, not in that of the run
  std::string storage_id;  ///< the server's id of a continued run; in no record
  std::int64_t start_unix_ns = 0;
  bool resume = false;  ///< for the client: append to the run of that id, if it exists
};

/// "takt-1.2.3". Any thread.
std::string wandb_producer();

/// Returns protobuf's Timestamp. Any thread.
Protobuf wandb_time(std::int64_t unix_ns);

/// Builds the records of a run's log: each call returns the bytes of the next one. Field numbers are those of
/// wandb_internal.proto. One thread at a time.
class WandbRecords {
 public:
  /// Continues after `number` records.
  void resume(std::int64_t number) noexcept { number_ = number; }
  std::int64_t number() const noexcept { return number_; }

  /// First record.
  std::string header(std::string_view producer);
  /// Second record, required before all others.
  std::string run(const WandbIdentity& identity, const WandbItems& config);
  /// \param message from wandb_environment_message().
  std::string environment(const Protobuf& message);
  /// Declares a metric as an x-axis.
  std::string axis(const std::string& name);
  /// Plots all metrics that match the pattern `glob` over `axis`.
  std::string drawn_over(const std::string& glob, const std::string& axis);
  std::string config(const WandbItems& changed);
  /// \param step greater than in the previous row.
  std::string history(const WandbItems& row, std::int64_t step);
  /// \param metrics system metrics, with names without "system.".
  std::string system(const WandbItems& metrics, std::int64_t unix_ns);
  std::string summary(const WandbItems& changed);
  /// \param path below the directory "files"; the file is complete.
  std::string file(const std::string& path);
  /// Last record.
  std::string exit(int code, std::int64_t runtime_s);

 private:
  std::string next(std::uint32_t field, const Protobuf& content);

  std::int64_t number_ = 0;
};

/// Number of Epoch regions that had ended at a given time. A snapshot only has the current count, which is up to a
/// collection interval late. The steps in between show when each Epoch ended: the first step after it has no period
/// that counts for throughput. One thread at a time.
class WandbEpochs {
 public:
  void take(const Snapshot& snapshot);
  /// Returns the number of ended Epochs, or -1 if the run has none so far.
  /// \param timestamp_ms since 1970, not before the last thousand Epochs.
  std::int64_t ended_at(std::int64_t timestamp_ms) const;

 private:
  void add_row(const Snapshot& snapshot, const Row& row, std::int64_t ended);
  void note(std::int64_t timestamp_ms, std::int64_t ended);

  bool known_ = false;
  std::int64_t counted_ = 0;                    // count in the last snapshot
  std::int64_t by_steps_ = 0;                   // count from steps so far
  std::int64_t series_ = -1;                    // first series whose steps are in Epochs
  bool other_between_ = false;                  // another Batch path had a step since the last one of that series
  std::int64_t before_ = 0;                     // count before the first time in `ended_`
  std::map<std::int64_t, std::int64_t> ended_;  // count by the time it was reached; both increase
};

/// Values that every row has; used as x-axes.
constexpr const char* kWandbStep = "takt/step";
constexpr const char* kWandbEpoch = "takt/epoch";

/// Converts points to rows. W&B requires increasing row numbers, but step numbers of several series may start over.
/// Rows therefore have their own numbers, and the step number is a value of the row. One thread at a time.
class WandbRows {
 public:
  struct Row {
    std::int64_t number = 0;  ///< from 0
    WandbItems items;
  };

  /// \param max_bytes maximum size of a row; further values go to the next row. Readers skip rows over 10 MiB.
  explicit WandbRows(std::int64_t start_unix_ns, std::size_t max_bytes = std::size_t{4} << 20U)
      : start_unix_ns_(start_unix_ns), max_bytes_(max_bytes) {}

  /// Continues with the row number `next`.
  void resume(std::int64_t next) noexcept { next_ = next; }
  std::int64_t next() const noexcept { return next_; }

  /// Returns the rows of `points`, in order. Consecutive values of one step share a row; totals have their own rows.
  std::vector<Row> take(const std::vector<MetricPoint>& points, const MetricPoints& names, const WandbEpochs& epochs);
  /// Returns the names changed since the last call.
  MetricPoints::Renamed take_renamed() { return std::exchange(renamed_, {}); }

 private:
  void end(Row& row, const MetricPoint& last, const WandbEpochs& epochs);
  const std::string& key(std::uint32_t number, const MetricPoints& names);

  std::int64_t start_unix_ns_;
  std::size_t max_bytes_;
  std::int64_t next_ = 0;
  std::map<std::uint32_t, std::string> keys_;
  MetricPoints::Renamed renamed_;
};

/// Newest value of each name: W&B's server reads the summary, not the rows. One thread at a time.
class WandbSummary {
 public:
  void add(const WandbRows::Row& row);
  bool has_changed() const noexcept { return !changed_.empty(); }
  /// Returns the values changed since the last call.
  WandbItems changed();

 private:
  std::map<std::string, std::string> changed_;
};

/// Interval at which W&B's own client logs system metrics, in ns.
constexpr std::int64_t kWandbSystemNs = 15'000'000'000;

/// Returns W&B's own system metrics of a sensor, without the "system." that its server expects. Any thread.
std::vector<SystemMetric> wandb_system_metrics(const Sensor& sensor);

}  // namespace detail
TAKT_END_NAMESPACE
