// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_report.hpp"

#include "report/job_throughput.hpp"
#include "report/text_table.hpp"

#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace takt_test;
using takt::Snapshot;
using takt::detail::JobReport;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Batch > Forward on `ranks` ranks of 10 s; rank r is in Batch for 8 s, and in Forward for r + 1 s.
JobReport some_job(std::uint32_t ranks) {
  JobReport job;
  job.sum.run.name = "net";
  job.sum.run.id = "net-1";
  job.sum.run.rank = -1;
  job.sum.run.world_size = static_cast<int>(ranks);
  job.sum.wall_ns = static_cast<std::int64_t>(10 * kSecond);
  job.sum.finished = true;
  const std::uint32_t batch = add_path(job.sum, "Batch");
  const std::uint32_t forward = add_path(job.sum, "Forward", batch, takt::Kind::compute);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    takt::Summary whole;
    takt::Summary part;
    whole.add(8 * kSecond);
    part.add((rank + 1) * kSecond);
    takt::detail::add_rank(job.record.wall, rank, 10 * kSecond);
    takt::detail::add_path(job.record, rank, {"Batch"}, takt::Kind::other, whole, {});
    takt::detail::add_path(job.record, rank, {"Batch", "Forward"}, takt::Kind::compute, part, {});
    job.sum.paths[batch].host.merge(whole);
    job.sum.paths[forward].host.merge(part);
  }
  return job;
}

void add_series_of(Snapshot& sum, const std::string& thread, std::uint64_t items, std::uint64_t period_ns) {
  takt::Throughput& throughput = sum.series[add_series(sum, 0, add_thread(sum, thread))].throughput;
  throughput.steps = 200;
  throughput.items = items;
  throughput.period_ns = period_ns;
  throughput.items_per_s = static_cast<double>(items) * 1e9 / static_cast<double>(period_ns);
  throughput.items_low = throughput.items_per_s * 0.9;
  throughput.items_high = throughput.items_per_s * 1.1;
  throughput.steps_per_s = 200e9 / static_cast<double>(period_ns);
  throughput.windows = 40;
  throughput.no_interval = takt::NoInterval::none;
}

}  // namespace

TEST_CASE("the table of a job says how ranks lie beside each other, and which one has most") {
  const std::string text = takt::detail::format_job(some_job(4), 100, false);
  INFO(text);
  CHECK(contains(text, "Takt: net, run net-1, 4 ranks, took 10.0 s"));
  CHECK(contains(text, "region     n    mean     min     max  rank  imbalance   share\n"));
  CHECK(contains(text, "Batch      4  8.00 s  8.00 s  8.00 s     0      0.0 %  80.0 %\n"));
  // (1 + 2 + 3 + 4) s of 4 x 10 s
  CHECK(contains(text, "  Forward  4  2.50 s  1.00 s  4.00 s     3     60.0 %  25.0 %\n"));
  CHECK_FALSE(contains(text, "on ranks"));
}

TEST_CASE("the table of a job says on how many ranks a path is, where some lack one") {
  JobReport job = some_job(4);
  takt::Summary rare;
  rare.add(kSecond);
  takt::detail::add_path(job.record, 2, {"Checkpoint"}, takt::Kind::io, rare, {});
  job.sum.paths[add_path(job.sum, "Checkpoint")].host.merge(rare);
  const std::string text = takt::detail::format_job(job, 120, false);
  INFO(text);
  CHECK(contains(text, "1 of 4\n"));
  CHECK(contains(text, "4 of 4\n"));
  CHECK(contains(text, "2.5 %"));  // 1 s of 4 x 10 s
}

