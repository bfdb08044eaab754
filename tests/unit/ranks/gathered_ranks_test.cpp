// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/gathered_ranks.hpp"

#include <takt/error.hpp>

#include "ranks/packed_record.hpp"
#include "ranks/rank_record.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

using takt::detail::GatheredRanks;
using Ranks = std::vector<std::uint32_t>;

namespace {

GatheredRanks part_of(std::uint32_t rank) {
  takt::RankRecord record;
  takt::Summary summary;
  summary.add(100 * (rank + 1));
  takt::detail::add_rank(record.wall, rank, 1000 + rank);
  takt::detail::add_path(record, rank, {"Batch"}, takt::Kind::other, summary, {});
  return {{{rank, "of rank " + std::to_string(rank)}}, takt::detail::pack(record)};
}

Ranks numbers_in(const GatheredRanks& part) {
  Ranks numbers;
  for (const GatheredRanks::Rank& each : part.ranks) {
    CHECK(each.bytes == "of rank " + std::to_string(each.number));
    numbers.push_back(each.number);
  }
  return numbers;
}

}  // namespace

TEST_CASE("Job part: the tree reaches each rank once in ceil(log2) steps") {
  for (const std::uint32_t size : {1U, 2U, 3U, 5U, 7U, 31U, 64U, 100U}) {
    std::vector<int> reached(size);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (const std::uint32_t child : takt::detail::children_of(rank, size)) {
        CHECK(takt::detail::parent_of(child) == rank);
        ++reached[child];
      }
      std::uint32_t steps = 0;
      for (std::uint32_t at = rank; at != 0; at = takt::detail::parent_of(at)) { ++steps; }
      CHECK((1U << steps) <= 2 * size - 1);
    }
    CHECK(reached[0] == 0);
    for (std::uint32_t rank = 1; rank < size; ++rank) { CHECK(reached[rank] == 1); }
  }
}

TEST_CASE("Job part: parts add up and a duplicate rank is refused") {
  GatheredRanks sum = part_of(3);
  merge_into(sum, part_of(0));
  merge_into(sum, part_of(5));
  CHECK(numbers_in(sum) == Ranks{0, 3, 5});
  CHECK(takt::detail::ranks_in(sum.record) == 3);
  CHECK(takt::detail::unpack(sum.record).paths.at({"Batch"}).host.n() == 3);
  CHECK(takt::detail::missing_from(sum, 7) == Ranks{1, 2, 4, 6});
  CHECK(has_rank(sum, 3));
  CHECK_FALSE(has_rank(sum, 4));
  const std::string before = pack(sum);
  CHECK_THROWS_WITH(merge_into(sum, part_of(3)), "duplicate rank");
  GatheredRanks damaged = part_of(4);
  damaged.record.back() = static_cast<char>(damaged.record.back() + 1);
  CHECK_THROWS_AS(merge_into(sum, damaged), takt::Error);
  CHECK((pack(sum) == before));
}

TEST_CASE("Job part: any order gives the same bytes") {
  GatheredRanks up = part_of(0);
  GatheredRanks down = part_of(9);
  for (std::uint32_t rank = 1; rank < 10; ++rank) { merge_into(up, part_of(rank)); }
  for (std::uint32_t rank = 9; rank-- > 0;) { merge_into(down, part_of(rank)); }
  CHECK((pack(up) == pack(down)));
}

TEST_CASE("Job part: bytes are restored and invalid ones refused") {
  GatheredRanks sum = part_of(2);
  merge_into(sum, part_of(1));
  const std::string bytes = pack(sum);
  const GatheredRanks back = takt::detail::unpack_gathered(bytes);
  CHECK(numbers_in(back) == Ranks{1, 2});
  CHECK((pack(back) == bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(takt::detail::unpack_gathered(bytes.substr(0, size)), takt::Error);
  }
  CHECK_THROWS_AS(takt::detail::unpack_gathered(bytes + "x"), takt::Error);
  GatheredRanks lying = part_of(1);
  lying.ranks.push_back({2, ""});
  CHECK_THROWS_WITH(takt::detail::unpack_gathered(pack(lying)), takt_test::containing("do not match"));
  lying.ranks.back().number = 1;
  CHECK_THROWS_WITH(takt::detail::unpack_gathered(pack(lying)), takt_test::containing("invalid data"));
}
