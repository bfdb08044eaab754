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

/// The file that a time line goes to: `given`, or one in this directory that is named after the run.
/// \param directory of one of the run's ranks, also in a merged file.
/// \param rank -1: of all.
/// \throws takt::Error where something is there that is no time line of Takt's: that is not replaced.
std::string trace_file(const std::string& given, const RankDirectory& directory, int rank);

/// One time line of several ranks: a process for each, all by one clock. A rank that has recorded a time line has its
/// regions there, and behind them, as others from the start, the steps of its journal. The file appears when it is
/// whole. What is read goes through in parts. One thread at a time.
class JobTrace {
 public:
  /// \throws takt::Error where the file cannot be written, as all of these do.
  explicit JobTrace(const std::string& file);

  void write(const AlignedRanks& run);

  std::uint64_t slices() const noexcept { return slices_; }
  /// Of these, the regions that ranks have recorded.
  std::uint64_t regions() const noexcept { return regions_; }
  /// How many ranks have.
  std::uint64_t recorded_ranks() const noexcept { return recorded_ranks_; }
  /// What of recorded time lines is not in it, and why. Printable.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Whether each time line that lies in a rank's directory could be used.
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
  std::int64_t origin_ns_ = 0;  // when the first of them began, by the common clock
  std::uint64_t slices_ = 0;
  std::uint64_t regions_ = 0;
  std::uint64_t recorded_ranks_ = 0;
  detail::JsonText ranks_ = detail::JsonText::array();  // of otherData
  std::vector<std::string> warnings_;
  bool all_ = true;
  // For the rank that is being written: where its steps and open regions overlap, further tracks take them.
  std::map<std::uint32_t, detail::TrackLanes> lanes_;                        // by thread
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tracks_;  // of further lanes, by thread and lane
  bool is_first_ = true;
};

}  // namespace cli
TAKT_END_NAMESPACE