TEST_CASE("the page of a job begins with who makes whom wait") {
  JobReport job = some_job(2);
  job.comparison.findings.resize(1);
  job.comparison.findings[0].sentence = "rank 1 makes the others wait";
  job.comparison.efficiency = {0.5, 0.8, 0.4};
  job.comparison.steps = 60;
  const std::string text = takt::detail::format_job(job, 100, false);
  CHECK(text.find("rank 1 makes the others wait\n") < text.find("region "));
  CHECK(contains(text,
                 "parallel efficiency 40.0 %: load balance 50.0 %, communication efficiency 80.0 %, over 60 steps\n"));
}

TEST_CASE("the rate of a job is what all ranks did, over the time of the slowest") {
  JobReport job = some_job(2);
  add_series_of(job.sum, "rank 0, main", 6400, 2 * kSecond);
  add_series_of(job.sum, "rank 1, main", 3200, 4 * kSecond);
  const auto jobs = takt::detail::job_throughputs(job.sum);
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].slowest == "rank 1, main");
  CHECK(jobs[0].throughput.items_per_s == Approx(2400));
  CHECK(jobs[0].throughput.items_low == Approx(2160));
  CHECK(jobs[0].throughput.items_high == Approx(2640));
  const std::string text = takt::detail::format_job(job, 200, false);
  CHECK(contains(text,
                 "Batch of all ranks: 2 400 samples/s, 95 % CI [2 160, 2 640], n = 40 windows; 50.0 steps/s, by the "
                 "slowest (rank 1, main)\n"));
}

TEST_CASE("a job without a step period has no rate, and says so") {
  JobReport job = some_job(2);
  add_series(job.sum, 0, add_thread(job.sum, "rank 0, main"));
  CHECK(takt::detail::job_throughputs(job.sum).empty());
  CHECK(contains(takt::detail::format_job(job, 100, false), "no throughput: on no rank a step period counts\n"));
}

TEST_CASE("what is of one rank and what is of all is told apart below the table of a job") {
  JobReport job = some_job(4);
  job.sum.clock.name = "tsc";
  job.sum.overhead_ns = 400'000'000;
  job.sum.process.cpu_ns = static_cast<std::int64_t>(20 * kSecond);
  job.sum.uncovered_ns = static_cast<std::int64_t>(kSecond);
  const std::string text = takt::detail::format_job(job, 200, false);
  CHECK(contains(text, "Takt's own cost: 400 ms (1.0 % of wall of all ranks)"));
  CHECK(contains(text, "processor time: 20.0 s in 40.0 s of wall of all ranks (50.0 %)"));
  CHECK(contains(text,
                 "no region: 1.00 s of 10.0 s (10.0 %) on the thread of the Session, on the rank where that is most"));
}

TEST_CASE("a path that ranks give different kinds stands once in the table of a job, with all that is below it") {
  JobReport job = some_job(2);
  add_path(job.sum, "Validation");
  const std::uint32_t again = add_path(job.sum, "Batch", takt::PathStats::kNoParent, takt::Kind::compute);
  takt::Summary more;
  more.add(kSecond);
  job.sum.paths[add_path(job.sum, "Comm", again, takt::Kind::comm)].host.merge(more);
  takt::detail::add_path(job.record, 1, {"Batch", "Comm"}, takt::Kind::comm, more, {});
  const std::string text = takt::detail::format_job(job, 120, false);
  INFO(text);
  CHECK(text.find("\nBatch ") == text.rfind("\nBatch "));
  CHECK(contains(text, "Batch       2 "));  // as its record says
  CHECK(text.find("  Forward") < text.find("  Comm"));
  CHECK(text.find("  Comm") < text.find("\nValidation"));
  CHECK(takt::detail::paths_by_name(job.sum) == std::vector<std::uint32_t>{0, 1, 4, 2});
}

