// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/recorded_time_line.hpp"

#include <takt/exporters/trace.hpp>

#include "cli/aligned_ranks.hpp"
#include "cli/commands.hpp"
#include "cli/trace.hpp"
#include "report/trace.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/true_job.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace takt_test;
using nlohmann::json;

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

void add_region(takt::Snapshot& rank, const char* name, takt::Kind kind, std::int64_t begin_ns, std::int64_t length_ns,
                std::uint32_t stream = takt::kNoIndex) {
  takt::Span span;
  span.sequence = rank.spans.size();
  span.begin_ns = begin_ns;
  span.duration_ns = length_ns;
  span.name = name;
  span.kind = kind;
  span.stream = stream;
  rank.spans.push_back(span);
}

/// Returns the rank with regions in its first steps: Comm and the enclosing Batch.
takt::Snapshot with_regions(takt::Snapshot rank, std::size_t steps) {
  for (std::size_t step = 0; step < steps; ++step) {
    const takt::Row& row = rank.rows[step];
    add_region(rank, "Comm", takt::Kind::comm, row.begin_ns + row.cells[0].host_ns, row.cells[1].host_ns);
    add_region(rank, "Batch", takt::Kind::other, row.begin_ns, row.host_ns);
  }
  return rank;
}

std::string trace_file_of(const Scratch& scratch, int rank) {
  return scratch.path("run/rank-" + std::to_string(rank) + "/trace.json");
}

/// Writes the file as this rank's exporter leaves it; trace.json.part for a killed rank.
void record(const Scratch& scratch, takt::Snapshot rank, bool finished = true, std::uint64_t max = kNoLimit) {
  rank.finished = finished;
  takt::TraceExporter exporter(trace_file_of(scratch, rank.run.rank), max);
  REQUIRE(exporter.export_snapshot(rank) == takt::ExportResult::ok);
}

struct Written {
  json trace;
  std::vector<std::string> warnings;
  bool all = false;

  /// Returns the names of a rank's slices, in order.
  std::vector<std::string> names(int rank) const {
    std::vector<std::string> found;
    for (const json& each : slices(rank)) { found.push_back(each["name"]); }
    return found;
  }
  std::vector<json> slices(int rank) const {
    std::vector<json> found;
    for (const json& each : trace["traceEvents"]) {
      if (each["ph"] == "X" && each["pid"] == rank) { found.push_back(each); }
    }
    return found;
  }
  const json& of_rank(std::size_t rank) const { return trace["otherData"]["ranks"][rank]; }
};

Written written(const Scratch& scratch, std::size_t ranks = 2) {
  std::vector<takt::cli::RankDirectory> directories;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    directories.emplace_back(scratch.path("run/rank-" + std::to_string(rank)));
  }
  const std::string file = scratch.path("job.json");
  takt::cli::JobTrace line(file);
  line.write(takt::cli::read_aligned(directories));
  Written result{json::parse(read_text(file)), line.warnings(), line.all()};
  std::uint64_t slices = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) { slices += result.slices(static_cast<int>(rank)).size(); }
  CHECK(line.slices() == slices);
  return result;
}

std::vector<std::string> step_names(std::size_t from, std::size_t to) {
  std::vector<std::string> names;
  for (std::size_t step = from; step < to; ++step) { names.push_back("Batch " + std::to_string(step)); }
  return names;
}

