// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_epochs.hpp"

#include "base/nanoseconds.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kMostEpochs = 1024;

bool is_epoch(const PathStats& path) { return path.name == "Epoch"; }

bool is_in_epoch(const Snapshot& snapshot, std::uint32_t path) {
  while (path < snapshot.paths.size()) {
    if (is_epoch(snapshot.paths[path])) { return true; }
    path = snapshot.paths[path].parent;
  }
  return false;
}

}  // namespace

void WandbEpochs::take(const Snapshot& snapshot) {
  const auto found = std::find_if(snapshot.paths.begin(), snapshot.paths.end(), is_epoch);
  if (found == snapshot.paths.end()) { return; }
  const auto ended = static_cast<std::int64_t>(found->host.n() + found->skipped);
  known_ = true;
  for (const Row& row : snapshot.rows) { add_row(snapshot, row, ended); }
  if (ended > counted_) { note((snapshot.run.start_unix_ns + snapshot.wall_ns) / kMillisecondNs, ended); }
  counted_ = std::max(counted_, ended);
}

/// \param ended by the snapshot that it is in.
void WandbEpochs::add_row(const Snapshot& snapshot, const Row& row, std::int64_t ended) {
  if (row.series >= snapshot.series.size()) { return; }
  const bool is_first = series_ < 0;
  if (is_first && is_in_epoch(snapshot, snapshot.series[row.series].path)) {
    series_ = row.series;
    by_steps_ = ended_at((snapshot.run.start_unix_ns + row.begin_ns) / kMillisecondNs);
    return;
  }
  if (row.series != series_) {
    other_between_ = other_between_ || is_first ||
                     snapshot.series[row.series].path != snapshot.series[static_cast<std::size_t>(series_)].path;
    return;
  }
  const bool was_other = other_between_;
  other_between_ = false;
  if (row.period_ns >= 0) { return; }
  // A Batch of another path has the same effect as the end of an Epoch: then what the snapshot has counted decides.
  if (was_other && by_steps_ >= ended) { return; }
  note((snapshot.run.start_unix_ns + row.begin_ns) / kMillisecondNs, ++by_steps_);
}

void WandbEpochs::note(std::int64_t timestamp_ms, std::int64_t ended) {
  const auto place = ended_.emplace(timestamp_ms, std::max(ended, ended_at(timestamp_ms))).first;
  for (auto at = place; at != ended_.end() && at->second < ended; ++at) { at->second = ended; }
  if (ended_.size() > kMostEpochs) {
    before_ = ended_.begin()->second;
    ended_.erase(ended_.begin());
  }
}

std::int64_t WandbEpochs::ended_at(std::int64_t timestamp_ms) const {
  if (!known_) { return -1; }
  const auto later = ended_.upper_bound(timestamp_ms);
  return later == ended_.begin() ? before_ : std::prev(later)->second;
}

}  // namespace detail
TAKT_END_NAMESPACE
