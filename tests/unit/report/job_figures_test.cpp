// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_figures.hpp"
#include "report/job_report.hpp"

#include <takt/exporters/json.hpp>

#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/snapshot_builder.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace takt_test;
using nlohmann::json;
using takt::Snapshot;

namespace {

constexpr std::uint64_t kJobFiguresSecond = 1'000'000'000;

/// Returns a rank with 60 steps of 10 ms, of which it computes 8 ms on rank 3 and 6 ms on others.
takt::detail::GatheredRank compared_rank(std::uint32_t number) {
  constexpr std::int64_t kMs = 1'000'000;
  Snapshot snapshot;
  const std::uint32_t zeta = add_path(snapshot, "Zeta");
  const std::uint32_t forward = add_path(snapshot, "Forward", zeta, takt::Kind::compute);
  const std::uint32_t comm = add_path(snapshot, "Comm", zeta, takt::Kind::comm);
  add_series(snapshot, zeta, add_thread(snapshot, "main"));
  for (std::uint64_t step = 0; step < 60; ++step) {
    takt::Row& row = add_row(snapshot, 0, step);
    const std::int64_t computes = (number == 3 ? 8 : 6) * kMs;
    row.host_ns = 10 * kMs;
    row.cells = {{forward, 1, computes}, {comm, 1, 10 * kMs - computes}};
  }
  takt::detail::GatheredRank rank;
  rank.who.number = number;
  rank.who.host = "n" + std::to_string(number);
  rank.steps = takt::detail::RankSteps(10'000);
  rank.steps.add(snapshot);
  takt::detail::RankSeries& series = rank.series.emplace_back();
  series.path = {"Zeta"};
  series.thread = "main";
  series.throughput.steps = 60;
  series.throughput.items = 600;
  series.throughput.period_ns = (number + 1) * kJobFiguresSecond;
  return rank;
}

/// Returns rank 0's reduction: Zeta > Forward, then Alpha; rank 2 of 4 is missing, and rank 3 has a path of its own.
Snapshot reduced() {
  Snapshot snapshot;
  snapshot.run.name = "net";
  snapshot.run.id = "net-1";
  snapshot.run.world_size = 4;
  snapshot.run.directory = "runs/net-1/rank-0";
  snapshot.finished = true;
  const std::uint32_t zeta = add_path(snapshot, "Zeta");
  add_path(snapshot, "Forward", zeta, takt::Kind::compute);
  add_path(snapshot, "Alpha");
  snapshot.losses.push_back({"end_without_start", "Optimizer", 1});
  takt::RankRecord record;
  std::vector<takt::detail::GatheredRank> ranks;
  for (const std::uint32_t rank : {0U, 1U, 3U}) {
    ranks.push_back(compared_rank(rank));
    takt::Summary whole;
    takt::Summary part;
    whole.add(8 * kJobFiguresSecond);
    part.add((rank + 1) * kJobFiguresSecond);
    add_rank(record.wall, rank, 10 * kJobFiguresSecond);
    takt::detail::add_path(record, rank, {"Zeta"}, takt::Kind::other, whole, {});
    takt::detail::add_path(record, rank, {"Zeta", "Forward"}, takt::Kind::compute, part,
                           rank == 3 ? part : takt::Summary());
    takt::detail::add_path(record, rank, {"Alpha"}, takt::Kind::other, whole, {});
    if (rank == 3) { takt::detail::add_path(record, rank, {"Zeta", "Extra"}, takt::Kind::io, part, {}); }
  }
  snapshot.job = takt::detail::job_of(record, ranks, snapshot, 4, {2});
  return snapshot;
}

}  // namespace

TEST_CASE("Job figures: paths are in rank 0's order as whole trees, with those of other ranks added") {
  const Snapshot snapshot = reduced();
  const takt::Job& job = *snapshot.job;
  std::vector<std::string> names;
  for (std::uint32_t path = 0; path < job.paths.size(); ++path) { names.push_back(job.path_name(path)); }
  CHECK(names == std::vector<std::string>{"Zeta", "Zeta/Forward", "Zeta/Extra", "Alpha"});
  const takt::JobPath& forward = job.paths[1];
  CHECK(forward.parent == 0);
  CHECK(forward.depth == 1);
  CHECK(forward.host.n() == 3);
  CHECK(forward.host_total.ranks == 3);
  CHECK(forward.host_total.mean_ns == Approx(7e9 / 3));
  CHECK(forward.host_total.min_ns == kJobFiguresSecond);
  CHECK(forward.host_total.min_rank == 0);
  CHECK(forward.host_total.max_ns == 4 * kJobFiguresSecond);
  CHECK(forward.host_total.max_rank == 3);
  CHECK(forward.host_total.imbalance == Approx(4 * 3 / 7.0 - 1));
  CHECK(forward.share == Approx(7 / 30.0));
  CHECK(forward.device_total.ranks == 1);
  CHECK(job.paths[2].host_total.ranks == 1);
  CHECK(job.paths[3].device_total.ranks == 0);
}

TEST_CASE("Job figures: the table of rank 0 is that of the job and names missing ranks") {
  const std::string text = takt::detail::format_job(takt::detail::report_of_job(reduced()), {200, false});
  INFO(text);
  CHECK(line_mentions(text, {"net", "net-1", "3", "10.0 s"}));
  CHECK(line_mentions(text, {"Extra", "1 of 3"}));
  CHECK(line_mentions(text, {"1", "4", "2"}));
  CHECK(line_mentions(text, {"takt report runs/net-1"}));
  CHECK(line_mentions(text.substr(0, text.find("region ")), {"rank 3", "n3", "Forward", "2.00 ms"}));
  CHECK(line_mentions(text, {"Zeta", "450", "rank 3, main"}));
  CHECK(line_mentions(text, {"66.7 %", "83.3 %", "80.0 %", "60"}));
  CHECK(line_mentions(text, {"rank 0, Optimizer"}));
}

TEST_CASE("Job figures: there is no throughput if no rank has a rate") {
  Snapshot snapshot;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  snapshot.job = takt::detail::job_of(takt::detail::record_of(snapshot), {}, snapshot, 1, {});
  CHECK(snapshot.job->throughput.empty());
  CHECK(snapshot.job->comparison.findings.empty());
}

TEST_CASE("Job figures: only the summary.json of rank 0 has them") {
  const json job = json::parse(takt::format_json(reduced()))["job"];
  CHECK(job["ranks"] == 3);
  CHECK(job["world_size"] == 4);
  CHECK(job["missing_ranks"] == json({2}));
  CHECK(job["wall"]["max_ns"] == 10 * kJobFiguresSecond);
  CHECK(job["paths"][1]["path"] == "Zeta/Forward");
  CHECK(job["paths"][1]["n"] == 3);
  CHECK(job["paths"][1]["total"]["max_rank"] == 3);
  CHECK(job["paths"][1]["device_total"]["ranks"] == 1);
  CHECK(job["paths"][0]["device_total"].is_null());
  CHECK(job["findings"][0]["what"] == "slow_rank");
  CHECK(job["findings"][0]["cost"]["ns"].get<double>() == Approx(60 * 2e6));
  CHECK(job["steps"] == 60);
  CHECK(job["one_step_in"] == 1);
  CHECK(job["ranks_left_out"] == 0);
  CHECK(job["efficiency"]["load_balance"].get<double>() == Approx(20 / 24.0));
  CHECK(job["pipeline"].is_null());
  CHECK(job["throughput"][0]["path"] == "Zeta");
  CHECK(job["throughput"][0]["items"] == 1800);
  CHECK(job["throughput"][0]["slowest"] == "rank 3, main");
  CHECK(json::parse(takt::format_json(Snapshot()))["job"].is_null());
}
