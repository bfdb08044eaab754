// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mantik.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <string>

using takt::detail::MantikTokens;
using takt::detail::parse_mantik_answer;
using takt::detail::parse_mantik_cache;

TEST_CASE("Mantik tokens: reads and writes the file of Mantik's Python client") {
  // As written by json.dump() of Python.
  const std::string python =
      R"({"access_token": "a.b.c", "refresh_token": "r", "expires_at": "2022-05-24T09:40:19+00:00"})";
  MantikTokens tokens;
  REQUIRE(parse_mantik_cache(python, tokens));
  CHECK(tokens.access == "a.b.c");
  CHECK(tokens.refresh == "r");
  CHECK(tokens.expires_unix_s == 1'653'385'219);
  // The client makes an object of exactly these three.
  CHECK(takt::detail::format_mantik_cache(tokens) ==
        R"({"access_token":"a.b.c","refresh_token":"r","expires_at":"2022-05-24T09:40:19+00:00"})");
}

TEST_CASE("Mantik tokens: a time without an offset is in UTC") {
  const auto [text, unix_s] = GENERATE(table<std::string, std::int64_t>({{"2022-05-24T09:40:19", 1'653'385'219},
                                                                         {"2022-05-24 09:40:19Z", 1'653'385'219},
                                                                         {"2022-05-24T09:40:19.987654", 1'653'385'219},
                                                                         {"2022-05-24T11:40:19+02:00", 1'653'385'219},
                                                                         {"2022-05-24T05:10:19-0430", 1'653'385'219},
                                                                         {"1970-01-01T00:00:00+00:00", 0}}));
  MantikTokens tokens;
  INFO(text);
  REQUIRE(parse_mantik_answer(R"({"AccessToken":"a","RefreshToken":"r","ExpiresAt":")" + text + "\"}", tokens));
  CHECK(tokens.expires_unix_s == unix_s);
}

TEST_CASE("Mantik tokens: refuses invalid tokens and those that would break a header") {
  const auto* const body = GENERATE(
      "", "{", "[]", "null", "<html>", R"({"AccessToken":"a"})",
      R"({"AccessToken":"","ExpiresAt":"2022-05-24T09:40:19"})",
      R"({"AccessToken":1,"ExpiresAt":"2022-05-24T09:40:19"})", R"({"AccessToken":"a","ExpiresAt":"soon"})",
      R"({"AccessToken":"a","ExpiresAt":"2022-05-24"})", R"({"AccessToken":"a","ExpiresAt":"2022-05-24T09:40:19+x"})",
      R"({"AccessToken":"a\r\nX-Header: b","ExpiresAt":"2022-05-24T09:40:19"})");
  MantikTokens tokens;
  INFO(body);
  CHECK_FALSE(parse_mantik_answer(body, tokens));
}

TEST_CASE("Mantik tokens: an access token names its user unless that is only an id") {
  using takt::detail::mantik_user_of;
  // {"sub":"0b-1","username":"ada"}, {"sub":"0b-1","username":"0b-1"}, {"sub":"0b-1"}
  CHECK(mantik_user_of("e30.eyJzdWIiOiIwYi0xIiwidXNlcm5hbWUiOiJhZGEifQ.x") == "ada");
  CHECK(mantik_user_of("e30.eyJzdWIiOiIwYi0xIiwidXNlcm5hbWUiOiIwYi0xIn0.x").empty());
  CHECK(mantik_user_of("e30.eyJzdWIiOiIwYi0xIn0.x").empty());
  CHECK(mantik_user_of("opaque").empty());
  CHECK(mantik_user_of("a.b.c").empty());
}
