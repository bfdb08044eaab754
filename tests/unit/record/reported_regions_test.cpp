// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder.hpp"

#include "support/catch.hpp"

using takt::detail::ReportedRegions;
using takt::detail::Tree;

TEST_CASE("ReportedRegions: returns the listeners of a region once") {
  ReportedRegions reported;
  REQUIRE(reported.add(70, 5));
  REQUIRE(reported.add(71, 255));
  REQUIRE(reported.take(72) == 0);
  REQUIRE(reported.take(71) == 255);
  REQUIRE(reported.take(71) == 0);
  REQUIRE(reported.take(70) == 5);
}

TEST_CASE("ReportedRegions: holds as many regions as are timed, and reuses space") {
  ReportedRegions reported;
  for (unsigned id = 1; id <= Tree::kMaxDepth; ++id) { REQUIRE(reported.add(id, 1)); }
  REQUIRE(!reported.add(100, 1));
  REQUIRE(reported.take(100) == 0);
  REQUIRE(reported.take(7) == 1);
  REQUIRE(reported.add(100, 2));
  REQUIRE(reported.take(100) == 2);
  reported.forget();
  REQUIRE(reported.take(8) == 0);
  for (unsigned id = 1; id <= Tree::kMaxDepth; ++id) { REQUIRE(reported.add(id, 1)); }
}
