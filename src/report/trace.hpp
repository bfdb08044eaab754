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

// The parts of a file of Chrome's trace events, as text. All: any thread.

/// What stands in front of the first event; between two of them stands a comma.
inline constexpr std::string_view kTraceHead = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";

/// A stretch of time on a track.
struct TraceSlice {
  std::string_view name;
  const char* category;
  std::int64_t begin_ns;
  std::int64_t duration_ns;
};

/// The format counts in microseconds; three decimals keep every nanosecond.
std::string trace_microseconds(std::int64_t ns);
/// An event that says something of a process or a track.
std::string trace_metadata(const char* what, std::int64_t process, std::uint32_t track, const JsonText& arguments);
/// The events that give a track its name and its place.
std::string track_names(std::int64_t process, std::uint32_t track, const std::string& name, std::uint32_t order);
std::string trace_slice(const TraceSlice& slice, std::int64_t process, std::uint32_t track);
/// A point of the curve of that name. \param unit may be empty. \param value finite.
std::string trace_counter(std::string_view name, std::string_view unit, double value, std::int64_t time_ns,
                          std::int64_t process);
/// What stands behind the last event.
std::string trace_tail(const JsonText& other);

/// The lanes of one track of a time line: within a lane, spans lie apart or one inside the other, as viewers want it.
/// What overlaps goes to the next lane. A lane remembers its outermost spans, at most kMax; between the oldest and the
/// newest of these the others become one, across which nothing can reach. One thread at a time.
class TrackLanes {
 public:
  static constexpr std::size_t kMax = 16'384;  ///< stretches of a lane
  static constexpr std::uint32_t kMaxLanes = 256;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The lane of a span: 0 is the usual one, kNone where there are too many. Where spans come in the order of their
  /// ends, and of those that end together the inner ones first, those that can share a lane do; a span that comes late
  /// may get another one.
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

    std::vector<Stretch> outermost_;  // in order, apart
  };

  std::vector<Lane> lanes_;
};

/// A point of a curve on a time line.
struct CounterValue {
  std::string track;  ///< "cuda 0 power"
  const char* unit;   ///< "W"
  double value;
};

/// Makes curves of samples: what counts up is told as how fast it does. One thread at a time.
class CounterTracks {
 public:
  /// Of the next sample of its meter; without a meter, none.
  std::vector<CounterValue> values(const Snapshot& snapshot, const Sample& sample);

 private:
  std::map<std::uint32_t, Sample> last_;  // by meter
};

}  // namespace detail
TAKT_END_NAMESPACE
