// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/other_processes.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace takt_test {

/// State of a rank.
enum class RankState { ended, runs, died };

/// Returns the snapshot of one rank's process: ten steps of 1 s, with a Backward 1 s longer than on the previous rank.
inline takt::Snapshot snapshot_of_rank(int rank, int world, RankState state = RankState::ended, int attempt = 0) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  takt::Snapshot snapshot;
  snapshot.run.name = "net";
  snapshot.run.id = "net-1";
  snapshot.run.rank = rank;
  snapshot.run.world_size = world;
  snapshot.run.attempt = attempt;
  snapshot.run.host = this_host();
  snapshot.run.pid = state == RankState::runs ? ::getpid() : kNobody;
  snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
  snapshot.wall_ns = 100 * kSecond;
  snapshot.finished = state == RankState::ended;
  const std::uint32_t batch = add_path(snapshot, "Batch");
  const std::uint32_t backward = add_path(snapshot, "Backward", batch, takt::Kind::compute);
  const std::uint32_t odd = add_path(snapshot, "ns::f<int>", batch, takt::Kind::compute);
  snapshot.paths[batch].host.add(90 * kSecond);
  snapshot.paths[backward].host.add((10 + static_cast<std::uint64_t>(rank)) * kSecond);
  snapshot.paths[odd].host.add(kSecond);
  add_series(snapshot, batch, add_thread(snapshot, "main"));
  for (std::uint64_t step = 0; step < 10; ++step) {
    takt::Row& row = add_row(snapshot, 0, step);
    row.begin_ns = static_cast<std::int64_t>(step * kSecond);
    row.host_ns = kSecond;
    row.period_ns = step == 0 ? std::nullopt : std::optional<std::int64_t>(kSecond);
  }
  return snapshot;
}

/// A run whose ranks write directories side by side.
class RankDirectories {
 public:
  /// \param ranks number of ranks, from 0 on, that have ended.
  explicit RankDirectories(int world, int ranks = 0) : world_(world) {
    REQUIRE(::mkdir(run().c_str(), 0700) == 0);
    for (int rank = 0; rank < ranks; ++rank) { add(rank); }
  }

  std::string run() const { return scratch_.path("net-1"); }
  std::string directory(int rank, int attempt = 0) const {
    return run() + "/rank-" + std::to_string(rank) + "-" + std::to_string(attempt) + "-7";
  }
  int world() const noexcept { return world_; }
  const Scratch& scratch() const noexcept { return scratch_; }

  /// Adds a rank, or replaces it.
  void add(int rank, RankState state = RankState::ended, int attempt = 0) {
    add(snapshot_of_rank(rank, world_, state, attempt));
  }
  void add(const takt::Snapshot& snapshot) {
    const std::string where = directory(snapshot.run.rank, snapshot.run.attempt);
    std::filesystem::remove_all(where);
    REQUIRE(::mkdir(where.c_str(), 0700) == 0);
    takt::detail::JournalExporter journal(where, plain_journal());
    REQUIRE(journal.export_snapshot(snapshot) == takt::ExportResult::ok);
  }

 private:
  const int world_;
  Scratch scratch_;
};

}  // namespace takt_test
