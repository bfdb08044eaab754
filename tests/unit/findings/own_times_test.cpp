// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/step_history.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <map>
#include <string>

using takt::detail::own_times;
using takt::detail::OwnTime;
using takt_test::Random;

namespace {

using Times = std::map<std::uint32_t, std::uint64_t>;  // by path

/// Computes the same by definition: a path's time minus that of the paths directly below it.
Times by_definition(const takt::Snapshot& snapshot, const takt::Row& row) {
  Times all;
  for (const takt::Cell& each : row.cells) { all[each.path] += static_cast<std::uint64_t>(each.host_ns); }
  Times inside;
  for (const auto& [path, ns] : all) {
    const bool has_parent = path < snapshot.paths.size() && snapshot.paths[path].parent != takt::kNoIndex;
    if (has_parent) { inside[snapshot.paths[path].parent] += ns; }
  }
  Times own;
  for (const auto& [path, ns] : all) {
    if (path != snapshot.series[row.series].path) { own[path] = ns - std::min(ns, inside[path]); }
  }
  return own;
}

}  // namespace

TEST_CASE("Own times: independent of cell order and of missing paths") {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    takt::Snapshot snapshot;
    for (std::uint32_t path = 0; path < 12; ++path) {
      const bool at_top = path == 0 || random.below(4) == 0;
      takt_test::add_path(snapshot, "p" + std::to_string(path),
                          at_top ? takt::kNoIndex : static_cast<std::uint32_t>(random.below(path)));
    }
    takt_test::add_series(snapshot, static_cast<std::uint32_t>(random.below(12)), 0);
    takt::Row& row = takt_test::add_row(snapshot, 0, 0);
    row.cells.clear();
    const std::uint64_t cells = random.below(20);
    for (std::uint64_t cell = 0; cell < cells; ++cell) {
      const bool other = random.below(8) == 0;
      const auto path = other ? takt::kNoIndex : static_cast<std::uint32_t>(random.below(14));  // two are not paths
      row.cells.push_back({path, 1, static_cast<std::int64_t>(random.below(1000))});
    }
    if (round % 2 == 0) {
      std::sort(row.cells.begin(), row.cells.end(),
                [](const takt::Cell& a, const takt::Cell& b) { return a.path < b.path; });
    }
    Times own;
    std::uint32_t before = 0;
    for (const OwnTime& each : own_times(snapshot, row)) {
      CHECK(each.path >= before);
      before = each.path;
      CHECK(own.emplace(each.path, each.ns).second);
    }
    CHECK(own == by_definition(snapshot, row));
  }
}
