// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/random.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace takt_test {

/// Clock of a rank relative to that of rank 0.
struct OtherClock {
  static constexpr std::int64_t kStart = 1'700'000'000'000'000'000;  ///< of rank 0, on its own clock

  std::int64_t ahead_ns = 0;
  double drift = 0;

  std::int64_t reading(std::int64_t true_ns) const {
    return true_ns + ahead_ns + std::llround(drift * static_cast<double>(true_ns - kStart));
  }
};

/// A job whose ranks all leave Comm together, and the records written of it.
class TrueJob {
 public:
  static constexpr std::int64_t kStart = OtherClock::kStart;
  static constexpr std::int64_t kMs = 1'000'000;

  TrueJob(std::vector<OtherClock> clocks, std::size_t steps) : clocks_(std::move(clocks)) {
    for (std::size_t rank = 0; rank < clocks_.size(); ++rank) { add_rank(static_cast<int>(rank)); }
    std::vector<std::int64_t> now(clocks_.size(), kStart);
    for (std::size_t rank = 0; rank < now.size(); ++rank) { now[rank] += static_cast<std::int64_t>(rank) * kMs; }
    for (std::size_t step = 0; step < steps; ++step) { run_step(step, now); }
  }

  /// Returns the start on the clock of rank 0.
  std::int64_t begin_ns(std::size_t rank, std::size_t step) const { return begins_[rank][step]; }
  takt::Snapshot& rank(std::size_t number) { return ranks_[number]; }

  std::string write(const Scratch& scratch) const {
    std::string run = scratch.path("run");
    ::mkdir(run.c_str(), 0700);
    for (const takt::Snapshot& each : ranks_) {
      const std::string directory = run + "/rank-" + std::to_string(each.run.rank);
      REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
      takt::detail::JournalExporter exporter(directory, plain_journal());
      takt::Snapshot beginning;
      beginning.run = each.run;
      exporter.begin(beginning);
      REQUIRE(exporter.export_snapshot(each) == takt::ExportResult::ok);
    }
    return run;
  }

 private:
  void add_rank(int number) {
    takt::Snapshot snapshot;
    snapshot.run.id = "job";
    snapshot.run.rank = number;
    snapshot.run.world_size = static_cast<int>(clocks_.size());
    snapshot.run.host = "node" + std::to_string(number);
    snapshot.run.start_unix_ns = clocks_[static_cast<std::size_t>(number)].reading(kStart + number * kMs);
    snapshot.finished = true;
    add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
    add_path(snapshot, "Forward", 0, takt::Kind::compute);
    add_path(snapshot, "Comm", 0, takt::Kind::comm);
    add_path(snapshot, "Optimizer", 0, takt::Kind::compute);
    ranks_.push_back(snapshot);
    begins_.emplace_back();
  }

  /// Returns a random time below `max`, in ns.
  std::int64_t some(std::uint64_t max) { return static_cast<std::int64_t>(random_.below(max)); }

  void run_step(std::size_t step, std::vector<std::int64_t>& now) {
    std::vector<std::int64_t> arrived;
    arrived.reserve(now.size());
    for (const std::int64_t each : now) { arrived.push_back(each + 5 * kMs + some(5 * kMs)); }
    const std::int64_t together = *std::max_element(arrived.begin(), arrived.end()) + kMs;
    for (std::size_t rank = 0; rank < now.size(); ++rank) {
      const std::int64_t left = together + some(2000);  // ranks leave a few ns apart
      const std::int64_t optimized = left + kMs + some(2 * kMs);
      const std::int64_t end = optimized + some(1000);  // not covered by a region
      const OtherClock& clock = clocks_[rank];
      takt::Row& row = add_row(ranks_[rank], 0, step);
      row.begin_ns = clock.reading(now[rank]) - ranks_[rank].run.start_unix_ns;
      row.host_ns = clock.reading(end) - clock.reading(now[rank]);
      row.cells = {{1, 1, clock.reading(arrived[rank]) - clock.reading(now[rank]), takt::Cell::kAbsent},
                   {2, 1, clock.reading(left) - clock.reading(arrived[rank]), takt::Cell::kAbsent},
                   {3, 1, clock.reading(optimized) - clock.reading(left), takt::Cell::kAbsent}};
      ranks_[rank].wall_ns = row.begin_ns + row.host_ns;
      begins_[rank].push_back(now[rank]);
      now[rank] = end;
    }
  }

  std::vector<OtherClock> clocks_;
  std::vector<takt::Snapshot> ranks_;
  std::vector<std::vector<std::int64_t>> begins_;
  Random random_{1};
};

}  // namespace takt_test
