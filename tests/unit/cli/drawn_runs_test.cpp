// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff_page.hpp"

#include "cli/commands.hpp"
#include "cli/diff.hpp"
#include "support/catch.hpp"
#include "support/rank_directories.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

using namespace takt_test;
using takt::cli::DrawnRuns;

TEST_CASE("the page of a comparison draws the first runs of each side and counts the others") {
  const RankDirectories directories(1, 1);
  DrawnRuns drawn;
  for (std::size_t run = 0; run < DrawnRuns::kMaxOfASide; ++run) {
    drawn.add(std::to_string(run), directories.directory(0), false);
    CHECK(drawn.left_out() == 0);
  }
  drawn.add("one too many", directories.directory(0), false);
  drawn.add("new", directories.directory(0), true);
  CHECK(drawn.left_out() == 1);
  REQUIRE(drawn.runs().size() == DrawnRuns::kMaxOfASide + 1);
  CHECK(drawn.runs().front().name == "0");
  CHECK(drawn.runs().back().is_new);
  CHECK(drawn.runs().back().history.series().size() == 1);
}

TEST_CASE("the page of a comparison draws the first rank of the final attempt") {
  RankDirectories directories(2, 2);
  for (int rank = 0; rank < 2; ++rank) {
    takt::Snapshot again = snapshot_of_rank(rank, 2, RankState::ended, 1);
    again.run.start_unix_ns += 200'000'000'000;
    directories.add(again);
  }
  std::vector<std::string> warnings;
  const auto runs = takt::cli::compared_runs({directories.run(), takt::cli::ranks_in(directories.run())}, warnings);
  CHECK(warnings.empty());
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].figures.ranks == 2);
  CHECK(runs[0].first.path() == directories.directory(0, 1));
}
