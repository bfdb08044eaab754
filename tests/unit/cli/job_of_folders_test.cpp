// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sync.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/rank_folders.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

using namespace takt_test;
using takt::cli::job_of_folders;
using takt::cli::JobOfFolders;

namespace {

JobOfFolders read(const RankFolders& folders, std::uint64_t told = 0, int attempt = 0) {
  return job_of_folders(folders.folder(0, attempt), snapshot_of_rank(0, folders.world()).run, told);
}

}  // namespace

TEST_CASE("Job of folders: the figures are those of all ranks, in the order of rank 0") {
  const RankFolders folders(4, 4);
  const JobOfFolders found = read(folders);
  REQUIRE(found.job != nullptr);
  CHECK_FALSE(found.waits);
  CHECK(found.remark.empty());
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

TEST_CASE("Job of folders: who is missing is named, and a rank that died counts as far as it came") {
  RankFolders folders(5, 2);
  folders.add(3, RankState::died);
  const JobOfFolders found = read(folders);
  REQUIRE(found.job != nullptr);
  CHECK(found.job->wall.ranks == 3);
  CHECK(found.job->missing == std::vector<std::uint32_t>{2, 4});
  CHECK(mentions(found.remark, {"5", "2, 4"}));
}

TEST_CASE("Job of folders: a rank that has not ended is waited for") {
  RankFolders folders(3, 2);
  folders.add(2, RankState::runs);
  const JobOfFolders found = read(folders);
  CHECK(found.job == nullptr);
  CHECK(found.waits);
  CHECK(mentions(found.remark, {"ranks 2"}));
}

TEST_CASE("Job of folders: of as many ranks as were told there is nothing to tell, of more there is") {
  RankFolders folders(4, 3);
  CHECK(read(folders, 3).job == nullptr);
  CHECK(read(folders, 3).remark.empty());
  folders.add(3);
  CHECK(read(folders, 3).job != nullptr);
  CHECK(read(folders, 4).job == nullptr);
}

TEST_CASE("Job of folders: a run of one rank has none, and says so only if others are missing") {
  CHECK(read(RankFolders(1, 1)).remark.empty());
  CHECK(read(RankFolders(1, 1)).job == nullptr);
  const JobOfFolders alone = read(RankFolders(3, 1));
  CHECK(alone.job == nullptr);
  CHECK(mentions(alone.remark, {"3", "1, 2"}));
}

TEST_CASE("Job of folders: of a restarted run the newest attempt speaks, and rank 0 of an earlier one does not") {
  RankFolders folders(3, 3);
  for (int rank = 0; rank < 2; ++rank) {
    takt::Snapshot again = snapshot_of_rank(rank, 2, RankState::ended, 1);
    again.run.start_unix_ns += 200'000'000'000;
    folders.add(again);
  }
  CHECK(read(folders).job == nullptr);
  const JobOfFolders found = read(folders, 0, 1);
  REQUIRE(found.job != nullptr);
  CHECK(found.job->wall.ranks == 2);
  CHECK(found.job->world_size == 2);
}

TEST_CASE("Job of folders: folders that are not of the run, that cannot be read, or are links, do not count") {
  RankFolders folders(3, 2);
  takt::Snapshot foreign = snapshot_of_rank(2, 3);
  foreign.run.id = "other";
  folders.add(foreign);
  const std::string empty = folders.run() + "/rank-x";
  REQUIRE(::mkdir(empty.c_str(), 0700) == 0);
  const RankFolders elsewhere(3, 3);
  std::filesystem::create_directory_symlink(elsewhere.folder(2), folders.run() + "/rank-2-0-8");
  const JobOfFolders found = read(folders);
  REQUIRE(found.job != nullptr);
  CHECK(found.job->missing == std::vector<std::uint32_t>{2});
}

TEST_CASE("Job of folders: a rank's folder that stands alone somewhere is read by itself") {
  const RankFolders folders(1, 1);
  const std::string moved = folders.scratch().path("copy");
  std::filesystem::rename(folders.folder(0), moved);
  const JobOfFolders found = job_of_folders(moved, snapshot_of_rank(0, 4).run, 0);
  CHECK(found.job == nullptr);
}
