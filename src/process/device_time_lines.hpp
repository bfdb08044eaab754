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

/// Converts device times to host times, with an error bound. Needs no synchronisation: each event started on the device
/// after the host submitted it, and ended before the host saw it complete. The tightest two bounds of each second of
/// the last minute are extrapolated to any time, with the clock rates that the bounds allow. The result is the middle
/// of the possible range. (Two-sided bounds as in clock synchronisation of traces: Duda, Harrus, Haddad, Bernard,
/// "Estimating global time in distributed systems", ICDCS 1987.)
/// The error bound rests on two assumptions: the clocks' rates differ by at most kMaxPpm, and deviate by at most
/// kWanderPpm from their mean within a minute. A host clock that NTP may slew differs by up to kSlewPpm more, and its
/// rate may change. If the bounds disprove the second assumption, it is dropped while they are kept. Pure arithmetic;
/// times in ns. Not thread-safe.
class HostOffset {
 public:
  static constexpr double kMaxPpm = 200;   ///< quartz is within 100 ppm
  static constexpr double kWanderPpm = 1;  ///< drift by temperature in a minute, plus the anchors' rounding (0.06 ppm)
  static constexpr double kSlewPpm = 500;  ///< kernel limit for NTP slew of CLOCK_MONOTONIC
  static constexpr double kResolutionNs = 500;  ///< of events, as documented for CUDA
  static constexpr double kWindowNs = 1e9;
  static constexpr unsigned kWindows = 60;
  static constexpr std::size_t kKnots = 4096;

  /// Adds an event at `device_ns`: the host submitted it at `submitted_ns` or later, and saw it complete at `seen_ns`
  /// or earlier.
  void add(double device_ns, std::uint64_t submitted_ns, std::uint64_t seen_ns);
  /// Fixes at() for everything added so far. The result joins the earlier one without a jump, so that spans of a stream
  /// stay in order. A large correction is spread over time, and until then is part of the error.
  void settle();

  struct Time {
    double host_ns = 0;
    double error_ns = 0;  ///< maximum of |host_ns - true time|
  };
  /// Returns the host time at `device_ns`. Call settle() before.
  Time at(double device_ns) const;

  /// Allows for NTP slew of the host's clock from now on.
  void host_may_be_slewed();

 private:
  struct Bound {
    double device_ns = 0;
    double host_ns = 0;
  };
  struct Window {
    std::int64_t number = std::numeric_limits<std::int64_t>::min();  // number of the second; the minimum: empty
    Bound lower;                                                     // minimum of the host time
    Bound upper;                                                     // maximum of the host time
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
  mutable Rates rates_;  // valid if are_rates_found_
  mutable bool are_rates_found_ = false;
  double rate_ = 1;  // estimated rate, to compare bounds within a window
  bool has_new_ = false;
  double oldest_ns_ = 0;  // oldest time since settle()
  double newest_ns_ = 0;
  std::deque<Knot> knots_;
};

/// The device time lines of this process. Takes resolved spans, places them on the host's time line, and keeps the
/// spans of each step until its row is complete, to compute overlaps. Host times are on the process's clock. Not
/// thread-safe (Registry's collect lock).
class DeviceTimeLines {
 public:
  static constexpr std::size_t kLines = 64;
  static constexpr std::size_t kStreams = 1024;  ///< maximum number of tracks; spans on further ones are not placed
  static constexpr std::size_t kSpansOfSteps = 65'536;  ///< spans waiting for rows; further steps get no overlaps
  static constexpr std::uint64_t kMaxLag = 1024;        ///< rows that may complete before an older one

  /// A span to be placed once all spans of this collection have arrived.
  struct Waiting {
    DeviceSpanRecord record;
    std::uint32_t line = 0;
    std::uint32_t stream = 0;
  };

  /// \param kind kind of the span's key.
  void add(const DeviceSpanRecord& record, Kind kind);
  /// Places all spans added since the last call on the host's time line.
  /// \param take is called with (record, stream, begin_ns, end_ns) for each.
  template <class Take>
  void place(Take take) {
    for (Line& line : lines_) { line.offset.settle(); }
    for (const Waiting& each : waiting_) {
      const Place place = place_of(each);
      take(each.record, each.stream, place.begin_ns, place.end_ns);
    }
    waiting_.clear();
  }

  /// Allows for NTP slew of the process's clock from now on.
  void host_may_be_slewed();
  /// Returns the overlaps of a complete row, one per device.
  /// \param spans expected number of spans; with another number the result is empty.
  std::vector<Overlap> step(std::uint32_t series, std::uint64_t row, std::uint32_t spans);
  /// Discards the spans of an incomplete row.
  void leave_out(std::uint32_t series, std::uint64_t row);

  std::size_t bytes() const noexcept { return waiting_.size() * sizeof(Waiting); }
  /// Adds the time lines and their streams to the snapshot.
  void read(Snapshot& snapshot) const;
  /// Returns the numbers of unplaced spans, by backend name.
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
  std::map<StreamId, std::uint32_t> numbers_;                           // stream numbers on their devices
  std::map<std::pair<StreamId, std::uint32_t>, std::uint32_t> tracks_;  // stream and thread -> index into streams_
  std::vector<StreamInfo> streams_;
  std::vector<Waiting> waiting_;
  std::map<RowId, std::vector<OfStep>> steps_;
  std::size_t spans_of_steps_ = 0;
  std::map<std::string, std::uint64_t> unplaced_;
};

}  // namespace detail
TAKT_END_NAMESPACE
