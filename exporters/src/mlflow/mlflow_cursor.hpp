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

/// Numbers from 0 on, kept as ranges: mostly there is one. One thread at a time.
class MlflowSettled {
 public:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // first, one behind the last

  void add(std::uint64_t number) { add(number, number + 1); }
  void add(std::uint64_t first, std::uint64_t end);
  bool has(std::uint64_t number) const;
  /// Takes out `first` and all behind it.
  void cut(std::uint64_t first);
  std::uint64_t count() const;
  std::vector<Range> ranges() const { return {ends_.begin(), ends_.end()}; }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by first; neither overlapping nor touching
};

/// The figures over ranks as they were last made into points. They may come again, of more ranks: as later points of
/// the same metrics.
struct MlflowJobPoints {
  std::uint64_t ranks = 0;   ///< that are in the figures; 0: there were none
  std::uint64_t count = 0;   ///< of points
  std::uint64_t hash = 0;    ///< of their names and values
  std::int64_t time_ms = 0;  ///< that they all have
};

/// How far a run was delivered to MLflow, so that another process can go on. In a file of its own beside the journal;
/// without credentials. One thread at a time.
struct MlflowCursor {
  std::string of;      ///< the run, as mlflow_cursor_owner() names it; empty: versions before this one did not say
  std::string server;  ///< where the run is, for people
  std::string nonce;   ///< by which the run is found where its creation was not answered
  std::string source;  ///< name of the program
  std::string commit;  ///< of its sources; empty: unknown
  // What the run was begun with, and has to continue with.
  std::string experiment_name;
  std::string experiment_id;
  std::string joined_run;  ///< that somebody else had begun
  bool every_step = false;
  bool all_ranks = false;
  bool artifacts = true;
  bool first_schema = false;    ///< begun by a version that made other points of the same rows and metrics
  std::uint64_t first_row = 0;  ///< of those that were seen
  std::uint64_t first_metric = 0;
  std::uint64_t first_sample = 0;

  std::string run_id;  ///< empty until the server has told it
  std::map<std::string, std::string> params;
  std::map<std::string, std::string> tags;
  std::array<MlflowSettled, MetricPoint::kSources> settled;  ///< points, by source
  MlflowJobPoints job;
  std::string status;              ///< that the server was told; empty: none
  std::set<std::string> attached;  ///< files, those that never will be among them
  std::set<std::string> missing;   ///< the latter
  std::uint64_t left_out = 0;      ///< what the server refused
  std::uint64_t killed_bytes = 0;  ///< with status KILLED: of the journal that was taken for whole
  std::uint64_t killed_rows = 0;   ///< points of rows that do not depend on where it ended

  /// Of how many ranks all figures are there.
  std::uint64_t reported_ranks() const {
    const MlflowSettled& of_job = settled[static_cast<std::size_t>(MetricPoint::Source::job)];
    return of_job.count() < job.count ? 0 : job.ranks;
  }
};

/// For a run that was taken for killed and has gone on: what followed from its end is to be sent again.
void forget_end(MlflowCursor& cursor);

/// What tells a run, and a process of it, from all others.
std::string mlflow_cursor_owner(const RunInfo& run);

std::string format_cursor(const MlflowCursor& cursor);
/// False for a text that is no cursor, or of a newer version.
bool parse_cursor(const std::string& text, MlflowCursor& cursor);

}  // namespace detail
TAKT_END_NAMESPACE
