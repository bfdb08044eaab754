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

/// An event of a trace.json of Takt's, exact to the nanosecond. A value.
struct TraceEvent {
  enum class What { slice, process_name, track_name, track_order, other };

  What what = What::other;  ///< `other` has nothing but its process
  std::string name;         ///< of a slice, or that which a process or a track is given
  Kind kind = Kind::other;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;  ///< 0 or more; the end is a time, too
  std::int64_t process = 0;
  std::uint32_t track = 0;
  std::uint32_t order = 0;  ///< the number of a track, by which this one is sorted

  /// \param line may have been written by anybody. None: it is no event as Takt writes them.
  static std::optional<TraceEvent> parse(std::string_view line);
};

/// The regions of a rank as it has written them with a trace: trace.json in its directory, or the .part of one that was
/// killed or goes on. Anybody may have put files there. It is read line by line, and takes as much memory as it has
/// tracks. One thread at a time.
class RecordedTimeLine {
 public:
  using Take = std::function<void(const TraceEvent&)>;

  /// Looks whether there is one. \param run whose it has to be, as the journal beside it says.
  RecordedTimeLine(const RankDirectory& directory, const RunInfo& run);

  /// Whether there is one of this rank's.
  bool is_there() const noexcept { return is_there_; }
  /// Why what lies in its place is not used: "a/trace.json is no file". Printable; empty: it is, or nothing lies there.
  const std::string& refusal() const noexcept { return refusal_; }
  /// "trace.json" or "trace.json.part".
  const std::string& file() const noexcept { return file_; }

  /// Shows its slices, and the names and the order of tracks. REQUIRES: is_there().
  void read(const Take& take);

  // Each after read().

  /// Whether it goes as far as a region of this thread that ends then: such a one is in it.
  bool covers(std::uint32_t thread_id, std::int64_t end_ns) const;
  std::uint64_t slices() const noexcept { return slices_; }
  std::uint64_t damaged_lines() const noexcept { return damaged_lines_; }
  /// Regions that had no room in it, as its end says.
  std::uint64_t dropped_spans() const noexcept { return dropped_spans_; }
  /// What is not in it. Printable.
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
  std::uint64_t end_ = 0;  // where the events end
  std::int64_t process_ = 0;
  bool is_there_ = false;
  std::string refusal_;
  std::map<std::uint32_t, std::uint32_t> thread_of_;  // by track, of which a further one names the first
  std::map<std::uint32_t, std::int64_t> last_end_;    // by thread
  std::uint64_t slices_ = 0;
  std::uint64_t damaged_lines_ = 0;
  std::uint64_t dropped_spans_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace cli
TAKT_END_NAMESPACE
