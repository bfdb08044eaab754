// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_blocks.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace takt::detail;
using takt::Cell;
using takt::Metric;
using takt::Row;

namespace {

std::int64_t any_number(takt_test::Random& random) {
  switch (random.below(4)) {
    case 0:
      return static_cast<std::int64_t>(random.below(100));
    case 1:
      return -static_cast<std::int64_t>(random.below(1'000'000));
    case 2:
      return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(random.below(3));
    default:
      return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random.below(3));
  }
}

bool same(const Row& a, const Row& b) {
  const auto same_cell = [](const Cell& x, const Cell& y) {
    return x.path == y.path && x.calls == y.calls && x.host_ns == y.host_ns && x.device_ns == y.device_ns;
  };
  return a.sequence == b.sequence && a.series == b.series && a.step == b.step && a.begin_ns == b.begin_ns &&
         a.host_ns == b.host_ns && a.period_ns == b.period_ns && a.items == b.items && a.warmup == b.warmup &&
         a.complete == b.complete &&
         std::equal(a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(), same_cell);
}

/// Returns training rows: consecutive steps of one series, with some microseconds in each column.
std::vector<Row> plain_rows(std::size_t count, std::uint32_t columns) {
  takt_test::Random random(5);
  std::vector<Row> rows;
  std::int64_t now = 1'000'000'000;
  for (std::size_t at = 0; at < count; ++at) {
    Row row;
    row.sequence = 100 + at;
    row.series = 3;
    row.step = static_cast<std::int64_t>(at);
    row.items = 64;
    row.begin_ns = now + 150;
    for (std::uint32_t column = 0; column < columns; ++column) {
      const auto ns = static_cast<std::int64_t>(1'000 + random.below(60'000));
      row.cells.push_back({column, 1, ns, Cell::kAbsent});
      row.host_ns += ns + 40;
    }
    row.period_ns = at == 0 ? std::nullopt : std::optional<std::int64_t>(row.begin_ns + row.host_ns - now);
    now = row.begin_ns + row.host_ns;
    rows.push_back(row);
  }
  return rows;
}

/// Writes rows to frames and reads them back.
std::vector<Row> read_again(const std::vector<Row>& rows, std::size_t* bytes = nullptr) {
  FrameBuffer out(0);
  RowBlocks blocks(out);
  for (const Row& row : rows) { blocks.add(row); }
  blocks.flush();
  std::vector<Row> read;
  std::string_view left = out.bytes();
  for (Frame frame; !left.empty(); left.remove_prefix(frame.bytes)) {
    REQUIRE(parse_frame(left, frame));
    REQUIRE(frame.type == static_cast<std::uint16_t>(FrameType::rows));
    std::vector<Row> part;
    REQUIRE(read_rows(frame.payload, part));
    REQUIRE(part.size() <= RowBlocks::kMaxRows);
    read.insert(read.end(), part.begin(), part.end());
  }
  if (bytes != nullptr) { *bytes = out.bytes().size(); }
  return read;
}

}  // namespace

TEST_CASE("journal blocks: a step of eight columns of microseconds takes at most 40 bytes") {
  const std::vector<Row> rows = plain_rows(1000, 8);
  std::size_t bytes = 0;
  const std::vector<Row> read = read_again(rows, &bytes);
  REQUIRE(read.size() == rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) { REQUIRE(same(read[at], rows[at])); }
  REQUIRE(bytes <= 40 * rows.size());
}

