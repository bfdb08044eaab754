// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/file.hpp"
#include "base/json_text.hpp"
#include "cli/aligned_ranks.hpp"
#include "cli/recorded_time_line.hpp"
#include "cli/run_directory.hpp"
#include "report/trace.hpp"

#include <takt/config.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Returns the file for a time line: `given`, or a file in the current directory named after the run.
/// \param directory of one of the run's ranks, even in a merged file.
/// \param rank -1: all.
/// \throws takt::Error if the file exists and is not a time line of Takt: it is not replaced.
std::string trace_file(const std::string& given, const RankDirectory& directory, int rank);

/// Time line of several ranks on one clock: one process per rank. A rank with a recorded time line shows its regions
/// and the later steps of its journal; other ranks show all steps of the journal. The file appears when it is complete.
/// Data is read in parts. One thread at a time.
class JobTrace {
 public:
  /// \throws takt::Error if the file cannot be written, as all of these do.
  explicit JobTrace(const std::string& file);

  void write(const AlignedRanks& run);

  std::uint64_t slices() const noexcept { return slices_; }
  /// Number of slices that are recorded regions.
  std::uint64_t regions() const noexcept { return regions_; }
  /// Number of ranks with a recorded time line.
  std::uint64_t recorded_ranks() const noexcept { return recorded_ranks_; }
  /// Missing parts of recorded time lines, and the reasons. Printable.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Returns true if every time line in a rank's directory could be used.
  bool all() const noexcept { return all_; }

 private:
  void add_rank(const AlignedRank& each);
  void add_recorded(const AlignedRank& each, RecordedTimeLine& line);
  void add_event(const AlignedRank& each, const TraceEvent& event);
  void add_steps(const AlignedRank& each, const Snapshot& snapshot, const RecordedTimeLine& line);
  void add_samples(const AlignedRank& each, const Snapshot& snapshot, detail::CounterTracks& tracks);
  void add_end(const AlignedRank& each, const Snapshot& snapshot);
  std::uint32_t lane_of(const AlignedRank& each, const ThreadInfo& thread, std::int64_t begin_ns, std::int64_t end_ns);
  void add_slice(const AlignedRank& each, std::int64_t begin_ns, std::int64_t length_ns, std::uint32_t track,
                 const std::string& name, Kind kind);
  void add(const std::string& event);
  void must(bool written);

  detail::WholeFile file_;
  std::int64_t origin_ns_ = 0;  // start of the first rank, on the common clock
  std::uint64_t slices_ = 0;
  std::uint64_t regions_ = 0;
  std::uint64_t recorded_ranks_ = 0;
  detail::JsonText ranks_ = detail::JsonText::array();  // for otherData
  std::vector<std::string> warnings_;
  bool all_ = true;
  // For the current rank: overlapping steps and open regions need further tracks.
  std::map<std::uint32_t, detail::TrackLanes> lanes_;                        // by thread
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tracks_;  // further tracks, by thread and lane
  bool is_first_ = true;
};

}  // namespace cli
TAKT_END_NAMESPACE
