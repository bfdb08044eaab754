// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace.hpp"

#include <takt/error.hpp>

#include "cli/commands.hpp"
#include "support/catch.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/true_job.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

using namespace takt_test;
using nlohmann::json;

namespace {

json trace_of(const Scratch& scratch, const std::string& run) {
  const std::string file = scratch.path("trace.json");
  REQUIRE(takt::cli::trace(run, file, -1) == 0);
  return json::parse(std::ifstream(file));
}

/// Returns the starts of a rank's steps, in ns since 1970.
std::vector<std::int64_t> begins_in(const json& trace, int rank) {
  std::vector<std::int64_t> begins;
  const auto origin = trace["otherData"]["start_unix_ns"].get<std::int64_t>();
  for (const json& each : trace["traceEvents"]) {
    if (each["ph"] != "X" || each["pid"] != rank) { continue; }
    CHECK(each["name"] == "Batch " + std::to_string(begins.size()));
    begins.push_back(origin + std::llround(each["ts"].get<double>() * 1000));
  }
  return begins;
}

}  // namespace

TEST_CASE("takt trace: aligns shifted and drifting clocks of ranks within the stated error") {
  const Scratch scratch;
  constexpr std::size_t kSteps = 400;
  TrueJob job({{0, 0}, {86'400'000'000'000, 80e-6}, {-3'000'000, -40e-6}}, kSteps);
  const json trace = trace_of(scratch, job.write(scratch));
  CHECK(trace["otherData"]["clock_of_rank"] == 0);
  CHECK(trace["otherData"]["start_unix_ns"] == TrueJob::kStart);
  CHECK(trace["otherData"]["ranks"][0]["clock"] == "common");
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<std::int64_t> begins = begins_in(trace, rank);
    REQUIRE(begins.size() == kSteps);
    const json& clock = trace["otherData"]["ranks"][static_cast<std::size_t>(rank)];
    const std::int64_t error = rank == 0 ? 0 : clock["error_ns"].get<std::int64_t>();
    CHECK(error < 5000);
    std::int64_t worst = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
      worst = std::max(worst, std::abs(begins[step] - job.begin_ns(static_cast<std::size_t>(rank), step)));
    }
    INFO("rank " << rank << ", worst " << worst << " ns, stated " << error);
    CHECK(worst <= error + 1);
    if (rank == 0) { continue; }
    CHECK(clock["clock"] == "aligned");
    CHECK(clock["by"] == "collectives");
    CHECK(clock["collective"] == "Batch/Comm");
    CHECK(clock["collectives"] == kSteps);
    CHECK(clock["drift_ppm"].get<double>() == Approx(rank == 1 ? -80 : 40).margin(1));
  }
}

TEST_CASE("takt trace: clock readings of takt::mpi take precedence over ends of collectives") {
  const Scratch scratch;
  constexpr std::size_t kSteps = 400;
  const OtherClock shifted{86'400'000'000'000, 87.5e-6};
  TrueJob job({{0, 0}, shifted, {-3'000'000, -40e-6}}, kSteps);
  const auto reading = [&](std::size_t step, std::int64_t skew_ns) {
    const std::int64_t when = job.begin_ns(1, step);
    return takt::ClockReading{0, shifted.reading(when), when + skew_ns - shifted.reading(when), 300};
  };
  const bool once = GENERATE(false, true);
  job.rank(1).clock_readings = {reading(0, 250)};
  if (!once) { job.rank(1).clock_readings.push_back(reading(kSteps - 1, -250)); }
  const json trace = trace_of(scratch, job.write(scratch));
  const json& ranks = trace["otherData"]["ranks"];
  CHECK(ranks[1]["by"] == "answers");
  CHECK_FALSE(ranks[1].contains("collective"));
  CHECK(ranks[1]["drift_ppm"].get<double>() == Approx(once ? 0 : -87.5).margin(0.2));
  CHECK(ranks[2]["by"] == "collectives");
  const auto error = ranks[1]["error_ns"].get<std::int64_t>();
  CHECK(error < (once ? 1'000'000 : 350));  // 100 ppm of the distance to the only reading
  const std::vector<std::int64_t> begins = begins_in(trace, 1);
  REQUIRE(begins.size() == kSteps);
  for (std::size_t step = 0; step < kSteps; ++step) {
    REQUIRE(std::abs(begins[step] - job.begin_ns(1, step)) <= error + 1);
  }
}

