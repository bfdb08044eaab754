// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "trackers/metric_points.hpp"
#include "trackers/tracker.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

inline constexpr Tracker kMlflow{"mlflow", "MLflow", "takt sync", "mlflow.json", "mlflow.lease"};

/// A set of numbers from 0, stored as ranges, usually one. One thread at a time.
class MlflowSettled {
 public:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // first, end

  void add(std::uint64_t number) { add(number, number + 1); }
  void add(std::uint64_t first, std::uint64_t end);
  bool has(std::uint64_t number) const;
  /// Removes `first` and all greater numbers.
  void cut(std::uint64_t first);
  std::uint64_t count() const;
  std::vector<Range> ranges() const { return {ends_.begin(), ends_.end()}; }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // keyed by first; ranges neither overlap nor touch
};

/// Figures over ranks, as last converted to points. Figures of more ranks may follow, as later points of the same
/// metrics.
struct MlflowJobPoints {
  std::uint64_t ranks = 0;   ///< number of ranks in the figures; 0: no figures
  std::uint64_t count = 0;   ///< number of points
  std::uint64_t hash = 0;    ///< hash of their names and values
  std::int64_t time_ms = 0;  ///< timestamp of all points, in ms
};

/// Delivery progress of a run to MLflow, from which another process can resume. Stored in its own file next to the
/// journal; contains no credentials. One thread at a time.
struct MlflowCursor {
  std::string of;      ///< owner, see mlflow_cursor_owner(); empty: written by a version without this field
  std::string server;  ///< server URL, for display
  std::string nonce;   ///< finds the run if the answer to its creation was lost
  std::string source;  ///< name of the program
  // Settings of the run; a resumed delivery must use the same.
  std::string experiment_name;
  std::string experiment_id;
  std::string joined_run;  ///< existing run that was joined
  bool every_step = false;
  bool all_ranks = false;
  bool artifacts = true;
  bool first_schema = false;    ///< created by a version with other points for the same rows and metrics
  std::uint64_t first_row = 0;  ///< first row that this exporter saw
  std::uint64_t first_metric = 0;
  std::uint64_t first_sample = 0;

  std::string run_id;  ///< empty until the server has sent it
  std::map<std::string, std::string> params;
  std::map<std::string, std::string> tags;
  std::array<MlflowSettled, MetricPoint::kSources> settled;  ///< delivered points, by source
  MlflowJobPoints job;
  std::string status;              ///< status sent to the server; empty: none
  std::set<std::string> attached;  ///< files sent or permanently rejected
  std::set<std::string> missing;   ///< files permanently rejected
  std::uint64_t left_out = 0;      ///< number of values that the server rejected
  std::uint64_t killed_bytes = 0;  ///< with status KILLED: journal size when the process was considered killed
  std::uint64_t killed_rows = 0;   ///< points of rows that do not depend on where the journal ended

  /// Returns the number of ranks whose figures are all delivered.
  std::uint64_t reported_ranks() const {
    const MlflowSettled& of_job = settled[static_cast<std::size_t>(MetricPoint::Source::job)];
    return of_job.count() < job.count ? 0 : job.ranks;
  }
};

/// Discards the delivered end of a run that was considered killed but continued, so that it is sent again.
void forget_end(MlflowCursor& cursor);

/// Returns a string that identifies a run and its process.
std::string mlflow_cursor_owner(const RunInfo& run);

std::string format_cursor(const MlflowCursor& cursor);
/// Returns false if the text is not a cursor or has a newer version.
bool parse_cursor(const std::string& text, MlflowCursor& cursor);

}  // namespace detail
TAKT_END_NAMESPACE
