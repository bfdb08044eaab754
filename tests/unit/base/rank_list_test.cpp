// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

TEST_CASE("rank list: a long list ends in dots") {
  std::vector<std::uint32_t> ranks(17);
  std::iota(ranks.begin(), ranks.end(), 0U);
  CHECK(takt::detail::rank_list(ranks) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...");
  ranks.pop_back();
  CHECK(takt::detail::rank_list(ranks) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15");
  CHECK(takt::detail::rank_list({}).empty());
}
