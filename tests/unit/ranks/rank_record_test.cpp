// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_record.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/random.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

using takt::Kind;
using takt::RankRecord;
using takt::Summary;
using takt::detail::add_path;
using takt::detail::add_rank;
using takt::detail::merge_into;
using takt::detail::pack;
using takt::detail::RankPathName;
using takt::detail::RankSpread;
using takt::detail::RankTotal;
using takt::detail::record_of;
using takt::detail::unpack;
using takt::detail::Wide;
using takt_test::Random;

namespace {

constexpr std::uint32_t kSimulatedPaths = 20;

std::vector<RankPathName> simulated_names() {
  std::vector<RankPathName> names;
  for (std::uint32_t path = 0; path < kSimulatedPaths; ++path) {
    names.push_back({"Epoch", "Batch", "Region " + std::to_string(path)});
  }
  return names;
}

/// Time of one path on one rank: a fixed function of the rank, so that ranks need not be stored.
struct SimulatedPath {
  bool present = false;
  Summary host;
  Summary device;
};

SimulatedPath simulated_path(std::uint32_t rank, std::uint32_t path) {
  Random random(takt_test::test_seed() + rank * std::uint64_t{kSimulatedPaths} + path);
  SimulatedPath made;
  made.present = !random.chance(5);
  made.host.add_first(1'000'000 + random.below(100'000));
  made.host.add(1'000'000 + random.below(5'000'000'000));
  if (path % 4 == 0) { made.device.add(900'000 + random.below(1'000)); }
  return made;
}

void add_simulated(RankRecord& record, std::uint32_t rank, const std::vector<RankPathName>& names) {
  add_rank(record.wall, rank, 10'000'000'000 + rank);
  for (std::uint32_t path = 0; path < kSimulatedPaths; ++path) {
    const SimulatedPath made = simulated_path(rank, path);
    if (made.present) { add_path(record, rank, names[path], Kind::compute, made.host, made.device); }
  }
}

/// Joins the ranks at [begin, end) in a tree of random shape.
RankRecord by_tree(const std::vector<std::uint32_t>& ranks, std::size_t begin, std::size_t end, Random& random,
                   const std::vector<RankPathName>& names) {
  RankRecord record;
  if (end - begin <= 64) {
    for (std::size_t at = begin; at < end; ++at) { add_simulated(record, ranks[at], names); }
    return record;
  }
  const std::size_t middle = begin + 1 + random.below(end - begin - 1);
  record = by_tree(ranks, begin, middle, random, names);
  merge_into(record, by_tree(ranks, middle, end, random, names));
  return record;
}

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

RankRecord sample_record() {
  RankRecord record;
  const std::vector<RankPathName> names = simulated_names();
  for (std::uint32_t rank = 0; rank < 5; ++rank) { add_simulated(record, rank, names); }
  return record;
}

/// Recomputes the checksum, so that other errors are checked.
std::string resealed(std::string bytes) {
  takt::detail::store(bytes.data() + 16, std::uint64_t{bytes.size() - 24});
  const std::uint32_t started = takt::detail::crc32c(std::string_view(bytes).substr(8, 4));
  takt::detail::store(bytes.data() + 12, takt::detail::crc32c(std::string_view(bytes).substr(16), started));
  return bytes;
}

}  // namespace

TEST_CASE("Rank record: totals of four ranks match those computed by hand") {
  RankSpread spread;
  for (const auto& [rank, ns] : {std::pair{0U, 10'000U}, {1U, 30'000U}, {2U, 10'000U}, {3U, 30'000U}}) {
    add_rank(spread, rank, ns);
  }
  CHECK(spread.ranks == 4);
  CHECK(spread.mean_ns() == 20'000);
  CHECK(spread.stdev_ns() == Approx(11'547.0).epsilon(1e-4));
  CHECK(spread.imbalance() == Approx(0.5));
  CHECK(spread.min.ns == 10'000);
  CHECK(spread.min.rank == 0);
  CHECK(spread.max.ns == 30'000);
  CHECK(spread.max.rank == 1);
  CHECK(spread.totals_us.count(10) == 2);
  CHECK(spread.totals_us.count(30) == 2);
}

TEST_CASE("Rank record: names the lower of two equal ranks in either order") {
  RankSpread up;
  RankSpread down;
  RankSpread later;
  for (const std::uint32_t rank : {3U, 7U}) { add_rank(up, rank, 5); }
  add_rank(down, 7, 5);
  add_rank(later, 3, 5);
  merge_into(down, later);
  for (const RankSpread& each : {up, down}) {
    CHECK(each.min.rank == 3);
    CHECK(each.max.rank == 3);
  }
}

TEST_CASE("Rank record: an empty one changes nothing and has no rank") {
  RankSpread spread;
  CHECK(spread.max.rank == RankTotal::kNobody);
  CHECK(spread.mean_ns() == 0);
  CHECK(spread.imbalance() == 0);
  add_rank(spread, 4, 0);
  CHECK(spread.max.rank == 4);
  CHECK(spread.min.rank == 4);
  RankRecord record = sample_record();
  const std::string before = pack(record);
  merge_into(record, RankRecord());
  CHECK((pack(record) == before));
  RankRecord empty;
  merge_into(empty, record);
  CHECK((pack(empty) == before));
}

TEST_CASE("Rank record: sums 100 000 ranks of a week each exactly") {
  constexpr std::uint64_t kWeekNs = std::uint64_t{7} * 86'400 * 1'000'000'000;
  RankSpread half;
  for (std::uint32_t rank = 0; rank < 50'000; ++rank) { add_rank(half, rank, kWeekNs); }
  RankSpread other;
  for (std::uint32_t rank = 50'000; rank < 100'000; ++rank) { add_rank(other, rank, kWeekNs + rank); }
  merge_into(half, other);
  Wide sum = 0;
  for (std::uint32_t rank = 0; rank < 100'000; ++rank) { sum += kWeekNs + (rank < 50'000 ? 0 : rank); }
  CHECK(half.sum_ns == sum);
  CHECK(half.sum_ns > ~std::uint64_t{0});  // 64 bits would overflow
  // A week has its own bucket, far below the histogram's end.
  CHECK(static_cast<double>(half.totals_us.percentile_ns(0.5)) == Approx(kWeekNs / 1000.0).epsilon(0.008));
}

TEST_CASE("Rank record: any order and any tree give the same bits") {
  const int ranks = from_environment("TAKT_TEST_RANKS", takt_test::kSanitized ? 1000 : 2000);
  const int shuffles = from_environment("TAKT_TEST_SHUFFLES", takt_test::kSanitized ? 2 : 20);
  const std::vector<RankPathName> names = simulated_names();
  std::vector<std::uint32_t> order(static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < order.size(); ++at) { order[at] = static_cast<std::uint32_t>(at); }
  RankRecord in_turn;
  for (const std::uint32_t rank : order) { add_simulated(in_turn, rank, names); }
  const std::string expected = pack(in_turn);
  Random random(takt_test::test_seed());
  for (int shuffle = 0; shuffle < shuffles; ++shuffle) {
    for (std::size_t at = order.size(); at > 1; --at) { std::swap(order[at - 1], order[random.below(at)]); }
    REQUIRE((pack(by_tree(order, 0, order.size(), random, names)) == expected));
  }
  // The bits are correct: path 4, which has stream spans, is summed here.
  RankSpread path;
  std::uint64_t present = 0;
  Wide total = 0;
  std::pair<std::uint64_t, std::uint32_t> max{0, 0};
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) {
    const SimulatedPath made = simulated_path(rank, 4);
    if (!made.present) { continue; }
    ++present;
    total += made.host.total_ns();
    if (made.host.total_ns() > max.first) { max = {made.host.total_ns(), rank}; }
  }
  const takt::detail::RankPath& found = in_turn.paths.at(names[4]);
  CHECK(present < order.size());
  CHECK(found.host_totals.ranks == present);
  CHECK(found.host_totals.sum_ns == total);
  CHECK(found.host_totals.max.ns == max.first);
  CHECK(found.host_totals.max.rank == max.second);
  CHECK(found.host_totals.totals_us.total() == present);
  CHECK(found.device_totals.ranks == present);
  CHECK(found.host.n() == 2 * present);
  CHECK(in_turn.wall.ranks == order.size());
}

TEST_CASE("Rank record: packing restores everything") {
  RankRecord record = sample_record();
  add_path(record, 2, {"a/b", std::string("nul\0nul", 7), ""}, Kind::wait, Summary(), Summary());
  const std::string bytes = pack(record);
  const RankRecord back = unpack(bytes);
  CHECK((pack(back) == bytes));
  REQUIRE(back.paths.size() == record.paths.size());
  const auto& [name, path] = *back.paths.find({"a/b", std::string("nul\0nul", 7), ""});
  CHECK(name.size() == 3);
  CHECK(path.kind == Kind::wait);
  CHECK(path.host_totals.ranks == 1);
  const auto& before = record.paths.begin()->second;
  const auto& after = back.paths.begin()->second;
  CHECK(after.host.sum_of_squares() == before.host.sum_of_squares());
  CHECK(after.host.percentile_ns(0.5) == before.host.percentile_ns(0.5));
  CHECK(after.host_totals.stdev_ns() == before.host_totals.stdev_ns());
  // A restored record continues like one that was never packed.
  RankRecord more = back;
  merge_into(more, back);
  merge_into(record, unpack(bytes));
  CHECK((pack(more) == pack(record)));
}

TEST_CASE("Rank record: refuses bytes that are cut off, too many or flipped") {
  const std::string bytes = pack(sample_record());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    REQUIRE_THROWS_AS(unpack(std::string_view(bytes).substr(0, length)), takt::Error);
  }
  REQUIRE_THROWS_WITH(unpack(bytes + "x"), takt_test::containing("header"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << (at % 8)));
    REQUIRE_THROWS_AS(unpack(flipped), takt::Error);
  }
  std::string flipped = bytes;
  flipped[30] = static_cast<char>(flipped[30] ^ 1);
  CHECK_THROWS_WITH(unpack(flipped), takt_test::containing("damaged"));
  const std::string other = "nothing of the kind, but long enough";
  CHECK_THROWS_WITH(unpack(other), takt_test::containing("36 bytes"));
}

TEST_CASE("Rank record: refuses a newer version and names the remedy") {
  std::string bytes = pack(sample_record());
  bytes[8] = 7;
  CHECK_THROWS_WITH(unpack(resealed(bytes)), takt_test::containing("version 7"));
  CHECK_THROWS_WITH(unpack(resealed(bytes)), takt_test::containing("up to 1"));
}

TEST_CASE("Rank record: refuses impossible values even with a valid checksum") {
  const std::string bytes = pack(sample_record());
  CHECK_THROWS_WITH(unpack(resealed(bytes + "x")), takt_test::containing("values"));
  CHECK_THROWS_WITH(unpack(resealed(bytes.substr(0, bytes.size() - 3))), takt_test::containing("rank record: "));
  // Any changed byte gives an error or a record, without access outside its memory.
  Random random(takt_test::test_seed());
  for (int round = 0; round < takt_test::scaled(20'000); ++round) {
    std::string other = bytes;
    other[24 + random.below(other.size() - 24)] = static_cast<char>(random.below(256));
    try {
      const RankRecord made = unpack(resealed(other));
      CHECK(unpack(pack(made)).paths.size() == made.paths.size());
    } catch (const takt::Error&) {  // an error is acceptable
    }
  }
}

TEST_CASE("Rank record: takes every path of a snapshot") {
  takt::Snapshot snapshot = takt_test::sample_snapshot();
  snapshot.run.rank = 3;
  const RankRecord record = record_of(snapshot);
  CHECK(record.wall.ranks == 1);
  CHECK(record.wall.max.rank == 3);
  CHECK(record.wall.max.ns == static_cast<std::uint64_t>(snapshot.wall_ns));
  REQUIRE(record.paths.size() == snapshot.paths.size());
  const auto& backward = record.paths.at({"Epoch", "Batch", "Backward"});
  const auto place = std::find_if(snapshot.paths.begin(), snapshot.paths.end(),
                                  [](const takt::PathStats& each) { return each.name == "Backward"; });
  CHECK(backward.host.total_ns() == place->host.total_ns());
  CHECK(backward.host_totals.max.rank == 3);
  CHECK(backward.device_totals.sum_ns == place->device.total_ns());
  CHECK(record.paths.at({"Epoch", "Batch", "IO"}).device_totals.ranks == 0);
}

TEST_CASE("Rank record: paths that differ only in their kind are one") {
  takt::Snapshot snapshot = takt_test::sample_snapshot();
  takt::PathStats twin = snapshot.paths[0];
  twin.kind = Kind::wait;
  snapshot.paths[0].kind = Kind::io;
  snapshot.paths.push_back(twin);
  const RankRecord record = record_of(snapshot);
  const auto& path = record.paths.at({twin.name});
  CHECK(path.kind == Kind::io);
  CHECK(path.host.n() == 2 * twin.host.n());
  CHECK(path.host_totals.ranks == 1);
  CHECK(path.host_totals.max.ns == 2 * twin.host.total_ns());
}

TEST_CASE("Rank record: a rank's journal gives the same record as the rank itself") {
  const takt_test::Scratch scratch;
  takt::Snapshot snapshot = takt_test::sample_snapshot();
  snapshot.run.rank = 5;
  takt::detail::JournalExporter writer(scratch.path(""), takt_test::plain_journal());
  REQUIRE(writer.export_snapshot(snapshot) == takt::ExportResult::ok);
  takt::detail::JournalReader reader(scratch.path(""));
  takt::Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK((pack(record_of(read)) == pack(record_of(snapshot))));
}
