// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/json_text.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Parts of a Chrome trace-event file, as text. All: any thread.

/// Text before the first event; events are separated by commas.
inline constexpr std::string_view kTraceHead = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";

/// An interval on a track.
struct TraceSlice {
  std::string_view name;
  const char* category;
  std::int64_t begin_ns;
  std::int64_t duration_ns;
};

/// Formats microseconds with three decimals, which keeps every nanosecond.
std::string trace_microseconds(std::int64_t ns);
/// Returns a metadata event of a process or track.
std::string trace_metadata(const char* what, std::int64_t process, std::uint32_t track, const JsonText& arguments);
/// Returns the events that set a track's name and order.
std::string track_names(std::int64_t process, std::uint32_t track, const std::string& name, std::uint32_t order);
std::string trace_slice(const TraceSlice& slice, std::int64_t process, std::uint32_t track);
/// Returns a point of the curve with that name. \param unit may be empty. \param value finite.
std::string trace_counter(std::string_view name, std::string_view unit, double value, std::int64_t time_ns,
                          std::int64_t process);
/// Returns the text after the last event.
std::string trace_tail(const JsonText& other);

/// Lanes of one time-line track. Viewers require that spans within a lane are disjoint or nested, so overlapping spans
/// use the next lane. A lane keeps at most kMax outermost spans; beyond that, those between the oldest and newest are
/// merged into one, which no span can cross. Not thread-safe.
class TrackLanes {
 public:
  static constexpr std::size_t kMax = 16'384;  ///< outermost spans per lane
  static constexpr std::uint32_t kMaxLanes = 256;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Returns the lane of a span: 0 is the usual one, kNone if there are too many. Lanes are shared optimally if spans
  /// arrive by end time, inner ones first on ties; a late span may get another lane.
  /// \throws std::bad_alloc
  std::uint32_t place(std::int64_t begin_ns, std::int64_t end_ns);

 private:
  struct Stretch {
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  class Lane {
   public:
    bool take(Stretch span);

   private:
    void shorten();

    std::vector<Stretch> outermost_;  // in order, disjoint
  };

  std::vector<Lane> lanes_;
};

/// A point of a curve on a time line.
struct CounterValue {
  std::string track;  ///< "cuda 0 power"
  const char* unit;   ///< "W"
  double value;
};

/// Makes curves of samples; counters become rates. Not thread-safe.
class CounterTracks {
 public:
  /// Returns the values of the sensor's next sample; none if the sensor is unknown.
  std::vector<CounterValue> values(const Snapshot& snapshot, const Sample& sample);

 private:
  std::map<std::uint32_t, Sample> last_;  // by sensor
};

}  // namespace detail
TAKT_END_NAMESPACE
