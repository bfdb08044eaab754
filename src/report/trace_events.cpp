// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/trace_events.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string trace_microseconds(std::int64_t ns) {
  const auto magnitude = ns < 0 ? 0U - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return detail::format("{}{}.{:03}", ns < 0 ? "-" : "", magnitude / 1000, magnitude % 1000);
}

std::string trace_metadata(const char* what, std::int64_t process, std::uint32_t track, const JsonText& arguments) {
  return detail::format("{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{}}}", what, process, track,
                        printable_json(arguments.text()));
}

std::string track_names(std::int64_t process, std::uint32_t track, const std::string& name, std::uint32_t order) {
  return trace_metadata("thread_name", process, track, {{"name", name}}) + ",\n" +
         trace_metadata("thread_sort_index", process, track, {{"sort_index", order}});
}

std::string trace_slice(const TraceSlice& slice, std::int64_t process, std::uint32_t track) {
  return detail::format("{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{}}}",
                        printable_json(JsonText(slice.name).text()), slice.category, trace_microseconds(slice.begin_ns),
                        trace_microseconds(slice.duration_ns), process, track);
}

std::string trace_counter(std::string_view name, std::string_view unit, double value, std::int64_t time_ns,
                          std::int64_t process) {
  const JsonText arguments = {{unit.empty() ? std::string_view("value") : unit, value}};
  return detail::format("{{\"name\":{},\"ph\":\"C\",\"ts\":{},\"pid\":{},\"args\":{}}}",
                        printable_json(JsonText(name).text()), trace_microseconds(time_ns), process,
                        printable_json(arguments.text()));
}

std::string trace_tail(const JsonText& other) { return "\n],\"otherData\":" + printable_json(other.text()) + "}\n"; }

}  // namespace detail
TAKT_END_NAMESPACE
