// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_reader.hpp"

#include "cli/rank.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using takt::cli::AttemptSpan;
using takt::cli::Rank;
using takt::cli::ReadRun;
using takt::cli::RunProcess;
using takt::cli::RunReader;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;

/// Returns a process that ran for 100 s.
Rank process(int rank, int world, int attempt = 0, std::int64_t start_unix_ns = kBegin) {
  Rank made;
  made.directory = "run/rank-" + std::to_string(rank) + "-" + std::to_string(attempt) + "-1";
  made.frames = 1;
  made.snapshot.run.rank = rank;
  made.snapshot.run.world_size = world;
  made.snapshot.run.attempt = attempt;
  made.snapshot.run.host = "n1";
  made.snapshot.run.start_unix_ns = start_unix_ns;
  made.snapshot.wall_ns = 100 * kSecond;
  return made;
}

/// The reader's result for processes that are already read.
struct Picked : ReadRun {
  std::vector<Rank> ranks;
};

RunReader reader_of(const std::vector<Rank>& of_run, unsigned threads = RunReader::usual_threads()) {
  std::vector<RunProcess> processes;
  for (const Rank& each : of_run) { processes.push_back({each.directory, each.snapshot.run, processes.size()}); }
  return RunReader(std::move(processes), threads);
}

Picked pick_last(const std::vector<Rank>& of_run) {
  RunReader reader = reader_of(of_run);
  REQUIRE(reader.runs().size() == 1);
  Picked picked;
  static_cast<ReadRun&>(picked) = reader.read(
      reader.runs().front(), [&](const RunProcess& each) { return of_run[each.place]; },
      [&](Rank&& rank) { picked.ranks.push_back(std::move(rank)); });
  CHECK(picked.ReadRun::ranks == picked.ranks.size());
  CHECK(reader.all());
  return picked;
}

std::vector<int> numbers(const Picked& picked) {
  std::vector<int> all;
  for (const Rank& each : picked.ranks) { all.push_back(each.snapshot.run.rank); }
  return all;
}

using Numbers = std::vector<int>;
using takt_test::mentions;

}  // namespace

TEST_CASE("Last ranks: returns each rank once and in order for any order of processes") {
  const Picked picked = pick_last({process(3, 4), process(0, 4), process(2, 4)});
  CHECK(numbers(picked) == Numbers{0, 2, 3});
  CHECK(picked.missing() == 1);
  CHECK(picked.warnings.empty());
}

TEST_CASE("Last ranks: processes that overlapped are one attempt, whatever their launchers count") {
  const std::int64_t again = kBegin + 101 * kSecond;
  const Picked picked =
      pick_last({process(0, 4), process(1, 4), process(2, 4), process(3, 4), process(0, 4, 1, again),
                 process(1, 4, 1, again + kSecond), process(2, 4, 0, again - kSecond), process(3, 4, 0, again)});
  CHECK(numbers(picked) == Numbers{0, 1, 2, 3});
  for (const Rank& each : picked.ranks) { CHECK(each.snapshot.run.start_unix_ns >= again - kSecond); }
  REQUIRE(picked.attempts.size() == 2);
  CHECK(picked.attempts[0].ranks == 4);
  CHECK(picked.attempts[1].ranks == 4);
  // A rank of the earlier attempt, missing in the restart; its clock is 2 s ahead.
  const Picked without = pick_last({process(0, 2), process(1, 2, 0, kBegin + 3 * kSecond), process(0, 2, 1, again)});
  CHECK(numbers(without) == Numbers{0});
  CHECK(without.missing() == 1);
}

TEST_CASE("Last ranks: of two processes of one rank the later one counts and the other is named") {
  const Picked picked = pick_last({process(0, 2, 0, kBegin + kSecond), process(1, 2), process(0, 2)});
  CHECK(numbers(picked) == Numbers{0, 1});
  CHECK(picked.ranks[0].snapshot.run.start_unix_ns == kBegin + kSecond);
  REQUIRE(picked.warnings.size() == 1);
  CHECK(mentions(picked.warnings[0], {"rank 0", "attempt 0", "host n1", "run/rank-0-0-1"}));
}

