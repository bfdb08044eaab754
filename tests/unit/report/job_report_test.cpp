// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_report.hpp"

#include "findings/findings.hpp"
#include "report/text_table.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace takt_test;
using takt::Series;
using takt::Snapshot;
using takt::detail::JobReport;

namespace {

constexpr std::uint64_t kJobReportSecond = 1'000'000'000;

/// Returns Batch > Forward on `ranks` ranks of 10 s; rank r spends 8 s in Batch and r + 1 s in Forward.
JobReport some_job(std::uint32_t ranks) {
  JobReport job;
  job.sum.run.name = "net";
  job.sum.run.id = "net-1";
  job.sum.run.rank = -1;
  job.sum.run.world_size = static_cast<int>(ranks);
  job.sum.wall_ns = static_cast<std::int64_t>(10 * kJobReportSecond);
  job.sum.finished = true;
  const std::uint32_t batch = add_path(job.sum, "Batch");
  const std::uint32_t forward = add_path(job.sum, "Forward", batch, takt::Kind::compute);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    takt::Summary whole;
    takt::Summary part;
    whole.add(8 * kJobReportSecond);
    part.add((rank + 1) * kJobReportSecond);
    takt::detail::add_rank(job.record.wall, rank, 10 * kJobReportSecond);
    takt::detail::add_path(job.record, rank, {"Batch"}, takt::Kind::other, whole, {});
    takt::detail::add_path(job.record, rank, {"Batch", "Forward"}, takt::Kind::compute, part, {});
    job.sum.paths[batch].host.merge(whole);
    job.sum.paths[forward].host.merge(part);
  }
  return job;
}

void add_series_of(Snapshot& sum, const std::string& thread, std::uint64_t items, std::uint64_t period_ns) {
  Series& series = sum.series[add_series(sum, 0, add_thread(sum, thread))];
  series.process = series.thread;
  takt::Throughput& throughput = series.throughput;
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

TEST_CASE("the table of a job shows the distribution over ranks and the rank with the maximum") {
  const std::string text = takt::detail::format_job(some_job(4), {100, false});
  INFO(text);
  CHECK(line_mentions(text, {"net", "net-1", "4", "10.0 s"}));
  CHECK(line_mentions(text, {"region", "n", "mean", "min", "max", "rank", "share"}));
  CHECK(line_mentions(text, {"Batch", "4  8.00 s  8.00 s  8.00 s", "0", "0.0 %  80.0 %"}));
  // (1 + 2 + 3 + 4) s of 4 x 10 s
  CHECK(line_mentions(text, {"Forward", "4  2.50 s  1.00 s  4.00 s", "3", "60.0 %  25.0 %"}));
  CHECK_FALSE(contains(text, "of 4"));
}

TEST_CASE("the table of a job shows the number of ranks with a path, if some lack it") {
  JobReport job = some_job(4);
  takt::Summary rare;
  rare.add(kJobReportSecond);
  takt::detail::add_path(job.record, 2, {"Checkpoint"}, takt::Kind::io, rare, {});
  job.sum.paths[add_path(job.sum, "Checkpoint")].host.merge(rare);
  const std::string text = takt::detail::format_job(job, {120, false});
  INFO(text);
  CHECK(contains(text, "1 of 4\n"));
  CHECK(contains(text, "4 of 4\n"));
  CHECK(contains(text, "2.5 %"));  // 1 s of 4 x 10 s
}

TEST_CASE("the page of a job starts with the ranks that make others wait") {
  JobReport job = some_job(2);
  job.comparison.findings.resize(1);
  job.comparison.findings[0].sentence = "rank 1 makes the others wait";
  job.comparison.efficiency = takt::JobEfficiency{0.5, 0.8, 0.4};
  job.comparison.steps = 60;
  const std::string text = takt::detail::format_job(job, {100, false});
  CHECK(text.find(job.comparison.findings[0].sentence) < text.find("region "));
  CHECK(line_mentions(text, {"40.0 %", "50.0 %", "80.0 %", "60"}));
}

TEST_CASE("the rate of a job is the work of all ranks divided by the slowest one's time") {
  JobReport job = some_job(2);
  add_series_of(job.sum, "rank 0, main", 6400, 2 * kJobReportSecond);
  add_series_of(job.sum, "rank 1, main", 3200, 4 * kJobReportSecond);
  const auto jobs = takt::detail::job_throughputs(job.sum);
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].slowest == "rank 1, main");
  CHECK(jobs[0].throughput.items_per_s == Approx(2400));
  CHECK(jobs[0].throughput.items_low == Approx(2160));
  CHECK(jobs[0].throughput.items_high == Approx(2640));
  const std::string text = takt::detail::format_job(job, {200, false});
  CHECK(line_mentions(text, {"Batch", "2 400", "[2 160, 2 640]", "40", "50.0", "rank 1, main"}));
}

