// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace_event.hpp"

#include "base/json.hpp"

#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr std::int64_t kLastNs = std::numeric_limits<std::int64_t>::max();

/// Of microseconds with three decimals, as trace_microseconds() writes them. A double would not hold each nanosecond.
std::optional<std::int64_t> exact_ns(std::string_view text) {
  constexpr std::size_t kDecimals = 3;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.size() - point - 1 != kDecimals) { return std::nullopt; }
  std::string digits(text.substr(0, point));
  digits += text.substr(point + 1);
  std::int64_t ns = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, ns);
  return error == std::errc() && stop == end ? std::optional<std::int64_t>(ns) : std::nullopt;
}

Kind kind_named(std::string_view name) {
  for (const Kind each : {Kind::compute, Kind::comm, Kind::io, Kind::wait}) {
    if (name == to_string(each)) { return each; }
  }
  return Kind::other;
}

/// An event's members, with numbers as they stand there.
struct EventMembers {
  void take(const detail::JsonStop& stop);

  std::optional<std::string> name;
  std::optional<std::string> given;  // by the name that it has in its arguments
  std::string phase;
  std::string category;
  std::optional<std::int64_t> begin_ns;
  std::optional<std::int64_t> duration_ns;
  std::optional<std::int64_t> process;
  std::optional<std::int64_t> track;
  std::optional<std::int64_t> order;
};

void EventMembers::take(const detail::JsonStop& stop) {
  using Stop = detail::JsonStop::Kind;
  if (stop.kind == Stop::text) {
    if (stop.is("", "ph")) { phase = stop.text; }
    if (stop.is("", "cat")) { category = stop.text; }
    if (stop.is("", "name")) { name = stop.text; }
    if (stop.is("/args", "name")) { given = stop.text; }
  } else if (stop.kind == Stop::real) {
    if (stop.is("", "ts")) { begin_ns = exact_ns(stop.text); }
    if (stop.is("", "dur")) { duration_ns = exact_ns(stop.text); }
  } else if (stop.kind == Stop::integer && stop.integer != kLastNs) {  // which stands for what is beyond it, too
    if (stop.is("", "pid")) { process = stop.integer; }
    if (stop.is("", "tid")) { track = stop.integer; }
    if (stop.is("/args", "sort_index")) { order = stop.integer; }
  }
}

/// Whether there is one, and a track can have it.
bool is_number(const std::optional<std::int64_t>& track) {
  return track && *track >= 0 && *track <= std::numeric_limits<std::uint32_t>::max();
}

bool take_slice(EventMembers& members, TraceEvent& event) {
  if (!members.name || !members.begin_ns || !members.duration_ns || !is_number(members.track)) { return false; }
  const std::int64_t begin = *members.begin_ns;
  const std::int64_t length = *members.duration_ns;
  if (length < 0 || (begin > 0 && length > kLastNs - begin)) { return false; }
  event.what = TraceEvent::What::slice;
  event.name = std::move(*members.name);
  event.kind = kind_named(members.category);
  event.begin_ns = begin;
  event.duration_ns = length;
  return true;
}

bool take_metadata(EventMembers& members, TraceEvent& event) {
  const bool is_process = members.name == "process_name";
  if (is_process || members.name == "thread_name") {
    event.what = is_process ? TraceEvent::What::process_name : TraceEvent::What::track_name;
    event.name = members.given.value_or("");
    return members.given && is_number(members.track);
  }
  if (members.name == "thread_sort_index") {
    if (!is_number(members.order) || !is_number(members.track)) { return false; }
    event.what = TraceEvent::What::track_order;
    event.order = static_cast<std::uint32_t>(*members.order);
  }
  return members.name.has_value();
}

}  // namespace

std::optional<TraceEvent> TraceEvent::parse(std::string_view line) {
  if (line.empty() || line.front() != '{') { return std::nullopt; }
  EventMembers members;
  const bool is_json = detail::walk_json(line, [&](const detail::JsonStop& stop) { members.take(stop); });
  if (!is_json || !members.process) { return std::nullopt; }
  TraceEvent event;
  event.process = *members.process;
  if (is_number(members.track)) { event.track = static_cast<std::uint32_t>(*members.track); }
  const bool is_good = members.phase == "X"   ? take_slice(members, event)
                       : members.phase == "M" ? take_metadata(members, event)
                                              : members.phase == "C";
  return is_good ? std::optional<TraceEvent>(std::move(event)) : std::nullopt;
}

}  // namespace cli
TAKT_END_NAMESPACE
