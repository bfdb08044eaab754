// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "support/snapshot_builder.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace takt_test {

/// Builds the rows of a run with a training loop on one thread, one step after the other: Epoch > Batch > the test's
/// regions.
class StepBuilder {
 public:
  static constexpr std::int64_t kMs = 1'000'000;

  StepBuilder()
      : epoch(add_path(run, "Epoch")),
        batch(add_path(run, "Batch", epoch)),
        series(add_series(run, batch, add_thread(run, "main"))) {}

  std::uint32_t region(const char* name, takt::Kind kind = takt::Kind::compute) {
    return add_path(run, name, batch, kind);
  }

  /// Adds a step of `ns`, with time taken from it by its regions. \param between_ns time since the end of the previous
  /// step, or -1: no period.
  takt::Row& step(std::int64_t ns, const std::vector<std::pair<std::uint32_t, std::int64_t>>& regions = {},
                  std::int64_t between_ns = 0) {
    takt::Row& row = add_row(run, series, next_);
    row.begin_ns = now_ns_ + (between_ns > 0 ? between_ns : 0);
    row.host_ns = ns;
    row.period_ns = next_ == 0 || between_ns < 0 ? std::nullopt : std::optional<std::int64_t>(ns + between_ns);
    row.warmup = next_ < warmup;
    for (const auto& [path, region_ns] : regions) {
      takt::Cell cell;
      cell.path = path;
      cell.calls = 1;
      cell.host_ns = region_ns;
      row.cells.push_back(cell);
    }
    now_ns_ = row.begin_ns + ns;
    ++next_;
    return row;
  }

  /// Adds time without a step.
  void pass(std::int64_t ns) { now_ns_ += ns; }
  std::int64_t now_ns() const { return now_ns_; }

  takt::Snapshot run;
  std::uint32_t epoch;
  std::uint32_t batch;
  std::uint32_t series;
  std::uint64_t warmup = 10;

 private:
  std::uint64_t next_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace takt_test
