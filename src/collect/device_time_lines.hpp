// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "collect/host_offset.hpp"
#include "collect/step_overlap.hpp"
#include "record/outbox.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The time lines of the devices of this process, and what their spans say of steps: takes spans that have resolved,
/// places them on the host's time line, and keeps those of a step until its row is whole. Times of the host are on the
/// clock of the process. One thread at a time (Registry's collect lock).
class DeviceTimeLines {
 public:
  static constexpr std::size_t kLines = 64;
  static constexpr std::size_t kStreams = 1024;         ///< tracks; spans of further ones are not placed
  static constexpr std::size_t kSpansOfSteps = 65'536;  ///< that wait for their rows; nothing is said of steps beyond
  static constexpr std::uint64_t kMaxLag = 1024;        ///< rows that may be whole before one that is older

  /// A span that is to be placed, as soon as nothing more of this collection is to come.
  struct Waiting {
    DeviceSpanRecord record;
    std::uint32_t line = 0;
    std::uint32_t stream = 0;
  };

  /// \param kind of the span's key.
  void add(const DeviceSpanRecord& record, Kind kind);
  /// Spans on the host's time line, of all that were added since the last call.
  /// \param take is given each, as (record, stream, begin_ns, end_ns).
  template <class Take>
  void place(Take take) {
    for (Line& line : lines_) { line.offset.settle(); }
    for (const Waiting& each : waiting_) {
      const Place place = place_of(each);
      take(each.record, each.stream, place.begin_ns, place.end_ns);
    }
    waiting_.clear();
  }

  /// NTP may slew the clock of the process from now on: bounds allow for that.
  void host_may_be_slewed();
  /// A row that lacks nothing leaves: what its spans say, one a device.
  /// \param spans how many there have to be; with another number of them, nothing is said.
  std::vector<Overlap> step(std::uint32_t series, std::uint64_t row, std::uint32_t spans);
  /// A row leaves that lacks something.
  void leave_out(std::uint32_t series, std::uint64_t row);

  std::size_t bytes() const noexcept { return waiting_.size() * sizeof(Waiting); }
  /// The time lines and their streams.
  void read(Snapshot& snapshot) const;
  /// Spans without a place, by the name of their backend.
  const std::map<std::string, std::uint64_t>& unplaced() const noexcept { return unplaced_; }

 private:
  using RowId = std::pair<std::uint32_t, std::uint64_t>;  // series and row
  struct Line {
    const void* id = nullptr;
    std::uint32_t streams = 0;
    TimeLineInfo info;
    HostOffset offset;
  };
  struct StreamId {
    std::uint32_t line;
    const void* stream;
    friend bool operator<(const StreamId& a, const StreamId& b) noexcept {
      return std::make_pair(a.line, a.stream) < std::make_pair(b.line, b.stream);
    }
  };
  struct OfStep {
    std::uint32_t line;
    PlacedSpan span;
  };
  struct Place {
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };

  bool find_line(const DeviceSpanRecord& record, std::uint32_t& line);
  bool find_stream(std::uint32_t line, const DeviceSpanRecord& record, std::uint32_t& stream);
  Place place_of(const Waiting& waiting);
  void add_to_step(const DeviceSpanRecord& record, const OfStep& of_step);
  std::vector<OfStep> take_step(const RowId& row);

  std::vector<Line> lines_;
  bool is_slewed_ = false;
  std::map<StreamId, std::uint32_t> numbers_;                           // of streams on their devices
  std::map<std::pair<StreamId, std::uint32_t>, std::uint32_t> tracks_;  // with the thread: index into streams_
  std::vector<StreamInfo> streams_;
  std::vector<Waiting> waiting_;
  std::map<RowId, std::vector<OfStep>> steps_;
  std::size_t spans_of_steps_ = 0;
  std::map<std::string, std::uint64_t> unplaced_;
};

}  // namespace detail
TAKT_END_NAMESPACE
