// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/packed_record.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"
#include "ranks/rank_record.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using takt::Kind;
using takt::PathStats;
using takt::RankRecord;
using takt::Snapshot;
using takt::detail::merge_into;
using takt::detail::merge_records;
using takt::detail::pack;
using takt::detail::pack_record;
using takt::detail::ranks_in;
using takt::detail::record_of;
using takt::detail::unpack;
using takt_test::add_path;
using takt_test::containing;
using takt_test::Random;

namespace {

/// Returns easily confused names, in no particular order.
const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {
      "b", "a", "", "a/b", "ab", std::string("a\0b", 3), "\xff\xfe", std::string(300, 'x'), "B", "Backward", "\x7f"};
  return all;
}

void add_some(takt::Summary& summary, Random& random) {
  if (random.chance(10)) { summary.add_warmup(5 + random.below(100)); }
  for (std::uint64_t call = random.below(8); call > 0; --call) {
    summary.add(random.chance(5) ? random.below(std::uint64_t{1} << 50U) : 1000 + random.below(1'000'000));
  }
}

/// Returns a tree of random shape, with paths that differ only in their kind.
Snapshot some_rank(std::uint32_t rank, Random& random) {
  Snapshot snapshot;
  snapshot.run.rank = static_cast<int>(rank);
  snapshot.wall_ns = static_cast<std::int64_t>(1000 + random.below(1'000'000'000));
  for (std::uint64_t left = random.below(40); left > 0; --left) {
    const bool at_top = snapshot.paths.empty() || random.chance(30);
    const auto parent = at_top ? takt::kNoIndex : static_cast<std::uint32_t>(random.below(snapshot.paths.size()));
    const auto kind = static_cast<Kind>(random.below(5));
    PathStats& path = snapshot.paths[add_path(snapshot, names()[random.below(names().size())], parent, kind)];
    add_some(path.host, random);
    if (random.chance(30)) { add_some(path.device, random); }
    if (random.chance(50)) {
      path.host.pack();
      path.device.pack();
    }
  }
  return snapshot;
}

/// Recomputes the checksum, so that other errors are checked.
std::string packed_record_resealed(std::string bytes) {
  takt::detail::store(bytes.data() + 16, std::uint64_t{bytes.size() - 24});
  const std::uint32_t started = takt::detail::crc32c(std::string_view(bytes).substr(8, 4));
  takt::detail::store(bytes.data() + 12, takt::detail::crc32c(std::string_view(bytes).substr(16), started));
  return bytes;
}

}  // namespace

TEST_CASE("Packed record: bytes equal those of RankRecords for any rank and any set of ranks") {
  Random random(takt_test::test_seed());
  for (int round = 0; round < takt_test::scaled(2000); ++round) {
    const auto ranks = static_cast<std::uint32_t>(1 + random.below(5));
    RankRecord record;
    std::string bytes = pack(RankRecord());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Snapshot snapshot = some_rank(rank, random);
      const std::string one = pack_record(snapshot, rank);
      REQUIRE((one == pack(record_of(snapshot))));
      merge_into(record, record_of(snapshot));
      bytes = random.chance(50) ? merge_records(bytes, one) : merge_records(one, bytes);
    }
    REQUIRE((bytes == pack(record)));
    CHECK(ranks_in(bytes) == ranks);
  }
}

TEST_CASE("Packed record: sums saturate as those of RankRecords do") {
  constexpr std::uint64_t kMax = ~std::uint64_t{0};
  Snapshot snapshot;
  snapshot.wall_ns = INT64_MAX;
  PathStats& path = snapshot.paths[add_path(snapshot, "long")];
  for (int call = 0; call < 3; ++call) { path.host.add(kMax); }
  RankRecord record = record_of(snapshot);
  std::string bytes = pack_record(snapshot, 0);
  for (int turn = 0; turn < 60; ++turn) {
    merge_into(record, RankRecord(record));
    bytes = merge_records(bytes, bytes);
    REQUIRE((bytes == pack(record)));
  }
}

TEST_CASE("Packed record: uses the given rank and accepts deeply nested paths") {
  Snapshot snapshot;
  snapshot.run.rank = 7;
  std::uint32_t parent = takt::kNoIndex;
  for (int depth = 0; depth < 5000; ++depth) { parent = add_path(snapshot, "down", parent); }
  const RankRecord record = unpack(pack_record(snapshot, 9));
  CHECK(record.wall.max.rank == 9);
  CHECK(record.paths.size() == 5000);
  CHECK(record.paths.rbegin()->first.size() == 5000);
}

TEST_CASE("Packed record: refuses truncated, flipped and foreign bytes") {
  Random random(takt_test::test_seed());
  Snapshot snapshot = some_rank(1, random);
  while (snapshot.paths.size() < 5) { snapshot = some_rank(1, random); }
  const std::string good = pack_record(some_rank(0, random), 0);
  const std::string bytes = pack_record(snapshot, 1);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    REQUIRE_THROWS_AS(merge_records(good, std::string_view(bytes).substr(0, length)), takt::Error);
    REQUIRE_THROWS_AS(ranks_in(std::string_view(bytes).substr(0, length)), takt::Error);
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << (at % 8)));
    REQUIRE_THROWS_AS(merge_records(flipped, good), takt::Error);
  }
  CHECK_THROWS_WITH(merge_records(good, packed_record_resealed(bytes + "x")), containing("values"));
}

TEST_CASE("Packed record: with a valid checksum it is refused, or added as RankRecords are") {
  Random random(takt_test::test_seed());
  const Snapshot snapshot = takt_test::sample_snapshot();
  const std::string good = pack_record(snapshot, 0);
  for (int round = 0; round < takt_test::scaled(20'000); ++round) {
    std::string other = good;
    other[24 + random.below(other.size() - 24)] = static_cast<char>(random.below(256));
    other = packed_record_resealed(std::move(other));
    try {
      RankRecord record = unpack(other);
      merge_into(record, unpack(good));
      const std::string merged = merge_records(other, good);
      if (record.wall.ranks < 1000) { REQUIRE(unpack(merged).paths.size() == record.paths.size()); }
    } catch (const takt::Error&) {  // an error is acceptable
    }
  }
}

TEST_CASE("Packed record: refuses unsorted paths") {
  Snapshot one;
  add_path(one, "a");
  add_path(one, "b");
  std::string bytes = pack_record(one, 0);
  bytes[bytes.find("a", 24)] = 'c';
  CHECK_THROWS_WITH(merge_records(packed_record_resealed(bytes), pack(RankRecord())), containing("not in order"));
}
