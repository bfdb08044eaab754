// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sync.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/rank_directories.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

using namespace takt_test;
using takt::cli::job_of_directories;
using takt::cli::JobOfDirectories;

namespace {

JobOfDirectories read(const RankDirectories& directories, std::uint64_t reported = 0, int attempt = 0) {
  return job_of_directories(directories.directory(0, attempt), snapshot_of_rank(0, directories.world()).run, reported);
}

}  // namespace

TEST_CASE("Job of directories: figures cover all ranks, in the order of rank 0") {
  const RankDirectories directories(4, 4);
  const JobOfDirectories found = read(directories);
  REQUIRE(found.job != nullptr);
  CHECK_FALSE(found.waits);
  CHECK(found.warning.empty());
  const takt::Job& job = *found.job;
  CHECK(job.world_size == 4);
  CHECK(job.missing.empty());
  CHECK(job.wall.ranks == 4);
  REQUIRE(job.paths.size() == 3);
  CHECK(job.path_name(1) == "Batch/Backward");
  CHECK(job.path_name(2) == "Batch/ns::f<int>");
  const takt::OverRanks& backward = job.paths[1].host_total;
  CHECK(backward.ranks == 4);
  CHECK(backward.mean_ns == 11.5e9);
  CHECK(backward.min_ns == 10'000'000'000);
  CHECK(backward.max_ns == 13'000'000'000);
  CHECK(backward.max_rank == 3);
  CHECK(backward.imbalance == Approx(13 / 11.5 - 1));
}

TEST_CASE("Job of directories: missing ranks are named, and a rank that died counts up to its death") {
  RankDirectories directories(5, 2);
  directories.add(3, RankState::died);
  const JobOfDirectories found = read(directories);
  REQUIRE(found.job != nullptr);
  CHECK(found.job->wall.ranks == 3);
  CHECK(found.job->missing == std::vector<std::uint32_t>{2, 4});
  CHECK(mentions(found.warning, {"5", "2, 4"}));
}

TEST_CASE("Job of directories: waits for a rank that has not ended") {
  RankDirectories directories(3, 2);
  directories.add(2, RankState::runs);
  const JobOfDirectories found = read(directories);
  CHECK(found.job == nullptr);
  CHECK(found.waits);
  CHECK(mentions(found.warning, {"ranks: 2"}));
}

TEST_CASE("Job of directories: reports a job only if it has more ranks than reported before") {
  RankDirectories directories(4, 3);
  CHECK(read(directories, 3).job == nullptr);
  CHECK(read(directories, 3).warning.empty());
  directories.add(3);
  CHECK(read(directories, 3).job != nullptr);
  CHECK(read(directories, 4).job == nullptr);
}

TEST_CASE("Job of directories: a run of one rank has no job, with a warning only if others are missing") {
  CHECK(read(RankDirectories(1, 1)).warning.empty());
  CHECK(read(RankDirectories(1, 1)).job == nullptr);
  const JobOfDirectories alone = read(RankDirectories(3, 1));
  CHECK(alone.job == nullptr);
  CHECK(mentions(alone.warning, {"3", "1, 2"}));
}

TEST_CASE("Job of directories: uses the newest attempt of a restarted run, and no rank 0 of an earlier one") {
  RankDirectories directories(3, 3);
  for (int rank = 0; rank < 2; ++rank) {
    takt::Snapshot again = snapshot_of_rank(rank, 2, RankState::ended, 1);
    again.run.start_unix_ns += 200'000'000'000;
    directories.add(again);
  }
  CHECK(read(directories).job == nullptr);
  const JobOfDirectories found = read(directories, 0, 1);
  REQUIRE(found.job != nullptr);
  CHECK(found.job->wall.ranks == 2);
  CHECK(found.job->world_size == 2);
}

TEST_CASE("Job of directories: ignores directories of other runs, unreadable ones and links") {
  RankDirectories directories(3, 2);
  takt::Snapshot foreign = snapshot_of_rank(2, 3);
  foreign.run.id = "other";
  directories.add(foreign);
  const std::string empty = directories.run() + "/rank-x";
  REQUIRE(::mkdir(empty.c_str(), 0700) == 0);
  const RankDirectories elsewhere(3, 3);
  std::filesystem::create_directory_symlink(elsewhere.directory(2), directories.run() + "/rank-2-0-8");
  const JobOfDirectories found = read(directories);
  REQUIRE(found.job != nullptr);
  CHECK(found.job->missing == std::vector<std::uint32_t>{2});
}

TEST_CASE("Job of directories: a single rank's directory elsewhere is read alone") {
  const RankDirectories directories(1, 1);
  const std::string moved = directories.scratch().path("copy");
  std::filesystem::rename(directories.directory(0), moved);
  const JobOfDirectories found = job_of_directories(moved, snapshot_of_rank(0, 4).run, 0);
  CHECK(found.job == nullptr);
}
