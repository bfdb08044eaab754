// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/recorded_time_line.hpp"

#include "report/trace.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

using takt::cli::TraceEvent;
using What = TraceEvent::What;

namespace {

std::string slice_line(const std::string& begin, const std::string& length, const std::string& track = "7") {
  return R"({"name":"IO","cat":"io","ph":"X","ts":)" + begin + R"(,"dur":)" + length + R"(,"pid":1,"tid":)" + track +
         "}";
}

}  // namespace

TEST_CASE("Trace event: restores a slice to the nanosecond for any name") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::int64_t begin = GENERATE(as<std::int64_t>{}, 0, 1, 999, -1'001, 9'007'199'254'740'993, kMax - 5,
                                      std::numeric_limits<std::int64_t>::min());
  const std::string name = GENERATE("Batch", "", "a\",\"ph\":\"M", "\x1b[2J\n\xe2\x80\xae", "\xc3\xa9 \\ /");
  const takt::detail::TraceSlice slice = {name, to_string(takt::Kind::comm), begin, 5};
  const std::optional<TraceEvent> found = TraceEvent::parse(takt::detail::trace_slice(slice, 4711, 2'000'001));
  REQUIRE(found);
  CHECK(found->what == What::slice);
  CHECK(found->name == name);
  CHECK(found->kind == takt::Kind::comm);
  CHECK(found->begin_ns == begin);
  CHECK(found->duration_ns == 5);
  CHECK(found->process == 4711);
  CHECK(found->track == 2'000'001);
}

TEST_CASE("Trace event: reads names and the order of tracks") {
  const auto parsed = [](const char* what, const takt::detail::JsonText& arguments) {
    return TraceEvent::parse(takt::detail::trace_metadata(what, 1, 3, arguments));
  };
  const std::optional<TraceEvent> track = parsed("thread_name", {{"name", "main (2)"}});
  REQUIRE(track);
  CHECK(track->what == What::track_name);
  CHECK(track->name == "main (2)");
  const std::optional<TraceEvent> order = parsed("thread_sort_index", {{"sort_index", 9}});
  REQUIRE(order);
  CHECK(order->what == What::track_order);
  CHECK((order->track == 3 && order->order == 9));
  CHECK(parsed("process_name", {{"name", "digits rank 3"}})->what == What::process_name);
  CHECK(parsed("process_sort_index", {{"sort_index", 1}})->what == What::other);
  CHECK(TraceEvent::parse(takt::detail::trace_counter("power", "W", 1.5, 0, 1))->what == What::other);
  CHECK_FALSE(parsed("thread_name", {{"nom", "main"}}));
  CHECK_FALSE(parsed("thread_name", {{"name", takt::detail::JsonText{{"name", "deeper"}}}}));
  CHECK_FALSE(parsed("thread_sort_index", {{"sort_index", -1}}));
}

TEST_CASE("Trace event: ignores what Takt does not write") {
  CHECK(TraceEvent::parse(slice_line("1.500", "2.000")));
  for (const char* const number : {"1", "1.5", "1.5000", "1e5.000", "1.1e5", "\"1.500\"", "null", "[1.500]",
                                   "9223372036854775.808", "99999999999999999999.000"}) {
    INFO(number);
    CHECK_FALSE(TraceEvent::parse(slice_line(number, "2.000")));
    CHECK_FALSE(TraceEvent::parse(slice_line("1.500", number)));
  }
  CHECK_FALSE(TraceEvent::parse(slice_line("1.500", "-0.001")));
  CHECK_FALSE(TraceEvent::parse(slice_line("9223372036854775.807", "0.001")));
  for (const char* const track : {"-1", "4294967296", "1.000", "18446744073709551615"}) {
    CHECK_FALSE(TraceEvent::parse(slice_line("1.500", "2.000", track)));
  }
  const std::string whole = slice_line("1.500", "2.000");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK_FALSE(TraceEvent::parse(whole.substr(0, length)));
  }
  CHECK_FALSE(TraceEvent::parse(whole + whole));
  CHECK_FALSE(TraceEvent::parse("[" + whole + "]"));
  CHECK_FALSE(TraceEvent::parse(std::string(100'000, '[')));
  CHECK_FALSE(TraceEvent::parse("{\"name\":\"\xff\",\"ph\":\"C\",\"pid\":1}"));
  CHECK_FALSE(TraceEvent::parse(R"({"name":"B","ph":"B","ts":1.000,"pid":1,"tid":1})"));
}

TEST_CASE("Trace event: an unknown kind becomes other") {
  const std::string line = slice_line("1.500", "2.000");
  const std::optional<TraceEvent> found =
      TraceEvent::parse(std::string(line).replace(line.find("\"io\""), 4, R"("a\",\"x")"));
  REQUIRE(found);
  CHECK(found->kind == takt::Kind::other);
}