std::int64_t whole_ns(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

/// A job of two ranks of which the second has recorded a trace.
class RecordedJob {
 public:
  static constexpr std::size_t kSteps = 40;

  RecordedJob() : job({{0, 0}, {7'000'000'000, 0}}, kSteps) {
    job.rank(1).run.name = "digits";
    job.rank(1).run.pid = 4711;
    job.write(scratch);
    file = trace_file_of(scratch, 1);
  }

  Scratch scratch;
  TrueJob job;
  std::string file;  // of the second rank
};

/// Checks that nothing of the file is used, and that this is reported.
void check_refused(const RecordedJob& job, const std::string& fact) {
  const Written found = written(job.scratch);
  CHECK(found.names(1) == step_names(0, RecordedJob::kSteps));
  CHECK_FALSE(found.of_rank(1).contains("recorded"));
  REQUIRE(found.warnings.size() == 1);
  CHECK(contains(found.warnings[0], "rank-1/trace.json"));
  CHECK(mentions(found.warnings[0], {fact}));
  CHECK_FALSE(found.all);
  CHECK(takt::cli::trace(job.scratch.path("run"), job.scratch.path("job.json"), -1) == 1);
}

}  // namespace

TEST_CASE("takt trace: places recorded regions of ranks at their steps") {
  const Scratch scratch;
  constexpr std::size_t kSteps = 400;
  TrueJob job({{0, 0}, {86'400'000'000'000, 80e-6}, {-3'000'000, -40e-6}}, kSteps);
  job.write(scratch);
  for (const std::size_t rank : {0U, 1U}) { record(scratch, with_regions(job.rank(rank), kSteps)); }
  const Written found = written(scratch, 3);
  CHECK(found.all);
  CHECK(found.warnings.empty());
  for (const int rank : {0, 1}) {
    const std::vector<json> slices = found.slices(rank);
    REQUIRE(slices.size() == 2 * kSteps);  // no duplicate steps
    const auto place = static_cast<std::size_t>(rank);
    const std::int64_t error = rank == 0 ? 0 : found.of_rank(place)["error_ns"].get<std::int64_t>();
    for (std::size_t step = 0; step < kSteps; ++step) {
      REQUIRE(slices[2 * step]["name"] == "Comm");
      REQUIRE(slices[2 * step]["cat"] == "comm");
      REQUIRE(slices[2 * step + 1]["name"] == "Batch");
      const std::int64_t begin = TrueJob::kStart + whole_ns(slices[2 * step + 1]["ts"]);
      REQUIRE(std::abs(begin - job.begin_ns(place, step)) <= error + 1);
      // Comm is inside its Batch even after rounding.
      REQUIRE(whole_ns(slices[2 * step]["ts"]) + whole_ns(slices[2 * step]["dur"]) <=
              whole_ns(slices[2 * step + 1]["ts"]) + whole_ns(slices[2 * step + 1]["dur"]));
    }
    CHECK(found.of_rank(place)["recorded"]["file"] == "trace.json");
    CHECK(found.of_rank(place)["recorded"]["slices"] == 2 * kSteps);
    CHECK(found.of_rank(place)["recorded"]["dropped_spans"] == 0);
  }
  CHECK(found.names(2) == step_names(0, kSteps));
  CHECK_FALSE(found.of_rank(2).contains("recorded"));
}

TEST_CASE("takt trace: adds the journal's steps after the end of a recorded trace") {
  RecordedJob job;
  const bool full = GENERATE(true, false);  // or killed
  record(job.scratch, with_regions(job.job.rank(1), full ? RecordedJob::kSteps : 30), full, full ? 60 : kNoLimit);
  const Written found = written(job.scratch);
  const std::vector<std::string> names = found.names(1);
  REQUIRE(names.size() == 60 + 10);
  CHECK(names[59] == "Batch");
  CHECK(std::vector<std::string>(names.begin() + 60, names.end()) == step_names(30, RecordedJob::kSteps));
  CHECK(found.all);
  const json& recorded = found.of_rank(1)["recorded"];
  CHECK(recorded["slices"] == 60);
  CHECK(recorded["file"] == (full ? "trace.json" : "trace.json.part"));
  CHECK(recorded["dropped_spans"] == (full ? 20 : 0));
  REQUIRE(found.warnings.size() == (full ? 1 : 0));
  if (full) { CHECK(mentions(found.warnings[0], {"20", "TAKT_TRACE_EVENTS"})); }
}

TEST_CASE("takt trace: uses the complete part of a truncated file for any cut") {
  RecordedJob job;
  const bool part = GENERATE(false, true);
  record(job.scratch, with_regions(job.job.rank(1), RecordedJob::kSteps), !part);
  if (part) { job.file += ".part"; }
  const std::string whole = read_text(job.file);
  const auto cut = static_cast<std::size_t>(GENERATE(0, 1, 20, 41, 42, 60, 400, 2000, 2001, 2050, 2100));
  write_text(job.file, whole.substr(0, cut));
  INFO("at " << cut << ", " << part);
  if (!part && cut < takt::detail::kTraceHead.size()) {
    check_refused(job, "not a time line");
    return;
  }
  const Written found = written(job.scratch);
  CHECK(found.all);
  CHECK(found.warnings.size() == (part ? 0 : 1));
  if (!part) { CHECK(mentions(found.warnings.at(0), {"truncated"})); }
  std::size_t batches = 0;
  std::size_t steps = 0;
  for (const std::string& each : found.names(1)) {
    batches += each == "Batch" ? 1U : 0U;
    steps += contains(each, "Batch ") ? 1U : 0U;
  }
  CHECK(batches + steps == RecordedJob::kSteps);  // each step once
  CHECK((batches != 0) == (cut >= 2000));
}

TEST_CASE("takt trace: ignores a recorded trace of another rank or run") {
  RecordedJob job;
  takt::Snapshot other = with_regions(job.job.rank(1), RecordedJob::kSteps);
  const int what = GENERATE(0, 1, 2, 3, 4);
  if (what == 0) { other.run.id = "another"; }
  if (what == 1) { other.run.start_unix_ns += 1; }
  if (what == 2) { other.run.pid = 4712; }
  if (what == 3) { other.run.name = "letters"; }
  if (what == 4) { other.run.rank = 0; }
  record(job.scratch, other);
  if (what == 4) { REQUIRE(::rename(trace_file_of(job.scratch, 0).c_str(), job.file.c_str()) == 0); }
  check_refused(job, "this rank");
}

TEST_CASE("takt trace: other files are not used, waited for or followed") {
  RecordedJob job;
  SECTION("another file") {
    write_text(job.file, "[{\"name\":\"IO\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]");
    check_refused(job, "not a time line");
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(job.file.c_str(), 0600) == 0);
    check_refused(job, "not a regular file");
  }
  SECTION("a link to a valid one") {
    record(job.scratch, with_regions(job.job.rank(1), RecordedJob::kSteps));
    REQUIRE(::rename(job.file.c_str(), job.scratch.path("good").c_str()) == 0);
    REQUIRE(::symlink(job.scratch.path("good").c_str(), job.file.c_str()) == 0);
    check_refused(job, "not a regular file");
  }
  SECTION("a directory") {
    REQUIRE(::mkdir(job.file.c_str(), 0700) == 0);
    check_refused(job, "not a regular file");
  }
  SECTION("a line without end") {
    write_text(job.file, std::string(takt::detail::kTraceHead) + std::string(3U << 20U, 'x'));
    check_refused(job, "this rank");
  }
}

TEST_CASE("takt trace: excludes and reports damaged lines and uses the others") {
  RecordedJob job;
  record(job.scratch, with_regions(job.job.rank(1), RecordedJob::kSteps));
  std::string text = read_text(job.file);
  std::size_t at = text.find("\"Batch\"");
  text.replace(text.find("\"ph\"", at), 4, "\"pH\"");
  at = text.find("\"Batch\"", at + 1);
  text.replace(text.find("\"pid\":4711", at), 10, "\"pid\":4712");
  write_text(job.file, text);
  Written found = written(job.scratch);
  CHECK(found.names(1).size() == 2 * RecordedJob::kSteps - 2);
  CHECK(found.all);
  REQUIRE(found.warnings.size() == 1);
  CHECK(mentions(found.warnings[0], {"rank-1/trace.json", "2", "line 6"}));
  CHECK(found.of_rank(1)["recorded"]["damaged_lines"] == 2);

  text.insert(text.find("{\"name\":\"Comm\"", at), std::string(3U << 20U, ' '));
  write_text(job.file, text);
  found = written(job.scratch);
  REQUIRE(found.warnings.size() == 2);
  CHECK(mentions(found.warnings[1], {"line 8", "line 9", "1 MiB"}));
  CHECK(found.names(1).size() == 2 + (RecordedJob::kSteps - 1));
}

TEST_CASE("takt trace: device streams and further tracks keep their names and places") {
  RecordedJob job;
  takt::Snapshot rank = job.job.rank(1);
  rank.time_lines.push_back({"cuda", 0, 800, 1, 0, 0, {}});
  rank.streams = {{0, 3, 0}};
  add_region(rank, "Forward", takt::Kind::compute, 1000, 5000, 0);
  add_region(rank, "load", takt::Kind::io, 2000, 3000);
  add_region(rank, "load", takt::Kind::io, 3000, 3000);  // overlaps the previous one
  record(job.scratch, rank);
  const Written found = written(job.scratch);
  std::vector<std::pair<std::uint32_t, std::string>> tracks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> orders;
  for (const json& each : found.trace["traceEvents"]) {
    if (each["pid"] != 1) { continue; }
    if (each["name"] == "thread_name") { tracks.emplace_back(each["tid"], each["args"]["name"]); }
    if (each["name"] == "thread_sort_index") { orders.emplace_back(each["tid"], each["args"]["sort_index"]); }
  }
  const std::uint32_t main = rank.threads[0].id;
  REQUIRE(tracks.size() >= 3);
  CHECK(tracks[1] == std::pair<std::uint32_t, std::string>(1'000'001, "cuda 0 stream 3"));
  CHECK(tracks[2] == std::pair<std::uint32_t, std::string>(2'000'001, "main (2)"));
  CHECK(orders[2] == std::pair<std::uint32_t, std::uint32_t>(2'000'001, main));
  const std::vector<json> slices = found.slices(1);
  REQUIRE(slices.size() >= 3);
  CHECK(slices[0]["tid"] == 1'000'001);
  CHECK(slices[0]["dur"] == 5.0);
  CHECK(slices[1]["tid"] == main);
  CHECK(slices[2]["tid"] == 2'000'001);
  // By the clock of the first rank, because the second one started a millisecond later.
  CHECK(whole_ns(slices[0]["ts"]) == Approx(TrueJob::kMs + 1000).margin(5000));
}

TEST_CASE("takt trace: recorded names cannot control the terminal") {
  RecordedJob job;
  takt::Snapshot rank = job.job.rank(1);
  const std::string name = "\x1b[2J\",\"pid\":0,\"x\":\"\xe2\x80\xae\\\n\t";
  rank.threads[0].name = name;
  add_region(rank, name.c_str(), takt::Kind::io, 1000, 2000);
  record(job.scratch, rank);
  const Written found = written(job.scratch);
  CHECK(found.warnings.empty());
  REQUIRE_FALSE(found.names(1).empty());
  CHECK(found.names(1)[0] == name);
  const std::string text = read_text(job.scratch.path("job.json"));
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK_FALSE(contains(text, "\xe2\x80\xae"));
}

TEST_CASE("takt trace: curves in both files appear once, and a single rank keeps its steps") {
  RecordedJob job;
  takt::Snapshot rank = with_regions(job.job.rank(1), RecordedJob::kSteps);
  record(job.scratch, rank);
  std::string text = read_text(job.file);
  const std::string counter = takt::detail::trace_counter("power", "W", 1.5, 0, 4711) + ",\n";
  text.insert(text.find("{\"name\":\"Comm\""), counter);
  write_text(job.file, text);
  const Written found = written(job.scratch);
  CHECK(found.warnings.empty());
  for (const json& each : found.trace["traceEvents"]) { CHECK(each["ph"] != "C"); }

  const std::string file = job.scratch.path("one.json");
  REQUIRE(takt::cli::trace(job.scratch.path("run"), file, 1) == 0);
  std::vector<std::string> names;
  const json alone = json::parse(read_text(file));
  for (const json& each : alone["traceEvents"]) {
    if (each["ph"] == "X") { names.push_back(each["name"]); }
  }
  CHECK(names.size() == 2 * RecordedJob::kSteps);
  CHECK(names.front() == "Comm");  // as recorded: it ends before its Batch
}
