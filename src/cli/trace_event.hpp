// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace cli
TAKT_END_NAMESPACE
