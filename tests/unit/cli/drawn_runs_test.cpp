// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff_page.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <string>

using takt::cli::DrawnRuns;

namespace {

/// Whether the run is drawn.
bool draw(DrawnRuns& drawn, const std::string& name) {
  return static_cast<bool>(drawn.taker({name, {name + "/rank-0"}}, false));
}

}  // namespace

TEST_CASE("a copy of a run takes no place on the page of a comparison") {
  DrawnRuns drawn;
  CHECK(draw(drawn, "0"));
  CHECK(draw(drawn, "copy of 0"));
  drawn.drop_last();
  REQUIRE(drawn.runs().size() == 1);
  CHECK(drawn.runs()[0].name == "0");
  for (std::size_t run = 1; run < DrawnRuns::kMostOfASide; ++run) { CHECK(draw(drawn, std::to_string(run))); }
  CHECK_FALSE(draw(drawn, "one too many"));
  CHECK(drawn.left_out() == 1);
  CHECK_FALSE(draw(drawn, "copy of 0"));
  drawn.drop_last();
  CHECK(drawn.left_out() == 1);
  CHECK(drawn.runs().size() == DrawnRuns::kMostOfASide);
}