TEST_CASE("the page of a job says what its findings do not rest on") {
  JobReport job = some_job(4);
  CHECK_FALSE(contains(takt::detail::format_job(job, 100, false), "compared"));
  job.comparison.findings.resize(1);
  job.comparison.findings[0].sentence = "rank 1 makes the others wait";
  job.comparison.steps = 1234;
  job.comparison.one_step_in = 8;
  job.comparison.left_out = 2;
  const std::string text = takt::detail::format_job(job, 100, false);
  INFO(text);
  CHECK(text.find("rank 1 makes the others wait\n") < text.find("compared: about"));
  CHECK(contains(text, "compared: about one step in 8, 1 234 steps; the times above are of these\n"));
  CHECK(contains(text, "not compared: 2 of 4 ranks, which have no steps where the others have most\n"));
  CHECK_FALSE(contains(text, "streams"));
  job.comparison.unexposed = 7;
  CHECK(
      contains(takt::detail::format_job(job, 200, false),
               "in 7 of 1 234 steps not all ranks tell for how long their streams waited (a region of CommWait tells): "
               "there the waiting of hosts alone counts\n"));
  job.comparison.findings.clear();
  CHECK(contains(takt::detail::format_job(job, 100, false), "compared: about one step in 8, 1 234 steps\n"));
}

TEST_CASE("columns of a table stand below their headings, however short the names and narrow the room") {
  const takt::detail::TextTable table({{"n", 0}}, {{"IO", 0, {"4"}}, {"a long name", 0, {"5"}}}, 4);
  CHECK(table.head() == "region  n");
  CHECK(table.body() == std::vector<std::string>{"IO      4", "a l…me  5"});
}

TEST_CASE("columns of words begin below each other, and go where there is no room for them") {
  const std::vector<takt::detail::TextTable::Line> lines = {{"a", 0, {"grün", "1"}}, {"bb", 0, {"x", "22"}}};
  const std::vector<takt::detail::TextColumn> columns = {{"state", 1, true, true}, {"n", 0}};
  const takt::detail::TextTable table(columns, lines, 80, "run");
  CHECK(table.head() == "run  state   n");
  CHECK(table.body() == std::vector<std::string>{"a    grün    1", "bb   x      22"});
  CHECK(takt::detail::TextTable(columns, lines, 8, "run").body() == std::vector<std::string>{"a     1", "bb   22"});
}

TEST_CASE("the page of a job says how long the stages of a pipeline wait, beside what is ideal") {
  JobReport job = some_job(2);
  CHECK_FALSE(contains(takt::detail::format_job(job, 200, false), "pipeline"));
  job.comparison.pipeline.stages = {{0, 1, 0.25}, {1, 1, 0.125}};
  CHECK(
      contains(takt::detail::format_job(job, 200, false),
               "pipeline of 2 stages, which wait for 25.0 % (stage 0), 12.5 % (stage 1) of their steps; the parameter "
               "micro_batches, the same on all ranks, tells what is ideal\n"));
  job.comparison.pipeline.micro_batches = 8;
  job.comparison.pipeline.ideal = 1.0 / 9;
  CHECK(contains(takt::detail::format_job(job, 200, false), "of their steps; ideal is 11.1 %, with 8 micro-batches\n"));
  job.comparison.pipeline.stages.resize(17);
  CHECK(contains(takt::detail::format_job(job, 2000, false), "pipeline of 17 stages"));
  CHECK(contains(takt::detail::format_job(job, 2000, false), ", ... of their steps"));
}

TEST_CASE("the page of a job tells of eight groups, and how many more there are") {
  JobReport job = some_job(2);
  for (int group = 0; group < 8; ++group) {
    job.comparison.findings.emplace_back().sentence = "group " + std::to_string(group) + " is alike";
  }
  CHECK(contains(takt::detail::format_job(job, 100, false), "group 7 is alike"));
  CHECK_FALSE(contains(takt::detail::format_job(job, 100, false), "groups of ranks"));
  job.comparison.findings.emplace_back().sentence = "group 8 is alike";
  CHECK_FALSE(contains(takt::detail::format_job(job, 100, false), "group 8"));
  CHECK(contains(takt::detail::format_job(job, 100, false), "1 more of 9 groups of ranks are in takt report --json"));
}
