// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json_text.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

using takt::detail::JsonText;

TEST_CASE("JSON: a rounded number takes few characters") {
  const auto text = [](double number, int digits) { return JsonText::rounded(number, digits).text(); };
  CHECK(text(0, 4) == "0");
  CHECK(text(-0.0, 4) == "0");
  CHECK(text(90712345, 4) == "9071e4");
  CHECK(text(90000000, 4) == "9e7");
  CHECK(text(1234, 4) == "1234");
  CHECK(text(12345, 4) == "12340");
  CHECK(text(900, 4) == "900");
  CHECK(text(99999, 4) == "1e5");
  CHECK(text(0.123456, 3) == "123e-3");
  CHECK(text(-1.5, 4) == "-15e-1");
  CHECK(text(7, 1) == "7");
}

TEST_CASE("JSON: a rounded number is the nearest one with that many digits") {
  takt_test::Random random(takt_test::test_seed());
  for (int at = 0; at < 2000; ++at) {
    const double number = (random.uniform() - 0.5) * std::pow(10, static_cast<double>(random.below(600)) - 300);
    INFO(number);
    const double read = nlohmann::json::parse(JsonText::rounded(number, 5).text()).get<double>();
    CHECK(std::abs(read - number) <= 0.5e-4 * std::abs(number));
  }
}
