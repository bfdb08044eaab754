// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/snapshot.hpp>

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <limits>

using takt::Exposed;
using takt::Kind;
using takt::Snapshot;
using namespace takt_test;

namespace {

void add_cell(takt::Row& row, std::uint32_t path, std::int64_t device_ns) {
  takt::Cell cell;
  cell.path = path;
  cell.device_ns = device_ns;
  row.cells.push_back(cell);
}

}  // namespace

TEST_CASE("Exposed: a wait's key decides its purpose, else the enclosing region") {
  Snapshot snapshot;
  const std::uint32_t batch = add_path(snapshot, "Batch");
  const std::uint32_t backward = add_path(snapshot, "Backward", batch, Kind::compute);
  const std::uint32_t comm = add_path(snapshot, "Comm", backward, Kind::comm);
  const std::uint32_t load = add_path(snapshot, "Load", batch, Kind::io);
  const auto what = [&](std::uint32_t path) { return Exposed::what(snapshot, path); };
  CHECK(what(add_path(snapshot, "CommWait", backward, Kind::wait)) == Exposed::For::comm);
  CHECK(what(add_path(snapshot, "IOWait", backward, Kind::wait)) == Exposed::For::io);
  CHECK(what(add_path(snapshot, "IOWait", comm, Kind::wait)) == Exposed::For::io);
  const std::uint32_t mine = add_path(snapshot, "mine", comm, Kind::wait);
  CHECK(what(mine) == Exposed::For::comm);
  CHECK(what(add_path(snapshot, "mine", add_path(snapshot, "inner", load), Kind::wait)) == Exposed::For::io);
  CHECK(what(add_path(snapshot, "mine", backward, Kind::wait)) == Exposed::For::other);
  CHECK(what(add_path(snapshot, "CommWait", mine, Kind::wait)) == Exposed::For::nothing);
  CHECK(what(add_path(snapshot, "CommWait", backward, Kind::comm)) == Exposed::For::nothing);
  CHECK(what(comm) == Exposed::For::nothing);
  CHECK(what(takt::kNoIndex) == Exposed::For::nothing);
}

TEST_CASE("Exposed: per step sums the stream spans of waits, and absent is not 0") {
  Snapshot snapshot;
  const std::uint32_t batch = add_path(snapshot, "Batch");
  const std::uint32_t first = add_path(snapshot, takt::CommWait.name(), batch, takt::CommWait.kind());
  const std::uint32_t forward = add_path(snapshot, "Forward", batch, Kind::compute);
  const std::uint32_t second = add_path(snapshot, takt::CommWait.name(), forward, takt::CommWait.kind());
  const std::uint32_t io = add_path(snapshot, takt::IOWait.name(), batch, takt::IOWait.kind());
  takt::Row row;
  add_cell(row, forward, 1000);
  add_cell(row, io, takt::Cell::kAbsent);
  CHECK_FALSE(Exposed::of(snapshot, row).any());
  add_cell(row, first, 30);
  add_cell(row, second, 0);
  CHECK(Exposed::of(snapshot, row).comm_ns == 30);
  CHECK_FALSE(Exposed::of(snapshot, row).io_ns);
  CHECK_FALSE(Exposed::of(snapshot).any());
  snapshot.paths[first].device.add(30);
  snapshot.paths[first].device.add(20);
  snapshot.paths[second].device.add(5);
  CHECK(Exposed::of(snapshot).comm_ns == 55);
}

TEST_CASE("Exposed: sums of spans saturate at the maximum time") {
  Snapshot snapshot;
  const std::uint32_t batch = add_path(snapshot, "Batch");
  const std::uint32_t wait = add_path(snapshot, takt::CommWait.name(), batch, Kind::wait);
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  takt::Row row;
  add_cell(row, wait, greatest - 1);
  add_cell(row, wait, greatest - 1);
  CHECK(Exposed::of(snapshot, row).comm_ns == greatest);
}
