// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_reader.hpp"

#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/report.hpp"
#include "cli/run_directory.hpp"
#include "support/catch.hpp"
#include "support/rank_directories.hpp"

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
#include <utility>
#include <vector>

using takt::cli::Rank;
using takt::cli::ReadRun;
using takt::cli::RunProcess;
using takt::cli::RunReader;

namespace {

constexpr int kHeldBack = 1;  // by the choice of the final processes: a later process of its rank may follow

RunReader reader_of(std::size_t ranks, unsigned threads) {
  std::vector<RunProcess> processes(ranks);
  for (std::size_t at = 0; at < ranks; ++at) {
    processes[at].place = at;
    processes[at].run.rank = static_cast<int>(at);
    processes[at].run.world_size = static_cast<int>(ranks);
  }
  return RunReader(std::move(processes), threads);
}

Rank rank_of(const RunProcess& process) {
  Rank rank;
  rank.frames = 1;
  rank.snapshot.run = process.run;
  return rank;
}

/// Waits until the condition is true, which takes long only on a busy machine.
template <class Condition>
void wait_for(Condition is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_so() && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
}

}  // namespace

TEST_CASE("Ranks ahead: are delivered in order with any number of threads") {
  const unsigned threads = GENERATE(0U, 1U, 2U, 4U, 64U);
  RunReader reader = reader_of(50, threads);
  std::array<std::atomic<bool>, 50> read = {};
  int number = 0;
  const ReadRun run = reader.read(
      reader.runs().front(),
      [&](const RunProcess& each) {
        // The second of each two is read first.
        if (threads > 1 && each.place % 2 == 0) {
          wait_for([&] { return read[each.place + 1].load(); });
        }
        read[each.place] = true;
        return rank_of(each);
      },
      [&](Rank&& rank) { CHECK(rank.snapshot.run.rank == number++); });
  CHECK(run.ranks == 50);
  CHECK(number == 50);
}

TEST_CASE("Ranks ahead: several are read concurrently, and at most one per thread is held") {
  RunReader reader = reader_of(40, 2);
  std::mutex mutex;
  std::set<std::thread::id> readers;
  std::atomic<int> started{0};
  std::atomic<int> both{0};
  int taken = 0;
  reader.read(
      reader.runs().front(),
      [&](const RunProcess& each) {
        ++started;
        // The first two wait for each other, so a single thread would deadlock.
        if (each.place < 2) {
          ++both;
          wait_for([&] { return both == 2; });
        }
        const std::lock_guard<std::mutex> lock(mutex);
        readers.insert(std::this_thread::get_id());
        return rank_of(each);
      },
      [&](Rank&& /*rank*/) { CHECK(started <= ++taken + 2 + kHeldBack); });
  CHECK(taken == 40);
  CHECK(both == 2);
  const std::lock_guard<std::mutex> lock(mutex);
  CHECK(readers.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("Ranks ahead: an exception while reading is thrown in the rank's turn and stops the others") {
  const unsigned threads = GENERATE(1U, 3U);
  RunReader reader = reader_of(9, threads);
  int taken = 0;
  std::atomic<int> reading{0};
  const auto read = [&](const RunProcess& each) {
    ++reading;
    if (each.place == 4) {
      --reading;
      throw std::runtime_error("no memory for rank 4");
    }
    Rank rank = rank_of(each);
    --reading;
    return rank;
  };
  CHECK_THROWS_WITH(reader.read(reader.runs().front(), read, [&](Rank&& /*rank*/) { ++taken; }),
                    "no memory for rank 4");
  CHECK(taken == 4 - kHeldBack);
  CHECK(reading == 0);
}

TEST_CASE("Ranks ahead: without a consumer, or after a stop, only reads in progress are awaited") {
  RunReader reader = reader_of(1000, 3);
  const int wanted = GENERATE(0, 1, 7);
  std::atomic<int> started{0};
  int taken = 0;
  const auto read = [&](const RunProcess& each) {
    ++started;
    return rank_of(each);
  };
  const auto use = [&](Rank&& /*rank*/) {
    if (taken++ == wanted) { throw std::runtime_error("enough"); }
  };
  CHECK_THROWS_WITH(reader.read(reader.runs().front(), read, use), "enough");
  CHECK(started <= wanted + 1 + 3 + kHeldBack);
}

TEST_CASE("Ranks ahead: a report of concurrently read ranks equals that of each and has all problems") {
  constexpr int kRanks = 24;
  takt_test::RankDirectories ranks(kRanks, kRanks);
  for (int rank = 8; rank < 16; ++rank) {
    std::ofstream(ranks.directory(rank) + "/trials.json") << "{";
    std::ofstream(ranks.directory(rank) + "/results.json") << "{";
  }
  takt::cli::ReportOptions options;
  options.form = takt::cli::ReportForm::json;
  RunReader reader(takt::cli::rank_directories({ranks.run()}));
  const std::vector<takt::cli::RunReport> reports = takt::cli::read_reports(reader, options, kRanks);
  CHECK_FALSE(reader.all());
  CHECK(reader.not_read().size() == 2 * 8);
  REQUIRE(reports.size() == 1);
  REQUIRE(reports[0].ranks.size() == kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    const takt::Snapshot& snapshot = reports[0].ranks[static_cast<std::size_t>(rank)].snapshot;
    CHECK(snapshot.run.rank == rank);
    CHECK(snapshot.paths[1].host.total_ns() == (10U + static_cast<unsigned>(rank)) * 1'000'000'000ULL);
  }
}
