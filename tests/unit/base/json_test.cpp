// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include "base/json_text.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

using takt::detail::Json;
using takt::detail::JsonText;

TEST_CASE("JSON: a value has one kind and is empty when read as another") {
  const Json json = Json::parse(R"({"flag":true,"text":"a","real":1.5,"count":7,"below":-7,"none":null,"list":[1,2]})");
  CHECK(json.is_object());
  CHECK(json.size() == 7);
  CHECK(json.member("flag").boolean());
  CHECK(json.member("flag").count() == 0);
  CHECK(json.member("text").text() == "a");
  CHECK_FALSE(json.member("text").boolean());
  CHECK(json.member("real").number() == 1.5);
  CHECK(json.member("real").integer() == 0);
  CHECK_FALSE(json.member("real").is_integer());
  CHECK(json.member("count").count() == 7);
  CHECK(json.member("count").integer() == 7);
  CHECK(json.member("below").integer() == -7);
  CHECK_FALSE(json.member("below").is_count());
  CHECK(json.has("none"));
  CHECK(json.member("none").is_null());
  CHECK_FALSE(json.has("other"));
  CHECK(json.member("other").is_null());
  CHECK(json.member("list").element(1).count() == 2);
  CHECK_FALSE(json.member("list").has("flag"));
  CHECK(json.member("list").member("flag").is_null());
}

TEST_CASE("JSON: a member outlives its document") {
  const auto taken = [] { return Json::parse(R"({"a":{"b":["long enough to take memory of its own"]}})").member("a"); };
  CHECK(taken().at("/b/0").text() == "long enough to take memory of its own");
}

TEST_CASE("JSON: a pointer to a missing value is empty") {
  const Json json = Json::parse(R"({"a":[{"b":1}]})");
  CHECK(json.at("/a/0/b").count() == 1);
  CHECK(json.at("").is_object());
  for (const char* const pointer : {"/a/1", "/a/b", "/a/0/c", "/a/0/b/c", "/b"}) {
    INFO(pointer);
    CHECK(json.at(pointer).is_null());
  }
  CHECK(Json().at("/a").is_null());
}

TEST_CASE("JSON: invalid text gives no value") {
  for (const char* const text : {"", "{", "[1,]", "nul", "{\"a\":1}x", "\"\xff\""}) {
    INFO(text);
    CHECK(Json::parse(text).is_null());
    CHECK(Json::parse(text, "dropped").is_null());
    CHECK(Json::parse(text).size() == 0);
  }
}

TEST_CASE("JSON: numbers beyond signed 64 bits are clamped") {
  const Json json = Json::parse("[18446744073709551615,-9223372036854775808,1e30]");
  CHECK(json.element(0).integer() == std::numeric_limits<std::int64_t>::max());
  CHECK(json.element(0).count() == std::numeric_limits<std::uint64_t>::max());
  CHECK(json.element(1).integer() == std::numeric_limits<std::int64_t>::min());
  CHECK(json.element(2).integer() == 0);
  CHECK(json.element(2).number() == 1e30);
}

TEST_CASE("JSON: the key of list elements can be omitted") {
  const Json json = Json::parse(R"({"runs":1,"list":[{"runs":[1,2],"a":{"runs":3}}]})", "runs");
  CHECK(json.has("runs"));
  CHECK_FALSE(json.at("/list/0").has("runs"));
  CHECK(json.at("/list/0/a/runs").count() == 3);
}

TEST_CASE("JSON: writes lists as arrays and maps as objects") {
  CHECK(JsonText(std::vector<std::string>{"a", "b"}).text() == R"(["a","b"])");
  CHECK(JsonText(std::array<double, 2>{0.5, 1}).text() == "[0.5,1.0]");
  CHECK(JsonText(std::map<std::string, std::string>{{"b", "1"}, {"a", "2"}}).text() == R"({"a":"2","b":"1"})");
  const JsonText document = {{"list", std::vector<std::uint32_t>{1, 2}}, {"pair", {"a", "b"}}, {"none", JsonText()}};
  CHECK(document.text() == R"({"list":[1,2],"pair":["a","b"],"none":null})");
}

TEST_CASE("JSON: adds members to an object already written") {
  JsonText json = JsonText::raw("{\n\"a\": 1\n}\n");
  json.add("b", true);
  CHECK(json.indented() == "{\n \"a\": 1,\n \"b\": true\n}");
}

TEST_CASE("JSON: indentation keeps order and values") {
  const JsonText json = {{"z", JsonText::raw(R"([1, {"a\"]":9071e4}])")},
                         {"a", JsonText::object()},
                         {"b", JsonText::array()},
                         {"c", "{,: \\"}};
  const std::string indented = json.indented();
  CHECK(indented ==
        "{\n \"z\": [\n  1,\n  {\n   \"a\\\"]\": 9071e4\n  }\n ],\n \"a\": {},\n \"b\": [],\n \"c\": \"{,: \\\\\"\n}");
  CHECK(JsonText::raw("{ \n }").indented() == "{}");
}
