// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/ranks_of_run.hpp"


#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using takt::cli::Rank;

namespace {

Rank rank_of(int attempt, std::int64_t start_ns, std::int64_t wall_ns, const std::string& host = "a") {
  Rank rank;
  rank.snapshot.run.attempt = attempt;
  rank.snapshot.run.start_unix_ns = start_ns;
  rank.snapshot.run.host = host;
  rank.snapshot.wall_ns = wall_ns;
  return rank;
}

std::vector<takt::cli::AttemptSpan> attempts_of(const std::vector<Rank>& ranks) {
  takt::cli::Attempts attempts;
  for (const Rank& each : ranks) { attempts.add(each.snapshot, each.snapshot.run.attempt); }
  return attempts.all();
}

}  // namespace

TEST_CASE("between attempts lies what is from the last end to the first start") {
  const auto attempts = attempts_of(
      {rank_of(2, 900, 10), rank_of(0, 100, 50), rank_of(1, 400, 100), rank_of(0, 110, 90), rank_of(1, 350, 20)});
  REQUIRE(attempts.size() == 3);
  CHECK(attempts[0].attempt == 0);
  CHECK(attempts[0].ranks == 2);
  CHECK(attempts[0].start_unix_ns == 100);
  CHECK(attempts[0].end_unix_ns == 200);
  CHECK(attempts[2].attempt == 2);
  CHECK(takt::cli::ns_between(attempts) == (350 - 200) + (900 - 500));
  CHECK(takt::cli::ns_between({}) == 0);
}

TEST_CASE("clocks that are set otherwise, or cannot be, make no time between attempts wrap") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  CHECK(takt::cli::ns_between(attempts_of({rank_of(0, 500, 10), rank_of(1, 100, 10)})) == 0);
  CHECK(takt::cli::ns_between(attempts_of({rank_of(0, kMost, kMost), rank_of(1, 100, 10)})) == 0);
  CHECK(takt::cli::ns_between(attempts_of({rank_of(0, kLeast, 0), rank_of(1, kMost, 0)})) ==
        static_cast<std::uint64_t>(kMost));
}

TEST_CASE("a process follows another one on its host, once that has ended") {
  Rank first = rank_of(0, 100, 50);
  CHECK(takt::cli::follows(rank_of(0, 150, 1), first));
  CHECK_FALSE(takt::cli::follows(rank_of(0, 149, 1), first));
  CHECK_FALSE(takt::cli::follows(rank_of(0, 500, 1, "b"), first));
  first.ending = takt::cli::Ending::running;
  CHECK_FALSE(takt::cli::follows(rank_of(0, 150, 1), first));
}

TEST_CASE("ranks that do not know how many they are belong to the run, unless it was started again with fewer") {
  const auto numbered = [](int number, std::int64_t start_ns) {
    Rank rank = rank_of(0, start_ns, 1000);
    rank.snapshot.run.rank = number;
    rank.snapshot.run.world_size = number + 1;
    return rank;
  };
  const takt::cli::PickedRanks all = takt::cli::pick_last({numbered(3, 100), numbered(1, 103), numbered(2, 101)});
  CHECK(all.ranks.size() == 3);
  CHECK(all.world == 4);
  CHECK(all.remarks.empty());
  const takt::cli::PickedRanks again = takt::cli::pick_last({numbered(3, 100), numbered(1, 1100), numbered(0, 1100)});
  CHECK(again.ranks.size() == 2);
  CHECK(again.world == 2);
  CHECK(again.remarks.size() == 1);
}
