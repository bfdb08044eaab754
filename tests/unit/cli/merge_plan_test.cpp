// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merge.hpp"

#include <takt/error.hpp>

#include "cli/commands.hpp"
#include "cli/merged_file.hpp"
#include "cli/rank.hpp"
#include "journal/journal_format.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/other_processes.hpp"
#include "support/scratch.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

using namespace takt_test;
using takt::Snapshot;
using takt::cli::MergePlan;
using takt::cli::RankToMerge;

namespace {

namespace fs = std::filesystem;

/// Writes a process that has ended, or still runs if `goes_on`.
void write_process(const std::string& directory, const std::string& id, int rank, bool goes_on = false,
                   const std::string& name = "run") {
  fs::create_directories(directory);
  Snapshot snapshot = sample_snapshot();
  snapshot.run.name = name;
  snapshot.run.id = id;
  snapshot.run.rank = rank;
  snapshot.run.pid = goes_on ? ::getpid() : kNobody;
  snapshot.run.host = this_host();
  snapshot.run.pid_namespace.reset();
  snapshot.finished = !goes_on;
  Snapshot beginning;
  beginning.run = snapshot.run;
  takt::detail::JournalExporter exporter(directory, plain_journal());
  exporter.begin(beginning);
  REQUIRE(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
}

std::string segment_in(const std::string& directory) { return directory + "/" + takt::detail::segment_name(0); }

void copy_directory(const std::string& from, const std::string& to) {
  fs::create_directories(fs::path(to).parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
}

void cut_journal(const std::string& directory, std::size_t bytes) {
  const std::string text = read_text(segment_in(directory));
  REQUIRE(text.size() > bytes);
  write_text(segment_in(directory), text.substr(0, text.size() - bytes));
}

MergePlan plan_of(const std::vector<std::string>& directories) {
  MergePlan plan;
  std::vector<std::string> warnings;
  for (const std::string& each : directories) {
    for (const takt::cli::RunDirectory& run : takt::cli::all_runs(each, warnings)) { plan.add(run); }
  }
  CHECK(warnings.empty());
  return plan;
}

std::vector<std::string> names_in(const MergePlan& plan) {
  std::vector<std::string> names;
  for (const RankToMerge& each : plan.ranks()) { names.push_back(each.run + "/" + each.rank); }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("merge: identifies a run by its id, whatever directories its ranks are in") {
  const Scratch scratch;
  write_process(scratch.path("a/job/rank-0-0-1"), "job", 0);
  write_process(scratch.path("b/job/rank-1-0-1"), "job", 1);
  write_process(scratch.path("c/other name/rank-2-0-1"), "job", 2);
  write_process(scratch.path("d/job/rank-0-0-9"), "another job", 0);
  write_process(scratch.path("plain"), "job", 3);  // as a manual copy
  const Names all = names_in(plan_of({scratch.path("a"), scratch.path("b/job"), scratch.path("c/other name/rank-2-0-1"),
                                      scratch.path("d"), scratch.path("plain")}));
  CHECK(all == Names{"job/rank-0-0-1", "job/rank-1-0-1", "job/rank-2-0-1", "job/rank-3-0-" + std::to_string(kNobody),
                     "job-1/rank-0-0-9"});
}

TEST_CASE("merge: reads a journal whose start does not name the run, and keeps one without a run separate") {
  const Scratch scratch;
  write_process(scratch.path("a/job/rank-0-0-1"), "job", 0);
  write_process(scratch.path("b/elsewhere/rank-1-0-1"), "job", 1, false, std::string(20'000, 'x'));
  write_process(scratch.path("c/lost/rank-2-0-1"), "job", 2);
  write_process(scratch.path("d/gone/rank-2-0-1"), "job", 2);
  for (const char* each : {"c/lost/rank-2-0-1", "d/gone/rank-2-0-1"}) {
    std::string text = read_text(segment_in(scratch.path(each)));
    text[takt::detail::kSegmentHeaderBytes + 40] ^= 1;  // in the first frame, which describes the run
    write_text(segment_in(scratch.path(each)), text);
  }
  CHECK(names_in(plan_of({scratch.path("a"), scratch.path("b"), scratch.path("c"), scratch.path("d")})) ==
        Names{"gone/rank-2-0-1", "job/rank-0-0-1", "job/rank-1-0-1", "lost/rank-2-0-1"});
}

TEST_CASE("merge: ranks of two runs in one directory stay in one directory") {
  const Scratch scratch;
  write_process(scratch.path("job/rank-0-0-1"), "job", 0);
  write_process(scratch.path("job/rank-1-0-1"), "job?", 1);  // ids become directory names, which drop some characters
  CHECK(names_in(plan_of({scratch.path("job")})) == Names{"job/rank-0-0-1", "job/rank-1-0-1"});
}

TEST_CASE("merge: a duplicate journal is merged once, the longer one if one continues") {
  const Scratch scratch;
  write_process(scratch.path("a/job/rank-0-0-1"), "job", 0);
  copy_directory(scratch.path("a/job/rank-0-0-1"), scratch.path("b/job/rank-0-0-1"));
  copy_directory(scratch.path("a/job/rank-0-0-1"), scratch.path("c/job/rank-0-0-7"));
  cut_journal(scratch.path("b/job/rank-0-0-1"), GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{1000}));
  write_text(scratch.path("c/job/rank-0-0-7/summary.json"), "{\"schema\": \"takt-summary/2\"}");
  const Names orders[] = {{"a", "b", "c"}, {"b", "a", "c"}, {"c", "b", "a"}, {"b", "c", "a"}};
  for (const Names& order : orders) {
    Names directories;
    for (const std::string& each : order) { directories.push_back(scratch.path(each)); }
    const MergePlan plan = plan_of(directories);
    CHECK(plan.is_clear());
    CHECK(plan.warnings().empty());
    REQUIRE(plan.ranks().size() == 1);
    CHECK(fs::file_size(segment_in(plan.ranks()[0].directory.path())) ==
          fs::file_size(segment_in(scratch.path("a/job/rank-0-0-1"))));
    CHECK(takt::cli::merge(directories, scratch.path("all.tar"), true) == 0);
    CHECK(contains(read_text(scratch.path("all.tar")), "/summary.json"));
    fs::remove(scratch.path("all.tar"));
  }
}

TEST_CASE("merge: contradictory journals of one process are both merged and reported") {
  const Scratch scratch;
  write_process(scratch.path("a/job/rank-0-0-1"), "job", 0);
  copy_directory(scratch.path("a/job/rank-0-0-1"), scratch.path("b/job/rank-0-0-1"));
  std::string text = read_text(segment_in(scratch.path("b/job/rank-0-0-1")));
  text[text.size() / 2] ^= 1;
  write_text(segment_in(scratch.path("b/job/rank-0-0-1")), text);
  const MergePlan plan = plan_of({scratch.path("a"), scratch.path("b")});
  CHECK(names_in(plan) == Names{"job/rank-0-0-1", "job/rank-0-0-1-1"});
  CHECK_FALSE(plan.is_clear());
  REQUIRE(plan.warnings().size() == 1);
  CHECK(contains(plan.warnings()[0], "differ"));
  CHECK(takt::cli::merge({scratch.path("a"), scratch.path("b")}, scratch.path("all.tar"), false) == 1);
}

TEST_CASE("merge: two processes with the same directory name are both merged") {
  const Scratch scratch;
  write_process(scratch.path("a/job/rank-0-0-1"), "job", 0);
  write_process(scratch.path("b/job/rank-0-0-1"), "job", 0);
  const MergePlan plan = plan_of({scratch.path("a"), scratch.path("b")});
  CHECK(names_in(plan) == Names{"job/rank-0-0-1", "job/rank-0-0-1-1"});
  CHECK(plan.is_clear());
}

TEST_CASE("merge: directories without a journal are merged once, by their names") {
  const Scratch scratch;
  write_process(scratch.path("a/job/rank-0-0-1"), "job", 0);
  fs::create_directories(scratch.path("a/job/rank-1-0-1"));
  fs::create_directories(scratch.path("b/job/rank-1-0-1"));
  write_text(scratch.path("b/job/rank-1-0-1/summary.json"), "{\"schema\": \"takt-summary/2\"}");
  CHECK(names_in(plan_of({scratch.path("a"), scratch.path("b")})) == Names{"job/rank-0-0-1", "job/rank-1-0-1"});
}

TEST_CASE("merge: names ranks that still run") {
  const Scratch scratch;
  for (int rank = 0; rank < 20; ++rank) {
    write_process(scratch.path("job/rank-" + std::to_string(rank) + "-0-1"), "job", rank, rank != 3);
  }
  const std::vector<std::string> warnings = plan_of({scratch.path("job")}).warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(takt_test::mentions(warnings[0], {"19", "job", "0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ..."}));
}

TEST_CASE("merge: files of nodes give the same file as the nodes' directories, in any order") {
  const Scratch scratch;
  for (int rank = 0; rank < 6; ++rank) {
    const std::string node = rank < 3 ? "a" : "b";
    write_process(scratch.path(node + "/job/rank-" + std::to_string(rank) + "-0-1"), "job", rank);
  }
  const std::string a = scratch.path("a");
  const std::string b = scratch.path("b");
  REQUIRE(takt::cli::merge({a}, scratch.path("a.tar"), false) == 0);
  REQUIRE(takt::cli::merge({b + "/job"}, scratch.path("b.tar"), false) == 0);
  REQUIRE(takt::cli::merge({a, b}, scratch.path("directories.tar"), false) == 0);
  REQUIRE(takt::cli::merge({scratch.path("a.tar"), scratch.path("b.tar")}, scratch.path("files.tar"), false) == 0);
  REQUIRE(takt::cli::merge({b, scratch.path("a.tar"), a}, scratch.path("both.tar"), false) == 0);
  const std::string bytes = read_text(scratch.path("directories.tar"));
  CHECK(bytes == read_text(scratch.path("files.tar")));
  CHECK(bytes == read_text(scratch.path("both.tar")));
  REQUIRE(takt::cli::merge({scratch.path("both.tar")}, scratch.path("both.tar"), true) == 0);
  CHECK(bytes == read_text(scratch.path("both.tar")));
}

TEST_CASE("merge: replaces an existing file only on request and only if it is a merged one") {
  const Scratch scratch;
  write_process(scratch.path("job/rank-0-0-1"), "job", 0);
  const std::string run = scratch.path("job");
  write_text(scratch.path("theirs"), "a thesis");
  CHECK_THROWS_WITH(takt::cli::merge({run}, scratch.path("theirs"), false), Catch::Contains("--force"));
  CHECK_THROWS_WITH(takt::cli::merge({run}, scratch.path("theirs"), true), Catch::Contains("not a merged file"));
  CHECK(read_text(scratch.path("theirs")) == "a thesis");
  REQUIRE(::symlink(scratch.path("theirs").c_str(), scratch.path("link").c_str()) == 0);
  CHECK_THROWS_AS(takt::cli::merge({run}, scratch.path("link"), true), takt::Error);
  CHECK_THROWS_AS(takt::cli::merge({run}, run, true), takt::Error);
  REQUIRE(takt::cli::merge({run}, scratch.path("all.tar"), false) == 0);
  CHECK_THROWS_AS(takt::cli::merge({run}, scratch.path("all.tar"), false), takt::Error);
  CHECK(takt::cli::merge({run}, scratch.path("all.tar"), true) == 0);
  CHECK(mode_of(scratch.path("all.tar")) == 0600);
}

TEST_CASE("merge: excludes files that merely have a name like Takt's") {
  const Scratch scratch;
  const std::string directory = scratch.path("job/rank-0-0-1");
  write_process(directory, "job", 0);
  write_text(directory + "/journal-00001.tjl", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
  write_text(directory + "/trace.json", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
  write_text(directory + "/notes.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
  REQUIRE(::symlink("/etc/passwd", (directory + "/summary.json").c_str()) == 0);
  REQUIRE(::mkfifo((directory + "/mlflow.json").c_str(), 0600) == 0);
  fs::create_directories(directory + "/wandb.json");
  CHECK(takt::cli::merge({scratch.path("job")}, scratch.path("all.tar"), false) == 1);
  const std::string bytes = read_text(scratch.path("all.tar"));
  CHECK_FALSE(contains(bytes, "PRIVATE"));
  CHECK_FALSE(contains(bytes, "root:"));
  CHECK(takt::cli::read_rank(
            takt::cli::RankDirectory(takt::cli::open_merged(scratch.path("all.tar")), "job", "rank-0-0-1"))
            .readable());
}
