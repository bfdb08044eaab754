// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "cli/run_directory.hpp"

#include <takt/key.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// An event of Takt's trace.json, exact to the nanosecond. A value.
struct TraceEvent {
  enum class What { slice, process_name, track_name, track_order, other };

  What what = What::other;  ///< `other` has only its process
  std::string name;         ///< name of a slice, or given to a process or a track
  Kind kind = Kind::other;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;  ///< >= 0; the end is a valid time as well
  std::int64_t process = 0;
  std::uint32_t track = 0;
  std::uint32_t order = 0;  ///< sort index of a track

  /// \param line untrusted text. Empty: not an event of Takt's format.
  static std::optional<TraceEvent> parse(std::string_view line);
};

/// Regions that a rank has written with a trace: trace.json in its directory, or the .part file of a killed or active
/// run. The files are untrusted. Reads line by line; memory grows with the number of tracks only. One thread at a time.
class RecordedTimeLine {
 public:
  using Take = std::function<void(const TraceEvent&)>;

  /// Looks for the file. \param run its owner according to the journal.
  RecordedTimeLine(const RankDirectory& directory, const RunInfo& run);

  /// Returns true if this rank has a time line.
  bool is_there() const noexcept { return is_there_; }
  /// Why an existing file is not used: "a/trace.json is not a regular file". Printable; empty: used, or no file.
  const std::string& refusal() const noexcept { return refusal_; }
  /// Returns "trace.json" or "trace.json.part".
  const std::string& file() const noexcept { return file_; }

  /// Passes its slices, and names and order of tracks, to `take`. REQUIRES: is_there().
  void read(const Take& take);

  // The following are valid after read().

  /// Returns true if it reaches the end of a region of this thread at `end_ns`; such a region is in it.
  bool covers(std::uint32_t thread_id, std::int64_t end_ns) const;
  std::uint64_t slices() const noexcept { return slices_; }
  std::uint64_t damaged_lines() const noexcept { return damaged_lines_; }
  /// Number of regions dropped because it was full, from its end.
  std::uint64_t dropped_spans() const noexcept { return dropped_spans_; }
  /// Missing data. Printable.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  bool find();
  void check(const RunInfo& run);
  bool check_end(const RunInfo& run);
  bool take_event(const TraceEvent& event, const Take& take);
  bool go_as_far(std::uint32_t track, std::int64_t end_ns);
  bool is_part() const noexcept;
  void refuse(const std::string& why);
  void warning(const std::string& what);

  std::shared_ptr<const detail::ReadableDirectory> files_;
  std::string file_;
  std::uint64_t end_ = 0;  // end of the events
  std::int64_t process_ = 0;
  bool is_there_ = false;
  std::string refusal_;
  std::map<std::uint32_t, std::uint32_t> thread_of_;  // by track; a further track of a thread refers to the first
  std::map<std::uint32_t, std::int64_t> last_end_;    // end of the last slice, by thread
  std::uint64_t slices_ = 0;
  std::uint64_t damaged_lines_ = 0;
  std::uint64_t dropped_spans_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace cli
TAKT_END_NAMESPACE