TEST_CASE("takt trace: each rank is a process with its host and its open regions at the end") {
  const Scratch scratch;
  TrueJob job({{0, 0}, {0, 0}}, 40);
  job.rank(1).open = {{0, 0, 5000}};
  job.rank(1).finished = false;
  job.rank(1).losses.push_back({"row_dropped", "", 3});
  const json trace = trace_of(scratch, job.write(scratch));
  std::vector<std::string> names;
  for (const json& each : trace["traceEvents"]) {
    if (each["name"] == "process_name") { names.push_back(each["args"]["name"]); }
  }
  CHECK(names == std::vector<std::string>{"rank 0 (node0)", "rank 1 (node1)"});
  const bool open = std::any_of(trace["traceEvents"].begin(), trace["traceEvents"].end(), [](const json& each) {
    return each["name"] == "Batch (open)" && each["pid"] == 1 && each["dur"] == 5.0;
  });
  CHECK(open);
  CHECK(trace["otherData"]["losses"][0]["rank"] == 1);
  CHECK(trace["otherData"]["losses"][0]["count"] == 3);
}

TEST_CASE("takt trace: ranks of one host share a clock, however far apart they leave collectives") {
  const Scratch scratch;
  TrueJob job({{0, 0}, {0, 0}}, 40);
  job.rank(1).run.host = job.rank(0).run.host;
  for (takt::Row& row : job.rank(1).rows) { row.cells[1].host_ns += TrueJob::kMs; }
  const json trace = trace_of(scratch, job.write(scratch));
  CHECK(trace["otherData"]["ranks"][1]["clock"] == "common");
  const std::vector<std::int64_t> begins = begins_in(trace, 1);
  REQUIRE(begins.size() == 40);
  for (std::size_t step = 0; step < 40; ++step) { CHECK(begins[step] == job.begin_ns(1, step)); }
}

TEST_CASE("takt trace: a clock that cannot be aligned is left unchanged, with a warning") {
  const Scratch scratch;
  TrueJob job({{0, 0}, {7'000'000, 0}}, 29);  // a line needs 30
  const json trace = trace_of(scratch, job.write(scratch));
  CHECK(trace["otherData"]["ranks"][1]["clock"] == "not aligned");
  CHECK_FALSE(trace["otherData"]["ranks"][1].contains("error_ns"));
  const std::vector<std::int64_t> begins = begins_in(trace, 1);
  REQUIRE(begins.size() == 29);
  for (std::size_t step = 0; step < 29; ++step) { CHECK(begins[step] == job.begin_ns(1, step) + 7'000'000); }
  takt::cli::AlignedRanks run = takt::cli::read_aligned({scratch.path("run/rank-0"), scratch.path("run/rank-1")});
  REQUIRE(run.ranks.size() == 2);
  CHECK(run.ranks[1].alignment.ends == 29);
  CHECK(run.ranks[1].error_ns() == 0);
}

TEST_CASE("takt trace: writes a single rank, and reports a missing one") {
  const Scratch scratch;
  TrueJob job({{0, 0}, {0, 0}}, 40);
  const std::string run = job.write(scratch);
  const std::string file = scratch.path("one.json");
  REQUIRE(takt::cli::trace(run, file, 1) == 0);
  const json trace = json::parse(std::ifstream(file));
  CHECK(trace["otherData"]["clock_of_rank"] == 1);
  CHECK(trace["otherData"]["missing_ranks"] == 0);
  CHECK(trace["otherData"]["ranks"].size() == 1);
  CHECK_THROWS_WITH(takt::cli::trace(run, file, 2), takt_test::containing("rank 2"));
  CHECK_THROWS_AS(takt::cli::trace(run, scratch.path("no/x"), -1), takt::Error);
}

TEST_CASE("takt trace: excludes and reports a rank with an impossible number") {
  const Scratch scratch;
  TrueJob job({{0, 0}, {0, 0}}, 40);
  job.rank(1).run.rank = GENERATE(-5, 1 << 30, std::numeric_limits<int>::max());
  job.write(scratch);
  std::string directory = scratch.path("run/rank-") + std::to_string(job.rank(1).run.rank);
  const takt::cli::AlignedRanks run = takt::cli::read_aligned({scratch.path("run/rank-0"), directory});
  CHECK(run.ranks.size() == 1);
  CHECK_FALSE(run.all);
}

TEST_CASE("Job trace: samples of ranks are on the common clock, too") {
  const Scratch scratch;
  TrueJob job({{0, 0}, {7'000'000'000, 0}}, 40);
  for (const std::size_t rank : {0U, 1U}) {
    job.rank(rank).sensors = sampled_snapshot().sensors;
    job.rank(rank).samples = {gpu_sample(0), gpu_sample(3)};
  }
  const std::string file = scratch.path("job.json");
  REQUIRE(takt::cli::trace(job.write(scratch), file, -1) == 0);
  const json trace = json::parse(read_text(file));
  double time_us[2] = {-1, -1};
  for (const json& each : trace["traceEvents"]) {
    if (each["ph"] == "C" && each["name"] == "cuda 0 power") { time_us[each["pid"].get<int>()] = each["ts"]; }
  }
  CHECK(time_us[0] == Approx(300'000).margin(10));
  CHECK(time_us[1] == Approx(301'000).margin(10));  // it started a millisecond later
}
