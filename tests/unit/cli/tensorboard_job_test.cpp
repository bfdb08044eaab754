// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.hpp"
#include "cli/destinations.hpp"

#include "support/catch.hpp"
#include "support/rank_folders.hpp"
#include "tensorboard/tensorboard_run.hpp"

#include <filesystem>
#include <string>

using namespace takt_test;
using takt::cli::Synced;

namespace {

Synced sync(const RankFolders& folders) {
  return takt::cli::open_tensorboard({})(folders.folder(0), [](std::uint64_t, std::uint64_t) {});
}

std::string tensorboard_job_file_of(const RankFolders& folders) {
  return folders.folder(0) + "/tensorboard/" + takt::detail::tensorboard_file(snapshot_of_rank(0, 4).run, false);
}

}  // namespace

TEST_CASE("TensorBoard over ranks: takt sync writes them once, and again where more ranks have come") {
  RankFolders folders(4, 3);
  const Synced first = sync(folders);
  CHECK(first.status == 0);
  CHECK(contains(first.remark, "1 of 4"));
  const std::string ranks = tensorboard_job_file_of(folders) + "-total-ranks-";
  CHECK(contains(read_text(ranks + "0000003"), "total/ranks/time/Batch/Backward/slowest_rank"));
  const std::string events = read_text(tensorboard_job_file_of(folders));
  CHECK_FALSE(contains(events, "total/ranks"));
  folders.add(3);
  CHECK(sync(folders).remark.empty());
  CHECK_FALSE(exists(ranks + "0000003"));
  const std::string of_all = read_text(ranks + "0000004");
  CHECK(sync(folders).status == 0);
  CHECK(read_text(ranks + "0000004") == of_all);
  std::filesystem::remove_all(folders.folder(3));
  std::filesystem::remove_all(folders.folder(2));
  CHECK(sync(folders).status == 0);
  CHECK_FALSE(exists(ranks + "0000002"));
  CHECK(read_text(tensorboard_job_file_of(folders)) == events);
}

TEST_CASE("TensorBoard over ranks: while a rank runs there are none, and the status says so") {
  RankFolders folders(4, 3);
  folders.add(3, RankState::runs);
  const Synced synced = sync(folders);
  CHECK(synced.status == takt::cli::kRemains);
  CHECK(contains(synced.remark, "ranks 3"));
  CHECK_FALSE(exists(tensorboard_job_file_of(folders) + "-total-ranks-0000003"));
}
