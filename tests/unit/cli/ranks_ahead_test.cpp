// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/ranks_of_run.hpp"

#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/run_folder.hpp"
#include "support/catch.hpp"
#include "support/rank_folders.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using takt::cli::PlannedRank;
using takt::cli::Rank;
using takt::cli::RanksAhead;
using takt::cli::RunPlan;

namespace {

RunPlan plan_of(std::size_t ranks) {
  RunPlan plan(ranks);
  for (std::size_t at = 0; at < ranks; ++at) {
    plan[at].place = at;
    plan[at].has_run = true;
    plan[at].run.rank = static_cast<int>(at);
  }
  return plan;
}

Rank rank_of(const PlannedRank& planned) {
  Rank rank;
  rank.frames = 1;
  rank.snapshot.run = planned.run;
  return rank;
}

/// Waits until it is so, which takes long on a busy machine alone.
template <class Condition>
void wait_for(Condition is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_so() && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
}

}  // namespace

TEST_CASE("Ranks ahead: they come in order, whichever is read first, with any number of threads") {
  const RunPlan plan = plan_of(50);
  const unsigned threads = GENERATE(0U, 1U, 2U, 4U, 64U);
  std::array<std::atomic<bool>, 50> read = {};
  RanksAhead ahead(
      plan,
      [&](const PlannedRank& each) {
        // Of two the second one is read first.
        if (threads > 1 && each.place % 2 == 0) {
          wait_for([&] { return read[each.place + 1].load(); });
        }
        read[each.place] = true;
        return rank_of(each);
      },
      threads);
  for (int number = 0; number < 50; ++number) { CHECK(ahead.next().snapshot.run.rank == number); }
}

TEST_CASE("Ranks ahead: several are read at the same time, and no more than two a thread are held") {
  const RunPlan plan = plan_of(40);
  std::mutex mutex;
  std::set<std::thread::id> readers;
  std::atomic<int> begun{0};
  std::atomic<int> both{0};
  RanksAhead ahead(
      plan,
      [&](const PlannedRank& each) {
        ++begun;
        // The first two wait for each other: one thread alone would wait for itself.
        if (each.place < 2) {
          ++both;
          wait_for([&] { return both == 2; });
        }
        const std::lock_guard<std::mutex> lock(mutex);
        readers.insert(std::this_thread::get_id());
        return rank_of(each);
      },
      2);
  for (int taken = 1; taken <= 40; ++taken) {
    CHECK(ahead.next().snapshot.run.rank == taken - 1);
    CHECK(begun <= taken + 4);
  }
  const std::lock_guard<std::mutex> lock(mutex);
  CHECK(readers.size() == 2);
  CHECK(readers.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("Ranks ahead: what reading a rank throws is thrown where it is its turn, and the others are there") {
  const RunPlan plan = plan_of(9);
  const unsigned threads = GENERATE(1U, 3U);
  RanksAhead ahead(
      plan,
      [](const PlannedRank& each) {
        if (each.place == 4) { throw std::runtime_error("no memory for rank 4"); }
        return rank_of(each);
      },
      threads);
  for (int number = 0; number < 9; ++number) {
    if (number == 4) {
      CHECK_THROWS_WITH(ahead.next(), "no memory for rank 4");
    } else {
      CHECK(ahead.next().snapshot.run.rank == number);
    }
  }
}

TEST_CASE("Ranks ahead: who takes none, or stops in the midst, waits for what is under way alone") {
  const RunPlan plan = plan_of(1000);
  const int taken = GENERATE(0, 1, 7);
  std::atomic<int> begun{0};
  {
    RanksAhead ahead(
        plan,
        [&begun](const PlannedRank& each) {
          ++begun;
          return rank_of(each);
        },
        3);
    for (int number = 0; number < taken; ++number) { CHECK(ahead.next().snapshot.run.rank == number); }
  }
  CHECK(begun <= taken + 6);
}

TEST_CASE("Ranks ahead: a report of ranks that are read at the same time is that of each, and tells all that is bad") {
  constexpr int kRanks = 24;
  takt_test::RankFolders ranks(kRanks, kRanks);
  for (int rank = 8; rank < 16; ++rank) {
    std::ofstream(ranks.folder(rank) + "/trials.json") << "{";
    std::ofstream(ranks.folder(rank) + "/results.json") << "{";
  }
  std::vector<std::string> remarks;
  bool all = true;
  takt::cli::ReportWishes wishes;
  wishes.form = takt::cli::ReportForm::json;
  const std::vector<takt::cli::RunReport> reports =
      takt::cli::read_reports(takt::cli::rank_folders({ranks.run()}, remarks), wishes, all);
  CHECK_FALSE(all);
  REQUIRE(reports.size() == 1);
  REQUIRE(reports[0].ranks.size() == kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    const takt::Snapshot& snapshot = reports[0].ranks[static_cast<std::size_t>(rank)].snapshot;
    CHECK(snapshot.run.rank == rank);
    CHECK(snapshot.paths[1].host.total_ns() == (10U + static_cast<unsigned>(rank)) * 1'000'000'000ULL);
  }
}
