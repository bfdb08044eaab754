// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/step_overlap.hpp"
#include "record/outbox.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Turns times of a device into times of the host, and says how far off they may be. Nothing is synchronised for it:
/// the host gave an event to the device before the device came to it, and saw it finished after. These two bounds of
/// every event, the tightest of each second of the last minute, are carried to any time by what the same bounds leave
/// of the clocks' rates: what is possible lies between, and its middle is the answer. (Two-sided bounds as in clock
/// synchronisation of traces: Duda, Harrus, Haddad, Bernard, "Estimating global time in distributed systems", ICDCS
/// 1987.)
///
/// The bound rests on two assumptions: the clocks' rates differ by at most kMaxPpm, and in a minute by kWanderPpm
/// from their mean. A host's clock that NTP may slew differs by up to kSlewPpm more, and holds no rate. Where bounds
/// tell that the second assumption does not hold, it is not made for as long as they are kept. Pure arithmetic; times
/// in ns. One thread at a time.
class HostOffset {
 public:
  static constexpr double kMaxPpm = 200;   ///< quartz is within 100 ppm
  static constexpr double kWanderPpm = 1;  ///< a minute's change by temperature, and the anchors' rounding (0.06 ppm)
  static constexpr double kSlewPpm = 500;  ///< by which the kernel lets NTP slew CLOCK_MONOTONIC
  static constexpr double kResolutionNs = 500;  ///< of events, by the documentation of CUDA
  static constexpr double kWindowNs = 1e9;
  static constexpr unsigned kWindows = 60;
  static constexpr std::size_t kKnots = 4096;

  /// An event at `device_ns` was recorded by the host at `submitted_ns` or later, and seen finished at `seen_ns` or
  /// earlier.
  void add(double device_ns, std::uint64_t submitted_ns, std::uint64_t seen_ns);
  /// From here on at() is settled for all that has been added. It is joined to what was settled before, without a
  /// step, so that spans of one stream stay in order; a large correction takes some time, and is in the bound for so
  /// long.
  void settle();

  struct Time {
    double host_ns = 0;
    double error_ns = 0;  ///< |host_ns - what it was| is at most so much
  };
  /// After settle(): the host's time at `device_ns`.
  Time at(double device_ns) const;

  /// The host's clock is one that NTP may slew, from now on or all the time.
  void host_may_be_slewed();

 private:
  struct Bound {
    double device_ns = 0;
    double host_ns = 0;
  };
  struct Window {
    std::int64_t number = std::numeric_limits<std::int64_t>::min();  // of the second; so: none
    Bound lower;                                                     // the host's time then is at least this
    Bound upper;                                                     // and at most this
  };
  struct Rates {
    double min = 0;
    double max = 0;
  };
  struct Knot {
    double device_ns = 0;
    double host_ns = 0;
    double error_ns = 0;
  };
  static double carried(const Bound& from, double device_ns, double rate_ahead, double rate_back);
  bool is_tighter(const Bound& a, const Bound& b) const;
  bool is_recent(const Window& window) const;
  Rates rates() const;
  Rates find_rates() const;
  Knot estimate(double device_ns) const;
  void join(Knot knot);

  std::array<Window, kWindows> window_;
  double max_ppm_ = kMaxPpm;
  double wander_ppm_ = kWanderPpm;
  mutable Rates rates_;  // where they are found
  mutable bool are_rates_found_ = false;
  double rate_ = 1;  // about; for telling which bound of a window is the tighter one
  bool has_new_ = false;
  double oldest_ns_ = 0;  // of what is new
  double newest_ns_ = 0;
  std::deque<Knot> knots_;
};

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
