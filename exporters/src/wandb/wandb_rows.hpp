// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "trackers/metric_points.hpp"
#include "wandb/wandb_epochs.hpp"
#include "wandb/wandb_records.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

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

  /// \param most_bytes of a row; what is more goes into the next one. Readers leave out rows of more than 10 MiB.
  explicit WandbRows(std::int64_t start_unix_ns, std::size_t most_bytes = std::size_t{4} << 20U)
      : start_unix_ns_(start_unix_ns), most_bytes_(most_bytes) {}

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
  std::size_t most_bytes_;
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

}  // namespace detail
TAKT_END_NAMESPACE
