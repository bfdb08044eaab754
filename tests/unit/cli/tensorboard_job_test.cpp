// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.hpp"
#include "cli/destinations.hpp"

#include "support/catch.hpp"
#include "support/rank_directories.hpp"
#include "tensorboard/tensorboard_run.hpp"

#include <filesystem>
#include <string>

using namespace takt_test;
using takt::cli::Synced;

namespace {

Synced sync(const RankDirectories& directories) {
  return takt::cli::open_tensorboard({})(directories.directory(0), [](std::uint64_t, std::uint64_t) {});
}

std::string tensorboard_job_file_of(const RankDirectories& directories) {
  return directories.directory(0) + "/tensorboard/" + takt::detail::tensorboard_file(snapshot_of_rank(0, 4).run, false);
}

}  // namespace

TEST_CASE("TensorBoard over ranks: takt sync writes them once, and again for more ranks") {
  RankDirectories directories(4, 3);
  const Synced first = sync(directories);
  CHECK(first.status == 0);
  CHECK(contains(first.warning, "1 of 4"));
  const std::string ranks = tensorboard_job_file_of(directories) + "-total-ranks-";
  CHECK(contains(read_text(ranks + "0000003"), "total/ranks/time/Batch/Backward/slowest_rank"));
  const std::string events = read_text(tensorboard_job_file_of(directories));
  CHECK_FALSE(contains(events, "total/ranks"));
  directories.add(3);
  CHECK(sync(directories).warning.empty());
  CHECK_FALSE(exists(ranks + "0000003"));
  const std::string of_all = read_text(ranks + "0000004");
  CHECK(sync(directories).status == 0);
  CHECK(read_text(ranks + "0000004") == of_all);
  std::filesystem::remove_all(directories.directory(3));
  std::filesystem::remove_all(directories.directory(2));
  CHECK(sync(directories).status == 0);
  CHECK_FALSE(exists(ranks + "0000002"));
  CHECK(read_text(tensorboard_job_file_of(directories)) == events);
}

TEST_CASE("TensorBoard over ranks: none are written while a rank runs, and the status says so") {
  RankDirectories directories(4, 3);
  directories.add(3, RankState::runs);
  const Synced synced = sync(directories);
  CHECK(synced.status == takt::cli::kRemains);
  CHECK(contains(synced.warning, "ranks: 3"));
  CHECK_FALSE(exists(tensorboard_job_file_of(directories) + "-total-ranks-0000003"));
}
