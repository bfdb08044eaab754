// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How many Epoch regions had ended at some time. Snapshots count those that have ended by now, which is up to a period
/// later; the steps between two snapshots tell where each one ended: the first step behind it has no period that counts
/// for throughput. One thread at a time.
class WandbEpochs {
 public:
  void take(const Snapshot& snapshot);
  /// -1: the run has no Epochs so far.
  /// \param timestamp_ms since 1970, not before the last thousand Epochs.
  std::int64_t ended_at(std::int64_t timestamp_ms) const;

 private:
  void add_row(const Snapshot& snapshot, const Row& row, std::int64_t ended);
  void note(std::int64_t timestamp_ms, std::int64_t ended);

  bool known_ = false;
  std::int64_t counted_ = 0;                    // by the last snapshot
  std::int64_t by_steps_ = 0;                   // by the steps so far
  std::int64_t series_ = -1;                    // whose steps are in Epochs; the first one
  bool other_between_ = false;                  // another Batch path has had a step since the last one of that series
  std::int64_t before_ = 0;                     // the first time in `ended_`
  std::map<std::int64_t, std::int64_t> ended_;  // by the time from which on that many had; goes up with it
};

}  // namespace detail
TAKT_END_NAMESPACE
