// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include "support/catch.hpp"

#include <limits>
#include <string>
#include <vector>

using takt::detail::JsonStop;
using takt::detail::walk_json;

namespace {

/// Returns "<path>|<name>=<value>" for each stop.
std::vector<std::string> stops_of(const std::string& text, bool& read) {
  std::vector<std::string> stops;
  read = walk_json(text, [&](const JsonStop& stop) {
    const auto value = [&]() -> std::string {
      switch (stop.kind) {
        case JsonStop::Kind::null:
          return "null";
        case JsonStop::Kind::boolean:
          return stop.integer != 0 ? "true" : "false";
        case JsonStop::Kind::integer:
          return std::to_string(stop.integer);
        case JsonStop::Kind::real:
          return "real " + std::to_string(stop.real);
        case JsonStop::Kind::text:
          return stop.text;
        case JsonStop::Kind::object:
          return "{";
        case JsonStop::Kind::array:
          return "[";
        case JsonStop::Kind::end:
          break;
      }
      return "end";
    };
    stops.push_back(stop.inside + "|" + stop.name + "=" + value());
  });
  return stops;
}

}  // namespace

TEST_CASE("JSON walk: visits values in order, each with its path") {
  bool read = false;
  CHECK(stops_of(R"({"a":{"b/c":[1,-2,[true,null]],"d":"x"},"e":{},"f":0.5})", read) ==
        std::vector<std::string>{"|={", "|a={", "/a|b/c=[", "/a/b~1c|0=1", "/a/b~1c|1=-2", "/a/b~1c|2=[",
                                 "/a/b~1c/2|0=true", "/a/b~1c/2|1=null", "/a/b~1c|2=end", "/a|b/c=end", "/a|d=x",
                                 "|a=end", "|e={", "|e=end", "|f=real 0.500000", "|=end"});
  CHECK(read);
  CHECK(stops_of("7", read) == std::vector<std::string>{"|=7"});
  CHECK(read);
  CHECK(stops_of("18446744073709551615", read) ==
        std::vector<std::string>{"|=" + std::to_string(std::numeric_limits<std::int64_t>::max())});
}

TEST_CASE("JSON walk: rejects text that is not JSON") {
  for (const char* const text : {"", "{", "{\"a\":NaN}", "<html>", "{} {}", "[1,]", "\"\xFF\""}) {
    bool read = true;
    stops_of(text, read);
    INFO(text);
    CHECK_FALSE(read);
  }
}