TEST_CASE("Last ranks: a restart with fewer ranks excludes earlier ones, and none is missing") {
  const std::int64_t later = kBegin + 200 * kSecond;
  const Picked picked =
      pick_last({process(0, 3), process(1, 3), process(2, 3), process(0, 2, 1, later), process(1, 2, 1, later)});
  CHECK(numbers(picked) == Numbers{0, 1});
  CHECK(picked.missing() == 0);
  CHECK(picked.warnings.size() == 3);
}

TEST_CASE("Last ranks: a rank beyond an unknown world size counts, even before a higher one gives the size") {
  CHECK(numbers(pick_last({process(0, 1), process(1, 1), process(2, 1)})) == Numbers{0, 1, 2});
}

TEST_CASE("Last ranks: holds back no more ranks than necessary") {
  std::vector<Rank> of_run;
  for (int rank = 0; rank < 4; ++rank) { of_run.push_back(process(rank, 4)); }
  RunReader reader = reader_of(of_run, 1);
  std::size_t used = 0;
  const ReadRun run = reader.read(
      reader.runs().front(),
      [&](const RunProcess& each) {
        CHECK(used + 1 >= each.place);
        return of_run[each.place];
      },
      [&](Rank&& /*rank*/) { ++used; });
  CHECK(used == 4);
  CHECK(run.ranks == 4);
  CHECK(run.world == 4);
}

