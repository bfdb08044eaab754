// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/job_part.hpp"

#include <takt/error.hpp>

#include "base/crc32c.hpp"
#include "base/encoding.hpp"
#include "ranks/rank_steps_bytes.hpp"

#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/random.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace takt_test;
using takt::Snapshot;
using takt::detail::JobPart;
using takt::detail::JobPartRank;
using takt::detail::merge_into;
using takt::detail::pack;
using takt::detail::RankRecord;
using takt::detail::RankSteps;
using takt::detail::unpack_part;
using takt::detail::unpack_steps;

namespace {

RankSteps some_steps(std::uint32_t seed, std::size_t most_values = 100) {
  Snapshot snapshot;
  add_thread(snapshot, "main");
  const std::uint32_t batch = add_path(snapshot, "Batch");
  const std::uint32_t forward = add_path(snapshot, "Forward", batch, takt::Kind::compute);
  const std::uint32_t comm = add_path(snapshot, "Comm", batch, takt::Kind::comm);
  add_series(snapshot, batch, 0);
  for (std::int64_t step = 0; step < 200; ++step) {
    takt::Row& row = add_row(snapshot, 0, 0);
    row.step = step - 50;
    row.cells = {{forward, 1, 700 + seed}, {comm, 1, step}};
  }
  RankSteps steps(most_values);
  steps.add(snapshot);
  return steps;
}

JobPart some_part(std::uint32_t rank, std::uint32_t attempt = 0) {
  RankRecord record;
  takt::Summary host;
  host.add(1000 + rank);
  takt::detail::add_rank(record.wall, rank, 5000 + rank);
  takt::detail::add_path(record, rank, {"Batch"}, takt::Kind::other, host, {});
  JobPartRank entry;
  entry.who = {rank, "n" + std::to_string(rank), "stage " + std::to_string(rank % 2)};
  entry.attempt = attempt;
  entry.world_size = 8;
  entry.start_unix_ns = 1'000'000 * attempt + rank;
  entry.end_unix_ns = entry.start_unix_ns + 5000;
  entry.items = 64;
  entry.ended = "finished";
  entry.damaged = rank == 3;
  entry.steps = some_steps(rank);
  return takt::detail::part_of("net-1", "net", std::move(record), std::move(entry));
}

/// `bytes` with a checksum that fits.
std::string sealed_again(std::string bytes) {
  const std::string_view all = bytes;
  const std::uint32_t begun = takt::detail::crc32c(all.substr(8, 4));
  takt::detail::store(bytes.data() + 12, takt::detail::crc32c(all.substr(16), begun));
  return bytes;
}

/// Whatever the bytes are, it is read or refused.
template <class Unpack>
std::size_t refusals(const std::string& bytes, Unpack unpack) {
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      try {
        unpack(sealed_again(changed));
      } catch (const takt::Error&) { ++refused; }
    }
  }
  return refused;
}

}  // namespace

TEST_CASE("Steps as bytes: what comes back is the same, and is thinned further in the same way") {
  RankSteps steps = some_steps(1);
  RankSteps again = unpack_steps(pack(steps));
  CHECK(pack(again) == pack(steps));
  CHECK(again.values() == steps.values());
  CHECK(again.stride() == steps.stride());
  CHECK(again.stride() > 1);
  REQUIRE(again.main_batches() != nullptr);
  CHECK(again.main_batches()->rows == 200);
  CHECK(again.main_batches()->steps.begin()->first < 0);
  CHECK(again.regions().size() == 2);
  again.limit(20);
  steps.limit(20);
  CHECK(again.values() <= 20);
  CHECK(pack(again) == pack(steps));
  CHECK(unpack_steps(pack(RankSteps())).main_batches() == nullptr);
}

TEST_CASE("Steps as bytes: what is cut off, damaged, newer or something else is refused") {
  const std::string bytes = pack(some_steps(1, 30));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THROWS_AS(unpack_steps(bytes.substr(0, length)), takt::Error);
  }
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  CHECK_THROWS_WITH(unpack_steps(flipped), containing("damaged"));
  std::string newer = bytes;
  newer[8] = 7;
  CHECK_THROWS_WITH(unpack_steps(sealed_again(newer)), containing("version 7"));
  CHECK_THROWS_WITH(unpack_steps(pack(RankRecord())), containing("bytes are none"));
  CHECK(refusals(bytes, unpack_steps) > bytes.size());
}

TEST_CASE("Job part: any order of merging gives the same bits, attempts included") {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> who;  // rank and attempt
  for (std::uint32_t rank = 0; rank < 8; ++rank) { who.emplace_back(rank, 0); }
  for (std::uint32_t rank = 0; rank < 6; ++rank) { who.emplace_back(rank, 1); }
  who.emplace_back(2, 2);
  who.emplace_back(4, 2);
  std::string first;
  Random random(test_seed());
  for (int turn = 0; turn < 20; ++turn) {
    JobPart left;
    JobPart right;
    for (const auto& [rank, attempt] : who) { merge_into(random.chance(50) ? left : right, some_part(rank, attempt)); }
    merge_into(left, std::move(right));
    if (turn == 0) { first = pack(left); }
    CHECK(pack(left) == first);
    std::reverse(who.begin(), who.end());
    std::swap(who[random.below(who.size())], who[random.below(who.size())]);
  }
  const JobPart part = unpack_part(first);
  CHECK(pack(part) == first);
  CHECK(part.attempt() == 2);
  CHECK(part.record.wall.ranks == 2);  // of the newest attempt alone
  REQUIRE(part.ranks.size() == who.size());
  CHECK(part.ranks[0].who.number == 0);
  CHECK(part.ranks[0].steps.main_batches() == nullptr);
  CHECK(part.ranks[0].start_unix_ns == 0);
  const auto newest = std::find_if(part.ranks.begin(), part.ranks.end(),
                                   [](const auto& each) { return each.who.number == 4 && each.attempt == 2; });
  REQUIRE(newest != part.ranks.end());
  CHECK(newest->who.group == "stage 0");
  CHECK(newest->end_unix_ns == 2'005'004);
  CHECK(newest->ended == "finished");
  CHECK(pack(newest->steps) == pack(some_steps(4)));
}

TEST_CASE("Job part: a rank that comes twice and a rank of another run are refused, and change nothing") {
  JobPart part = some_part(1);
  merge_into(part, some_part(2));
  const std::string before = pack(part);
  JobPart twice = some_part(2);
  twice.ranks[0].who.host = "a";
  CHECK_THROWS_WITH(merge_into(part, twice),
                    containing("rank 2 comes twice in attempt 0, from host a and from host n2"));
  JobPart other = some_part(3);
  other.run_id = "net-2";
  CHECK_THROWS_WITH(merge_into(part, other), containing("run net-2 is another one than run net-1"));
  CHECK(pack(part) == before);
  merge_into(part, JobPart());
  CHECK(pack(part) == before);
}

TEST_CASE("Job part: bytes that are cut off, damaged or of something else are refused") {
  JobPart part = some_part(1);
  part.ranks[0].steps.limit(20);
  const std::string bytes = pack(part);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THROWS_AS(unpack_part(bytes.substr(0, length)), takt::Error);
  }
  CHECK_THROWS_WITH(unpack_part(pack(part.record)), containing("part of a job: these"));
  JobPart without = part;
  without.record = RankRecord();
  CHECK_THROWS_WITH(unpack_part(pack(without)), containing("its record is not one of its ranks"));
  CHECK(refusals(bytes, unpack_part) > bytes.size());
}