/// Adds a series of 20 periods of 10 ms with 64 items each, that starts `from_ms` after the run.
Series& add_epoch_thread(Snapshot& sum, std::uint32_t process, std::uint64_t from_ms) {
  constexpr std::uint64_t kMs = kJobReportSecond / 1000;
  const std::string thread = std::to_string(process) + " from " + std::to_string(from_ms);
  Series& series = sum.series[add_series(sum, 0, add_thread(sum, thread))];
  series.process = process;
  takt::Throughput& throughput = series.throughput;
  throughput.steps = 20;
  throughput.items = 1280;
  throughput.period_ns = 200 * kMs;
  throughput.items_per_s = 6400;
  throughput.first_ns = from_ms * kMs;
  throughput.last_ns = (from_ms + 200) * kMs;
  return series;
}

TEST_CASE("times of consecutive threads are added, those of parallel threads are not") {
  Snapshot sum;
  add_path(sum, "Batch");
  SECTION("consecutive") {
    for (std::uint32_t epoch = 10; epoch-- > 0;) { add_epoch_thread(sum, 0, 300 * epoch); }
    const auto jobs = takt::detail::job_throughputs(sum);
    REQUIRE(jobs.size() == 1);
    CHECK(jobs[0].series == 10);
    CHECK(jobs[0].throughput.steps == 200);
    CHECK(jobs[0].throughput.items == 12'800);
    CHECK(jobs[0].throughput.period_ns == 2 * kJobReportSecond);
    CHECK(jobs[0].throughput.items_per_s == Approx(6400));
    CHECK(jobs[0].throughput.steps_per_s == Approx(100));
    CHECK(jobs[0].throughput.no_interval == takt::NoInterval::few_steps);
  }
  SECTION("parallel") {
    for (int thread = 0; thread < 10; ++thread) { add_epoch_thread(sum, 0, 100); }
    const auto jobs = takt::detail::job_throughputs(sum);
    CHECK(jobs[0].throughput.steps == 200);
    CHECK(jobs[0].throughput.period_ns == kJobReportSecond / 5);
    CHECK(jobs[0].throughput.items_per_s == Approx(64'000));
  }
  SECTION("parallel for half of the time") {
    add_epoch_thread(sum, 0, 0);
    add_epoch_thread(sum, 0, 100);
    CHECK(takt::detail::job_throughputs(sum)[0].throughput.period_ns == 3 * kJobReportSecond / 10);
  }
  SECTION("in two processes") {
    add_epoch_thread(sum, 0, 0);
    add_epoch_thread(sum, 0, 500);
    add_epoch_thread(sum, 1, 0);
    const auto jobs = takt::detail::job_throughputs(sum);
    CHECK(jobs[0].throughput.steps == 40);
    CHECK(jobs[0].throughput.items == 3 * 1280);
    CHECK(jobs[0].throughput.period_ns == 4 * kJobReportSecond / 10);
    CHECK(jobs[0].slowest == "0 from 0");
  }
  SECTION("with excluded periods among them") {  // half of the time of each
    add_epoch_thread(sum, 0, 0).throughput.last_ns *= 2;
    add_epoch_thread(sum, 0, 0).throughput.last_ns *= 2;
    CHECK(takt::detail::job_throughputs(sum)[0].throughput.period_ns == kJobReportSecond / 5);
  }
  SECTION("an interval as wide as if all errors had the same sign") {
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      takt::Throughput& each = add_epoch_thread(sum, 0, 300 * epoch).throughput;
      each.no_interval = takt::NoInterval::none;
      each.items_high = 6400 * (epoch == 0 ? 1.21 : 1.0);
      each.items_low = 6400 / (epoch == 0 ? 1.21 : 1.0);
    }
    const auto jobs = takt::detail::job_throughputs(sum);
    CHECK(jobs[0].throughput.items_high == Approx(6400 * 1.1));
    CHECK(jobs[0].throughput.items_low == Approx(6400 / 1.1));
  }
}

TEST_CASE("a job without a step period has no rate and says so") {
  JobReport job = some_job(2);
  const std::string before = takt::detail::format_job(job, {100, false});
  add_series(job.sum, 0, add_thread(job.sum, "rank 0, main"));
  CHECK(takt::detail::job_throughputs(job.sum).empty());
  CHECK(mentions(new_lines(before, takt::detail::format_job(job, {100, false})), {"throughput"}));
}

TEST_CASE("notes below a job's table distinguish data of one rank and of all ranks") {
  JobReport job = some_job(4);
  job.sum.clock.name = "tsc";
  job.sum.overhead_ns = 400'000'000;
  job.sum.process.cpu_ns = static_cast<std::int64_t>(20 * kJobReportSecond);
  job.sum.uncovered_ns = static_cast<std::int64_t>(kJobReportSecond);
  const std::string text = takt::detail::format_job(job, {200, false});
  CHECK(line_mentions(text, {"400 ms", "1.0 %", "all ranks"}));             // own cost
  CHECK(line_mentions(text, {"20.0 s", "40.0 s", "50.0 %", "all ranks"}));  // CPU time
  CHECK(line_mentions(text, {"1.00 s", "10.0 s", "10.0 %"}));               // in no region
}

TEST_CASE("a path with different kinds on different ranks is listed once in a job's table with its children") {
  JobReport job = some_job(2);
  add_path(job.sum, "Validation");
  const std::uint32_t again = add_path(job.sum, "Batch", takt::kNoIndex, takt::Kind::compute);
  takt::Summary more;
  more.add(kJobReportSecond);
  job.sum.paths[add_path(job.sum, "Comm", again, takt::Kind::comm)].host.merge(more);
  takt::detail::add_path(job.record, 1, {"Batch", "Comm"}, takt::Kind::comm, more, {});
  const std::string text = takt::detail::format_job(job, {120, false});
  INFO(text);
  CHECK(text.find("\nBatch ") == text.rfind("\nBatch "));
  CHECK(contains(text, "Batch       2 "));  // from its record
  CHECK(text.find("  Forward") < text.find("  Comm"));
  CHECK(text.find("  Comm") < text.find("\nValidation"));
  CHECK(takt::detail::paths_by_name(job.sum) == std::vector<std::uint32_t>{0, 1, 4, 2});
}

TEST_CASE("the page of a job lists data that its findings do not use") {
  JobReport job = some_job(4);
  const std::string before = takt::detail::format_job(job, {1000, false});
  job.comparison.findings.resize(1);
  job.comparison.findings[0].sentence = "rank 1 makes the others wait";
  job.comparison.steps = 1234;
  job.comparison.one_step_in = 8;
  job.comparison.left_out = 2;
  const std::string text = takt::detail::format_job(job, {1000, false});
  const std::string more = new_lines(before, text);
  INFO(more);
  CHECK(more.find("rank 1 makes the others wait\n") < more.find("1 234"));
  CHECK(line_mentions(more, {"8", "1 234"}));
  CHECK(line_mentions(more, {"2", "4"}));
  CHECK(std::count(more.begin(), more.end(), '\n') == 3);
  job.comparison.unexposed = 7;
  CHECK(mentions(new_lines(text, takt::detail::format_job(job, {1000, false})), {"7", "1 234", "CommWait"}));
  job.comparison.findings.clear();
  const std::string without = new_lines(text, takt::detail::format_job(job, {1000, false}));
  CHECK(line_mentions(without, {"8", "1 234"}));  // and no times above for these steps
}

TEST_CASE("table columns are below their headings for any length of names and any width") {
  const takt::detail::TextTable table({{"n", 0}}, {{"IO", 0, {"4"}}, {"a long name", 0, {"5"}}}, 4);
  CHECK(table.head() == "region  n");
  CHECK(table.body() == std::vector<std::string>{"IO      4", "a l…me  5"});
}

TEST_CASE("text columns are left-aligned and dropped if the table is too wide") {
  const std::vector<takt::detail::TextTable::Line> lines = {{"a", 0, {"grün", "1"}}, {"bb", 0, {"x", "22"}}};
  const std::vector<takt::detail::TextColumn> columns = {{"state", 1, true, true}, {"n", 0}};
  const takt::detail::TextTable table(columns, lines, 80, "run");
  CHECK(table.head() == "run  state   n");
  CHECK(table.body() == std::vector<std::string>{"a    grün    1", "bb   x      22"});
  const std::vector<std::string> narrow = {"a     1", "bb   22"};
  CHECK(takt::detail::TextTable(columns, lines, 8, "run").body() == narrow);
}

TEST_CASE("the page of a job shows the waiting of pipeline stages next to the ideal") {
  JobReport job = some_job(2);
  const std::string before = takt::detail::format_job(job, {2000, false});
  const auto reported = [&] { return new_lines(before, takt::detail::format_job(job, {2000, false})); };
  job.comparison.pipeline.stages = {{0, 1, 0.25}, {1, 1, 0.125}};
  CHECK(mentions(reported(), {"2", "25.0 % (stage 0)", "12.5 % (stage 1)", "micro_batches"}));
  job.comparison.pipeline.micro_batches = 8;
  job.comparison.pipeline.ideal = 1.0 / 9;
  CHECK(mentions(reported(), {"11.1 %", "8"}));
  CHECK_FALSE(mentions(reported(), {"micro_batches"}));
  job.comparison.pipeline.stages.resize(17);
  CHECK(mentions(reported(), {"17", ", ..."}));
}

TEST_CASE("the page of a job shows eight groups and the number of others") {
  JobReport job = some_job(2);
  for (int group = 0; group < 8; ++group) {
    job.comparison.findings.emplace_back().sentence = "group " + std::to_string(group) + " is alike";
  }
  CHECK(contains(takt::detail::format_job(job, {100, false}), "group 7 is alike"));
  CHECK_FALSE(contains(takt::detail::format_job(job, {100, false}), "more groups"));
  job.comparison.findings.emplace_back().sentence = "group 8 is alike";
  CHECK_FALSE(contains(takt::detail::format_job(job, {100, false}), "group 8"));
  CHECK(line_mentions(takt::detail::format_job(job, {100, false}), {"1", "takt report"}));
}

TEST_CASE("the golden text of a job has each kind of line") {
  JobReport job = some_job(4);
  takt::Summary rare;
  rare.add(kJobReportSecond);
  takt::detail::add_path(job.record, 2, {"Checkpoint"}, takt::Kind::io, rare, {});
  job.sum.paths[add_path(job.sum, "Checkpoint")].host.merge(rare);
  job.sum.paths[2].bytes = 2'500'000'000;
  add_series_of(job.sum, "rank 0, main", 6400, 2 * kJobReportSecond);
  add_series_of(job.sum, "rank 1, main", 3200, 4 * kJobReportSecond);
  job.sum.series[0].warmup_steps = 10;
  job.sum.clock.name = "tsc";
  job.sum.overhead_ns = 400'000'000;
  job.sum.process.cpu_ns = static_cast<std::int64_t>(20 * kJobReportSecond);
  job.sum.uncovered_ns = static_cast<std::int64_t>(kJobReportSecond);
  for (int group = 0; group < 9; ++group) {
    job.comparison.findings.emplace_back().sentence = "who makes group " + std::to_string(group) + " wait";
  }
  takt::Finding finding;
  finding.what = "input_bound";
  finding.sentence = "what holds up a step";
  for (const auto& [has_it, ranks] :
       {std::make_pair(1, 4), std::make_pair(3, 8), std::make_pair(4, 4), std::make_pair(63, 64)}) {
    std::vector<takt::detail::RankFindings> each(static_cast<std::size_t>(has_it));
    for (int rank = 0; rank < has_it; ++rank) { each[static_cast<std::size_t>(rank)] = {rank, {finding}}; }
    job.sum.findings.push_back(takt::detail::findings_of_ranks(each, ranks).at(0));
  }
  job.sum.findings.erase(job.sum.findings.begin());
  job.comparison.efficiency = takt::JobEfficiency{0.5, 0.8, 0.4};
  job.comparison.steps = 1234;
  job.comparison.one_step_in = 8;
  job.comparison.left_out = 2;
  job.comparison.unexposed = 7;
  job.comparison.pipeline.stages = {{0, 1, 0.25}, {1, 1, 0.125}};
  std::string text = takt::detail::format_job(job, {100, false});
  job.comparison.pipeline.micro_batches = 8;
  job.comparison.pipeline.ideal = 1.0 / 9;
  job.comparison.findings.clear();
  job.sum.findings = {takt::detail::findings_of_ranks({{3, {finding}}}, 4).at(0)};
  for (takt::Series& each : job.sum.series) { each.throughput = takt::Throughput(); }
  text += takt::detail::format_job(job, {100, false});
  check_golden("job_report.txt", text);
}