TEST_CASE("Last ranks: clocks a day apart are reported, and the ranks count") {
  const Picked picked = pick_last({process(0, 3), process(1, 3, 0, kBegin + 86'400 * kSecond), process(2, 3)});
  CHECK(numbers(picked) == Numbers{0, 1, 2});
  REQUIRE(picked.warnings.size() == 1);
  CHECK(mentions(picked.warnings[0], {"rank 1", "24.0 h", "rank 0"}));
}

TEST_CASE("Last ranks: ranks that start within an hour cause no warning") {
  CHECK(pick_last({process(0, 2), process(1, 2, 0, kBegin + 3599 * kSecond)}).warnings.empty());
}

TEST_CASE("Last ranks: impossible clocks are reported without overflow") {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const Picked picked = pick_last({process(0, 2, 0, kMin), process(1, 2, 0, std::numeric_limits<std::int64_t>::max())});
  CHECK(numbers(picked) == Numbers{0, 1});
  CHECK(picked.warnings.size() == 1);
}

namespace {

Rank attempt_of(int attempt, std::int64_t start_ns, std::int64_t wall_ns, const std::string& host = "a", int rank = 0) {
  Rank made = process(rank, 1, attempt, start_ns);
  made.snapshot.run.host = host;
  made.snapshot.wall_ns = wall_ns;
  return made;
}

std::vector<AttemptSpan> attempts_of(const std::vector<Rank>& ranks) { return pick_last(ranks).attempts; }

}  // namespace

TEST_CASE("the time between attempts is from the last end to the first start") {
  const auto attempts = attempts_of({attempt_of(2, 900, 10), attempt_of(0, 100, 50), attempt_of(1, 400, 100),
                                     attempt_of(0, 110, 90), attempt_of(1, 350, 20)});
  REQUIRE(attempts.size() == 3);
  CHECK(attempts[0].attempt == 0);
  CHECK(attempts[0].ranks == 2);
  CHECK(attempts[0].start_unix_ns == 100);
  CHECK(attempts[0].end_unix_ns == 200);
  CHECK(attempts[2].attempt == 2);
  CHECK(takt::cli::ns_between(attempts) == (350 - 200) + (900 - 500));
  CHECK(takt::cli::ns_between({}) == 0);
}

TEST_CASE("adjusted or impossible clocks do not overflow the time between attempts") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const auto between = [](const std::vector<AttemptSpan>& attempts) {
    REQUIRE(attempts.size() == 2);
    return takt::cli::ns_between(attempts);
  };
  CHECK(between({{0, 1, 500, 510}, {1, 1, 100, 110}}) == 0);
  CHECK(between({{0, 1, kMax, kMax}, {1, 1, 100, 110}}) == 0);
  CHECK(between(attempts_of({attempt_of(0, kMin, 0), attempt_of(1, kMax, 0)})) == static_cast<std::uint64_t>(kMax));
  CHECK(attempts_of({attempt_of(0, kMax, kMax), attempt_of(1, 100, 10)}).front().end_unix_ns == kMax);
}

TEST_CASE("a process follows another one on its host only after that has ended") {
  Rank first = attempt_of(0, 100, 50);
  const auto warning = [&](const Rank& later) {
    const Picked picked = pick_last({first, later});
    REQUIRE(picked.warnings.size() == 1);
    return picked.warnings[0];
  };
  CHECK(mentions(warning(attempt_of(0, 150, 1)), {"later attempt"}));
  CHECK(mentions(warning(attempt_of(0, 149, 1)), {"twice"}));
  CHECK(mentions(warning(attempt_of(0, 500, 1, "b")), {"twice"}));
  first.ending = takt::cli::Ending::running;
  CHECK(mentions(warning(attempt_of(0, 150, 1)), {"twice"}));
}

TEST_CASE("ranks of unknown world size belong to the run, unless it was restarted with fewer") {
  const auto numbered = [](int number, std::int64_t start_ns) {
    Rank rank = attempt_of(0, start_ns, 1000, "a", number);
    rank.snapshot.run.world_size = number + 1;
    return rank;
  };
  const Picked all = pick_last({numbered(3, 100), numbered(1, 103), numbered(2, 101)});
  CHECK(all.ranks.size() == 3);
  CHECK(all.world == 4);
  CHECK(all.warnings.empty());
  const Picked again = pick_last({numbered(3, 100), numbered(1, 1100), numbered(0, 1100)});
  CHECK(again.ranks.size() == 2);
  CHECK(again.world == 2);
  CHECK(again.warnings.size() == 1);
}

TEST_CASE("Run reader: separates ranks of several runs, and names unreadable ones by directory") {
  std::vector<Rank> all = {process(1, 2), process(0, 2, 0, kBegin + kSecond), process(0, 2)};
  all[1].snapshot.run.id = "other";
  RunReader reader = reader_of(all);
  REQUIRE(reader.runs().size() == 2);
  CHECK(reader.runs()[0].size() == 2);
  CHECK(reader.runs()[0][0].run.rank == 0);
  all[0].frames = 0;
  all[0].error = "damaged";
  all[2].not_read = {"trials.json is damaged"};
  ReadRun run = reader.read(
      reader.runs()[0], [&](const RunProcess& each) { return all[each.place]; }, [](Rank&& /*rank*/) {});
  CHECK(run.ranks == 1);
  CHECK(run.missing() == 1);
  CHECK_FALSE(reader.all());
  CHECK(reader.not_read() == std::vector<std::string>{"damaged", "trials.json is damaged"});
  CHECK(mentions(reader.keep_newest(), {"2 runs", "other"}));
  REQUIRE(reader.runs().size() == 1);
  CHECK(reader.runs()[0][0].run.id == "other");
  CHECK(reader.keep_newest().empty());
  reader.keep_rank(1);
  CHECK(reader.runs()[0].empty());
  run = reader.read(
      reader.runs()[0], [&](const RunProcess& each) { return all[each.place]; }, [](Rank&& /*rank*/) {});
  CHECK(run.ranks == 0);
}

TEST_CASE("Run reader: ignores a journal that was replaced by another process's") {
  const std::vector<Rank> all = {process(0, 1)};
  RunReader reader = reader_of(all);
  const ReadRun run = reader.read(
      reader.runs()[0], [&](const RunProcess& /*each*/) { return process(0, 1, 0, kBegin + 1); },
      [](Rank&& /*rank*/) {});
  CHECK(run.ranks == 0);
  REQUIRE(reader.not_read().size() == 1);
  CHECK(mentions(reader.not_read()[0], {"run/rank-0-0-1", "run takt again"}));
}