TEST_CASE("journal blocks: restores any rows exactly, in any order of series, with gaps in their numbers") {
  takt_test::Random random(takt_test::test_seed());
  for (int round = 0; round < 200; ++round) {
    std::vector<Row> rows;
    std::uint64_t sequence = random.below(1000);
    for (std::uint64_t at = random.below(40); at-- > 0;) {
      Row row;
      row.sequence = sequence++;
      if (random.chance(5)) { sequence += random.below(5); }
      row.series = static_cast<std::uint32_t>(random.below(3));
      row.step = any_number(random);
      row.begin_ns = any_number(random);
      row.host_ns = any_number(random);
      if (const std::int64_t ns = any_number(random); ns >= 0) { row.period_ns = ns; }
      row.items = any_number(random);
      row.warmup = random.chance(50);
      row.complete = random.chance(50);
      for (std::uint64_t cells = random.below(5); cells-- > 0;) {
        row.cells.push_back({static_cast<std::uint32_t>(random.below(4)), static_cast<std::uint32_t>(random.below(3)),
                             any_number(random), random.chance(30) ? any_number(random) : Cell::kAbsent});
      }
      if (!rows.empty() && random.chance(50)) {
        row.cells = rows.back().cells;
        row.items = rows.back().items;
        row.step = rows.back().step == std::numeric_limits<std::int64_t>::max() ? 0 : rows.back().step + 1;
      }
      rows.push_back(row);
    }
    const std::vector<Row> read = read_again(rows);
    REQUIRE(read.size() == rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) { REQUIRE(same(read[at], rows[at])); }
  }
}

TEST_CASE("journal blocks: reads nothing or less from a cut or changed payload, never beyond its end") {
  FrameBuffer out(0);
  RowBlocks blocks(out);
  const std::vector<Row> rows = plain_rows(50, 8);
  for (const Row& row : rows) { blocks.add(row); }
  blocks.flush();
  Frame frame;
  REQUIRE(parse_frame(out.bytes(), frame));
  takt_test::Random random(takt_test::test_seed());
  for (std::size_t cut = 0; cut < frame.payload.size(); ++cut) {
    std::vector<Row> read;
    const std::string exact(frame.payload.substr(0, cut));  // so that a sanitizer detects reads beyond the end
    REQUIRE_FALSE(read_rows(exact, read));
    REQUIRE(read.size() < rows.size());
  }
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes(frame.payload);
    for (int change = 0; change < 3; ++change) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    std::vector<Row> read;
    (void)read_rows(bytes, read);
    std::vector<Metric> metrics;
    (void)read_metrics(bytes, metrics);
    REQUIRE(read.size() <= bytes.size());
  }
}

TEST_CASE("journal blocks: restores metrics exactly and in little space") {
  takt_test::Random random(6);
  std::vector<Metric> metrics;
  std::int64_t now = 1'772'360'131'000'000'000;
  std::uint64_t sequence = 0;
  for (int at = 0; at < 5'000; ++at) {
    Metric metric;
    metric.sequence = sequence++;
    if (random.chance(1)) { sequence += 3; }
    metric.name = at % 3 == 0 ? "loss" : "val/mAP@0.5";
    metric.value = at % 100 == 0 ? std::numeric_limits<double>::infinity() : 1.0 / (at + 1);
    metric.step = at / 10;
    metric.time_unix_ns = now += 150;
    metrics.push_back(metric);
  }
  FrameBuffer out(0);
  add_metrics(out, metrics);
  REQUIRE(out.bytes().size() <= 16 * metrics.size());
  std::vector<Metric> read;
  std::string_view left = out.bytes();
  for (Frame frame; !left.empty(); left.remove_prefix(frame.bytes)) {
    REQUIRE(parse_frame(left, frame));
    REQUIRE(frame.type == static_cast<std::uint16_t>(FrameType::metrics));
    REQUIRE(read_metrics(frame.payload, read));
  }
  REQUIRE(read.size() == metrics.size());
  for (std::size_t at = 0; at < metrics.size(); ++at) {
    REQUIRE(read[at].sequence == metrics[at].sequence);
    REQUIRE(read[at].name == metrics[at].name);
    REQUIRE(read[at].value == metrics[at].value);
    REQUIRE(read[at].step == metrics[at].step);
    REQUIRE(read[at].time_unix_ns == metrics[at].time_unix_ns);
  }
}
