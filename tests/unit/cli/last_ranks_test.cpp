// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/ranks_of_run.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using takt::cli::LastRanks;
using takt::cli::pick_last;
using takt::cli::PickedRanks;
using takt::cli::Rank;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;

/// One that ran for 100 s.
Rank process(int rank, int world, int attempt = 0, std::int64_t start_unix_ns = kBegin) {
  Rank made;
  made.folder = "run/rank-" + std::to_string(rank) + "-" + std::to_string(attempt) + "-1";
  made.frames = 1;
  made.snapshot.run.rank = rank;
  made.snapshot.run.world_size = world;
  made.snapshot.run.attempt = attempt;
  made.snapshot.run.host = "n1";
  made.snapshot.run.start_unix_ns = start_unix_ns;
  made.snapshot.wall_ns = 100 * kSecond;
  return made;
}

std::vector<int> numbers(const PickedRanks& picked) {
  std::vector<int> all;
  for (const Rank& each : picked.ranks) { all.push_back(each.snapshot.run.rank); }
  return all;
}

using Numbers = std::vector<int>;
using takt_test::mentions;

}  // namespace

TEST_CASE("Last ranks: each rank once, in order, whatever the order of the processes") {
  const PickedRanks picked = pick_last({process(3, 4), process(0, 4), process(2, 4)});
  CHECK(numbers(picked) == Numbers{0, 2, 3});
  CHECK(picked.missing() == 1);
  CHECK(picked.remarks.empty());
}

TEST_CASE("Last ranks: processes that ran beside each other are one attempt, however their launchers count") {
  const std::int64_t again = kBegin + 101 * kSecond;
  const PickedRanks picked =
      pick_last({process(0, 4), process(1, 4), process(2, 4), process(3, 4), process(0, 4, 1, again),
                 process(1, 4, 1, again + kSecond), process(2, 4, 0, again - kSecond), process(3, 4, 0, again)});
  CHECK(numbers(picked) == Numbers{0, 1, 2, 3});
  for (const Rank& each : picked.ranks) { CHECK(each.snapshot.run.start_unix_ns >= again - kSecond); }
  REQUIRE(picked.attempts.size() == 2);
  CHECK(picked.attempts[0].ranks == 4);
  CHECK(picked.attempts[1].ranks == 4);
  // A rank of before, of which the restart has no journal; its clock is 2 s ahead.
  const PickedRanks without =
      pick_last({process(0, 2), process(1, 2, 0, kBegin + 3 * kSecond), process(0, 2, 1, again)});
  CHECK(numbers(without) == Numbers{0});
  CHECK(without.missing() == 1);
}

TEST_CASE("Last ranks: of two processes of one rank the one that began last counts, and the other is named") {
  const PickedRanks picked = pick_last({process(0, 2, 0, kBegin + kSecond), process(1, 2), process(0, 2)});
  CHECK(numbers(picked) == Numbers{0, 1});
  CHECK(picked.ranks[0].snapshot.run.start_unix_ns == kBegin + kSecond);
  REQUIRE(picked.remarks.size() == 1);
  CHECK(mentions(picked.remarks[0], {"rank 0", "attempt 0", "host n1", "run/rank-0-0-1"}));
}

TEST_CASE("Last ranks: of a restart with fewer ranks those before it are left out, and none is missing") {
  const std::int64_t later = kBegin + 200 * kSecond;
  const PickedRanks picked =
      pick_last({process(0, 3), process(1, 3), process(2, 3), process(0, 2, 1, later), process(1, 2, 1, later)});
  CHECK(numbers(picked) == Numbers{0, 1});
  CHECK(picked.missing() == 0);
  CHECK(picked.remarks.size() == 3);
}

TEST_CASE("Last ranks: a rank above a world that nobody told counts, also before a higher one says so") {
  CHECK(numbers(pick_last({process(0, 1), process(1, 1), process(2, 1)})) == Numbers{0, 1, 2});
}

TEST_CASE("Last ranks: no more are held back than have to be") {
  int used = 0;
  LastRanks last(process(3, 4).snapshot.run, {"run"}, [&](Rank&& /*rank*/) { ++used; });
  for (int rank = 0; rank < 4; ++rank) {
    last.add(process(rank, 4));
    CHECK(used == rank);
  }
  last.finish();
  CHECK(used == 4);
  CHECK(last.world() == 4);
}

TEST_CASE("Last ranks: that clocks are a day apart is said, and the ranks count") {
  const PickedRanks picked = pick_last({process(0, 3), process(1, 3, 0, kBegin + 86'400 * kSecond), process(2, 3)});
  CHECK(numbers(picked) == Numbers{0, 1, 2});
  REQUIRE(picked.remarks.size() == 1);
  CHECK(mentions(picked.remarks[0], {"rank 1", "24.0 h", "rank 0"}));
}

TEST_CASE("Last ranks: ranks that begin within the hour are as usual") {
  CHECK(pick_last({process(0, 2), process(1, 2, 0, kBegin + 3599 * kSecond)}).remarks.empty());
}

TEST_CASE("Last ranks: clocks that cannot be are told without an overflow") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const PickedRanks picked =
      pick_last({process(0, 2, 0, kLeast), process(1, 2, 0, std::numeric_limits<std::int64_t>::max())});
  CHECK(numbers(picked) == Numbers{0, 1});
  CHECK(picked.remarks.size() == 1);
}
