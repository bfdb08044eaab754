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

// A value of W&B is JSON in which NaN, Infinity and -Infinity are allowed.
/// The shortest that reads back as the same bits. Any thread.
std::string wandb_json(double value);
/// What is not UTF-8 becomes U+FFFD. Any thread.
std::string wandb_json(std::string_view text);

/// A value by its name.
struct WandbItem {
  std::string key;  ///< valid UTF-8
  std::string json;
};
using WandbItems = std::vector<WandbItem>;

/// What a run is called and belongs to; empty: not said. Valid UTF-8.
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
  std::string commit;      ///< of the code
  std::string remote;      ///< address of its repository, without what gives a right to it
  std::string program;     ///< not in the record of the run, but in that of its environment
  std::string storage_id;  ///< what the server calls a run that is continued; in no record
  std::int64_t start_unix_ns = 0;
  bool resume = false;  ///< for the client: behind the run of that id, if there is one
};

/// "takt-1.2.3". Any thread.
std::string wandb_producer();

/// As protobuf's Timestamp. Any thread.
Protobuf wandb_time(std::int64_t unix_ns);

/// The records of a run's log, one after the other: each call gives the next one's bytes. Field numbers are those of
/// wandb_internal.proto. One thread at a time.
class WandbRecords {
 public:
  /// Goes on behind so many records.
  void resume(std::int64_t number) noexcept { number_ = number; }
  std::int64_t number() const noexcept { return number_; }

  /// The first one.
  std::string header(std::string_view producer);
  /// The second one: nothing before it counts.
  std::string run(const WandbIdentity& identity, const WandbItems& config);
  /// \param message of wandb_environment_message().
  std::string environment(const Protobuf& message);
  /// A number that others are drawn over.
  std::string axis(const std::string& name);
  /// All metrics that the pattern `glob` fits are drawn over `axis`.
  std::string drawn_over(const std::string& glob, const std::string& axis);
  std::string config(const WandbItems& changed);
  /// \param step greater than in the row before.
  std::string history(const WandbItems& row, std::int64_t step);
  /// \param metrics of the system, their names without "system.".
  std::string system(const WandbItems& metrics, std::int64_t unix_ns);
  std::string summary(const WandbItems& changed);
  /// \param path below the directory "files"; the file is whole.
  std::string file(const std::string& path);
  /// The last one.
  std::string exit(int code, std::int64_t runtime_s);

 private:
  std::string next(std::uint32_t field, const Protobuf& content);

  std::int64_t number_ = 0;
};

/// How many Epoch regions had ended at some time. Snapshots count those that have ended by now, which is up to a period
/// later; the steps between two snapshots tell where each one ended: the first step behind it has no period that counts
/// for throughput. One thread at a time.
class WandbEpochs {
 public:
  void take(const Snapshot& snapshot);
  /// -1: the run has no Epochs so far.
  /// \param timestamp_ms since 1970, not before the last thousand Epochs.
  std::int64_t ended_at(std::int64_t timestamp_ms) const;

 private:
  void add_row(const Snapshot& snapshot, const Row& row, std::int64_t ended);
  void note(std::int64_t timestamp_ms, std::int64_t ended);

  bool known_ = false;
  std::int64_t counted_ = 0;                    // by the last snapshot
  std::int64_t by_steps_ = 0;                   // by the steps so far
  std::int64_t series_ = -1;                    // whose steps are in Epochs; the first one
  bool other_between_ = false;                  // another Batch path has had a step since the last one of that series
  std::int64_t before_ = 0;                     // the first time in `ended_`
  std::map<std::int64_t, std::int64_t> ended_;  // by the time from which on that many had; goes up with it
};

/// Numbers that every row has, and that the others are drawn over.
constexpr const char* kWandbStep = "takt/step";
constexpr const char* kWandbEpoch = "takt/epoch";

/// Makes rows of points. W&B wants rows counted upwards, where Takt has step numbers of several series that may start
/// over: rows have numbers of their own, and the step number is one of their values. One thread at a time.
class WandbRows {
 public:
  struct Row {
    std::int64_t number = 0;  ///< from 0
    WandbItems items;
  };

  /// \param max_bytes of a row; what is more goes into the next one. Readers leave out rows of more than 10 MiB.
  explicit WandbRows(std::int64_t start_unix_ns, std::size_t max_bytes = std::size_t{4} << 20U)
      : start_unix_ns_(start_unix_ns), max_bytes_(max_bytes) {}

  /// Goes on behind so many rows.
  void resume(std::int64_t next) noexcept { next_ = next; }
  std::int64_t next() const noexcept { return next_; }

  /// The rows of `points`, in their order. Values of one step that follow each other stand in one row; totals are by
  /// themselves.
  std::vector<Row> take(const std::vector<MetricPoint>& points, const MetricPoints& names, const WandbEpochs& epochs);
  /// Names that became another one since the last call.
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

/// The newest value of each name: W&B's server takes it from here, and not from the rows. One thread at a time.
class WandbSummary {
 public:
  void add(const WandbRows::Row& row);
  bool has_changed() const noexcept { return !changed_.empty(); }
  /// Those that changed since the last call.
  WandbItems changed();

 private:
  std::map<std::string, std::string> changed_;
};

/// How often W&B's own client tells system metrics.
constexpr std::int64_t kWandbSystemNs = 15'000'000'000;

/// W&B's own system metrics of a meter, without the "system." that its server is told. Any thread.
std::vector<SystemMetric> wandb_system_metrics(const Sensor& sensor);

}  // namespace detail
TAKT_END_NAMESPACE
