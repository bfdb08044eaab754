// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder.hpp"

#include "support/catch.hpp"

using takt::detail::ToldRegions;
using takt::detail::Tree;

TEST_CASE("ToldRegions: what listeners were told of a region is taken once") {
  ToldRegions told;
  REQUIRE(told.add(70, 5));
  REQUIRE(told.add(71, 255));
  REQUIRE(told.take(72) == 0);
  REQUIRE(told.take(71) == 255);
  REQUIRE(told.take(71) == 0);
  REQUIRE(told.take(70) == 5);
}

TEST_CASE("ToldRegions: there is room for as many as are timed, and again for what was taken") {
  ToldRegions told;
  for (unsigned id = 1; id <= Tree::kMaxDepth; ++id) { REQUIRE(told.add(id, 1)); }
  REQUIRE(!told.add(100, 1));
  REQUIRE(told.take(100) == 0);
  REQUIRE(told.take(7) == 1);
  REQUIRE(told.add(100, 2));
  REQUIRE(told.take(100) == 2);
  told.forget();
  REQUIRE(told.take(8) == 0);
  for (unsigned id = 1; id <= Tree::kMaxDepth; ++id) { REQUIRE(told.add(id, 1)); }
}
