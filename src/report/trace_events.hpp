// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/json_text.hpp"

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace detail
TAKT_END_NAMESPACE
