// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_data.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <takt/exporters/json.hpp>

#include <nlohmann/json.hpp>

#include <string>

using takt::Snapshot;
using takt::detail::PagePaths;
using takt_test::add_path;

TEST_CASE("page: path figures equal those of summary.json") {
  const Snapshot snapshot = takt_test::sample_snapshot();
  const PagePaths paths(snapshot);
  const auto page = nlohmann::json::parse(paths.json().text());
  const auto summary = nlohmann::json::parse(takt::format_json(snapshot));
  REQUIRE(page.size() == snapshot.paths.size());
  for (std::size_t at = 0; at < page.size(); ++at) {
    const auto& here = page[at];
    const auto& there = summary["paths"][paths.shown()[at]];
    CHECK(here["name"] == there["name"]);
    CHECK(here["kind"] == there["kind"]);
    CHECK(here["self_ns"] == there["self_ns"]);
    CHECK(here["share"] == there["share_of_parent"]);
    for (const char* field : {"n", "total_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"}) {
      INFO(field);
      CHECK(here[field] == there["host"][field]);
      if (here.contains("device")) { CHECK(here["device"][field] == there["device"][field]); }
    }
    CHECK(here.contains("device") == !there["device"].is_null());
    const auto& counts = here["histogram"];
    std::uint64_t sum = 0;
    for (std::size_t place = 1; place < counts.size(); ++place) { sum += counts[place].get<std::uint64_t>(); }
    CHECK(sum == snapshot.paths[paths.shown()[at]].host.measured_n());
  }
}

TEST_CASE("page: of too many paths it shows the longest with their ancestors") {
  Snapshot snapshot;
  std::uint32_t parent = takt::kNoIndex;
  for (int depth = 0; depth < 50; ++depth) { parent = add_path(snapshot, "level", parent); }
  const std::uint32_t deepest = parent;
  snapshot.paths[deepest].host.add(1'000'000'000);
  for (int at = 0; at < 4000; ++at) {
    const std::uint32_t path = add_path(snapshot, "small " + std::to_string(at));
    snapshot.paths[path].host.add(1000 + static_cast<std::uint64_t>(at));
  }
  const PagePaths paths(snapshot);
  CHECK(paths.shown().size() == PagePaths::kMax);
  CHECK(paths.left_out() == snapshot.paths.size() - PagePaths::kMax);
  CHECK(paths.number(deepest) == 49);
  CHECK(paths.number(50) == PagePaths::kNone);
  CHECK(paths.number(static_cast<std::uint32_t>(snapshot.paths.size() - 1)) != PagePaths::kNone);
  CHECK(paths.number(takt::kNoIndex) == PagePaths::kNone);
  CHECK(paths.without_histogram() == PagePaths::kMax - 49 - PagePaths::kMaxHistograms);
  for (const std::uint32_t each : paths.shown()) {
    const std::uint32_t above = snapshot.paths[each].parent;
    if (above != takt::kNoIndex) { CHECK(paths.number(above) < paths.number(each)); }
  }
}

TEST_CASE("page: matches paths of a rank to those of the job by name, kind and position") {
  Snapshot job;
  const std::uint32_t epoch = add_path(job, "Epoch");
  const std::uint32_t batch = add_path(job, "Batch", epoch);
  add_path(job, "IO", batch, takt::Kind::io);
  Snapshot rank;
  const std::uint32_t other = add_path(rank, "Other");
  const std::uint32_t below = add_path(rank, "Epoch", other);
  const std::uint32_t its_epoch = add_path(rank, "Epoch");
  const std::uint32_t its_batch = add_path(rank, "Batch", its_epoch);
  const std::uint32_t its_io = add_path(rank, "IO", its_batch, takt::Kind::io);
  const std::uint32_t of_another_kind = add_path(rank, "IO", its_batch, takt::Kind::compute);
  const std::vector<int> numbers = PagePaths(job).numbers_in(rank);
  CHECK(numbers[other] == PagePaths::kNone);
  CHECK(numbers[below] == PagePaths::kNone);  // not the one at the top
  CHECK(numbers[its_epoch] == 0);
  CHECK(numbers[its_batch] == 1);
  CHECK(numbers[its_io] == 2);
  CHECK(numbers[of_another_kind] == PagePaths::kNone);
}
